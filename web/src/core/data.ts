// SPDX-License-Identifier: Apache-2.0
// Data of pages: lists that the stream keeps current, and single answers that are read again after a change.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { noteVersion, subscribe, type Change } from "./stream";
import type { Listed, Named } from "./types";

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined; // of the last attempt; data of an earlier one stays
  at: number; // when data was current
  loading: boolean;
  reload: () => void;
}

// The object that a page is about.
export interface About {
  ns?: string | undefined;
  name: string;
}

const kSoon = 500;
const kOthers = 15_000;

// Returns how long after the last reading changes call for the next one: soon if one is of the object, or of a topic without objects.
export function pause(changes: Change[], about: About | undefined): number {
  if (!about) return kSoon;
  const own = changes.some((change) => {
    const row = change.object as unknown as Named | undefined;
    return !row?.name || (row.name === about.name && (!row.ns || !about.ns || row.ns === about.ns));
  });
  return own ? kSoon : kOthers;
}

// Reads a route, and again after changes of `topics`: at most every 500 ms, after changes of other objects than `about` every 15 s. An empty path
// reads nothing.
export function useData<T>(path: string, topics: string[] = [], about?: About): Loaded<T> {
  const [state, setState] = useState<{ path: string; data?: T | undefined; error?: ApiError | undefined; at: number; loading: boolean }>({ path, at: 0, loading: true });
  const reloadRef = useRef<() => void>(() => undefined);
  const key = topics.join(",");
  const object = about ? JSON.stringify(about) : "";
  useEffect(() => {
    if (!path) return;
    let ended = false;
    let running = false;
    let again = false;
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const abort = new AbortController();
    setState((old) => (old.path === path ? { ...old, loading: true } : { path, at: 0, loading: true }));
    const load = async () => {
      if (running) return void (again = true);
      running = true;
      last = Date.now();
      try {
        const data = await get<T>(path, abort.signal);
        if (!ended) setState({ path, data, at: Date.now(), loading: false });
      } catch (error) {
        if (!ended) setState((old) => ({ ...old, loading: false, error: error as ApiError }));
      }
      running = false;
      if (again && !ended) {
        again = false;
        later();
      }
    };
    let due = Infinity;
    const later = (after = kSoon) => {
      const at = Math.max(Date.now() + 20, last + after);
      if (at >= due) return;
      clearTimeout(timer);
      due = at;
      timer = setTimeout(() => {
        due = Infinity;
        void load();
      }, at - Date.now());
    };
    reloadRef.current = () => void load();
    void load();
    const end = key ? subscribe(key.split(","), (_, changes) => later(pause(changes, object ? (JSON.parse(object) as About) : undefined)), () => void load()) : undefined;
    return () => {
      ended = true;
      clearTimeout(timer);
      abort.abort();
      end?.();
    };
  }, [path, key, object]);
  const fresh = state.path === path ? state : { data: undefined, error: undefined, at: 0, loading: true };
  return { data: fresh.data, error: fresh.error, at: fresh.at, loading: fresh.loading, reload: () => reloadRef.current() };
}

export interface Rows<Row> {
  rows: Row[];
  total: number;
  error: ApiError | undefined;
  at: number;
  loading: boolean;
  partial: boolean;
  unavailable: string[];
}

const kPage = 1000;
const kMost = 20_000; // rows of one list in the browser; older ones are found by the filter of the server

// Returns what identifies a row: namespace and name; of an archived job its uid, because several may have had its name.
export function keyOf(row: Named): string {
  return row.archived && row.uid ? row.uid : `${row.ns ?? ""}/${row.name}`;
}

// Puts changes into a list; returns a new one, or the same if nothing changed.
export function applyChanges<Row extends Named>(rows: ReadonlyMap<string, Row>, changes: Change[]): Map<string, Row> {
  const next = new Map(rows);
  for (const change of changes) {
    const row = change.object as unknown as Row;
    if (!row?.name) continue;
    if (change.type !== "DELETED") next.set(keyOf(row), row);
    else {
      // A job that went into the archive: its live row ends, its archived row with the same uid stays.
      const live = `${row.ns ?? ""}/${row.name}`;
      const uid = next.get(live)?.uid;
      if (!row.archived && next.has(live) && (!row.uid || !uid || uid === row.uid)) next.delete(live);
      else if (row.uid) next.delete(row.uid);
    }
  }
  return next;
}

// Reads a whole list in pages and keeps it current by the stream's topic of its rows.
export function useRows<Row extends Named>(path: string, topic: string): Rows<Row> {
  const [state, setState] = useState<{ rows: Map<string, Row>; list: Row[]; total: number; error?: ApiError | undefined; at: number; loading: boolean; partial: boolean; unavailable: string[] }>({ rows: new Map(), list: [], total: 0, at: 0, loading: true, partial: false, unavailable: [] });
  useEffect(() => {
    if (!path) return;
    let ended = false;
    let round = 0;
    let early: Change[] = [];
    let loading = true;
    const abort = new AbortController();
    const load = async () => {
      const mine = ++round;
      loading = true;
      early = [];
      const rows = new Map<string, Row>();
      try {
        let token = "";
        for (;;) {
          const mark = path.includes("?") ? "&" : "?";
          const page = await get<Listed<Row>>(`${path}${mark}limit=${kPage}${token ? `&continue=${encodeURIComponent(token)}` : ""}`, abort.signal);
          if (ended || mine !== round) return;
          if (!token && topic) noteVersion(page.resourceVersion);
          for (const row of page.items) rows.set(keyOf(row), row);
          token = rows.size < kMost ? (page.continue ?? "") : "";
          if (!token) loading = false;
          const current = loading ? new Map(rows) : applyChanges(rows, early);
          setState({ rows: current, list: [...current.values()], total: Math.max(page.total ?? 0, current.size), at: Date.now(), loading, partial: !!page.partial, unavailable: page.unavailable ?? [] });
          if (!token) return;
        }
      } catch (error) {
        if (ended || mine !== round) return;
        loading = false;
        setState((old) => ({ ...old, loading: false, error: error as ApiError }));
      }
    };
    const change = (_: string, changes: Change[]) => {
      if (loading) return void early.push(...changes);
      setState((old) => {
        const rows = applyChanges(old.rows, changes);
        return { ...old, rows, list: [...rows.values()], total: old.total + rows.size - old.rows.size, at: Date.now() };
      });
    };
    const end = topic ? subscribe([topic], change, () => void load()) : undefined;
    void load();
    return () => {
      ended = true;
      abort.abort();
      end?.();
    };
  }, [path, topic]);
  return { rows: state.list, total: state.total, error: state.error, at: state.at, loading: state.loading, partial: state.partial, unavailable: state.unavailable };
}
