// SPDX-License-Identifier: Apache-2.0
// The one stream of changes of a page. It is open while a page asks for topics and the tab is visible; after a break it
// goes on where it ended, and after a reset the pages load their data anew.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { base, navigate, place } from "./router";

export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: Record<string, unknown>;
}
type Listener = (changes: Change[]) => void;

export interface Connection {
  open: boolean; // this browser to the console
  server: boolean; // the console to its API server
  since: number; // of the last change of either
  error: string;
}

const listeners = new Map<string, Set<Listener>>();
const resets = new Set<() => void>();
const watchers = new Set<() => void>();
let source: EventSource | undefined;
let opened = ""; // topics of the open stream
let lastId = "";
let patience = 0; // until when the first stream waits for the version of a list
let retry: ReturnType<typeof setTimeout> | undefined;
let connection: Connection = { open: true, server: true, since: Date.now(), error: "" };
let onFeatures: () => void = () => undefined;

function update(change: Partial<Connection>): void {
  const next = { ...connection, ...change };
  if (next.open === connection.open && next.server === connection.server && next.error === connection.error) return;
  connection = { ...next, since: change.since ?? Date.now() };
  for (const one of [...watchers]) one();
}

// Reads the changes of one message: a single one, or a folded burst.
export function changesOf(data: string): Change[] {
  const message = JSON.parse(data) as { type?: string; object?: unknown; changes?: Change[] };
  if (message.type === "BATCH") return message.changes ?? [];
  return message.type === "BOOKMARK" || !message.object ? [] : [message as Change];
}

function topics(): string {
  return [...listeners.keys()].sort().join(",");
}

function close(): void {
  source?.close();
  source = undefined;
  opened = "";
}

function connect(): void {
  clearTimeout(retry);
  const wanted = document.hidden ? "" : topics();
  if (wanted === opened && source && source.readyState !== EventSource.CLOSED) return;
  close();
  if (!wanted) return;
  if (!lastId) {
    // A stream that begins at the version of the first list misses nothing and repeats nothing.
    patience ||= Date.now() + 400;
    if (Date.now() < patience) return void (retry = setTimeout(connect, 25));
  }
  opened = wanted;
  const fromStart = !lastId;
  const one = new EventSource(api(`/stream?topics=${encodeURIComponent(wanted)}${lastId ? `&lastEventId=${encodeURIComponent(lastId)}` : ""}`));
  source = one;
  one.onopen = () => update({ open: true });
  one.onerror = () => {
    if (source !== one) return;
    update({ open: false });
    if (one.readyState === EventSource.CLOSED) retry = setTimeout(connect, 2000);
  };
  for (const topic of wanted.split(",")) {
    one.addEventListener(topic, (event) => {
      if (event.lastEventId) lastId = event.lastEventId;
      const changes = changesOf(event.data as string);
      if (changes.length) for (const listener of [...(listeners.get(topic) ?? [])]) listener(changes);
    });
  }
  const loadAnew = (event: MessageEvent) => {
    lastId = event.lastEventId;
    for (const reset of [...resets]) reset();
  };
  one.addEventListener("reset", loadAnew);
  one.addEventListener("bookmark", (event) => {
    // What was loaded before a stream without a beginning may have changed in between.
    if (fromStart && !lastId) loadAnew(event);
    else if (event.lastEventId) lastId = event.lastEventId;
  });
  one.addEventListener("state", (event) => {
    const state = JSON.parse(event.data as string) as { connected: boolean; since?: string; error?: string };
    update({ server: state.connected, error: state.error ?? "", ...(state.since ? { since: Date.parse(state.since) } : {}) });
  });
  one.addEventListener("features", () => onFeatures());
  one.addEventListener("auth", () => {
    close();
    navigate(`${base}login?next=${encodeURIComponent(location.pathname + location.search)}`);
  });
}

let planned = false;
function plan(): void {
  if (planned) return;
  planned = true;
  setTimeout(() => {
    planned = false;
    connect();
  }, 30);
}

// Notes the version of a list that was loaded: the first stream begins there.
export function noteVersion(version: string | undefined): void {
  if (version && (!lastId || (!source && Number(version) < Number(lastId)))) lastId = version;
}

// Calls back for the changes of topics, and `reset` when data has to be loaded anew; returns the end of it.
export function subscribe(wanted: string[], listener: (topic: string, changes: Change[]) => void, reset: () => void): () => void {
  const mine = wanted.map((topic) => [topic, (changes: Change[]) => listener(topic, changes)] as const);
  for (const [topic, one] of mine) listeners.set(topic, (listeners.get(topic) ?? new Set<Listener>()).add(one));
  resets.add(reset);
  plan();
  return () => {
    for (const [topic, one] of mine) {
      const set = listeners.get(topic);
      set?.delete(one);
      if (set?.size === 0) listeners.delete(topic);
    }
    resets.delete(reset);
    plan();
  };
}

// Starts the stream's care for hidden tabs. `features` runs when a kind of the cluster came or went.
export function startStream(features: () => void): void {
  onFeatures = features;
  document.addEventListener("visibilitychange", () => (place().path === "/login" ? close() : plan()));
  window.addEventListener("pagehide", close);
}

// Returns the state of the connection and renders again when it changes.
export function useConnection(): Connection {
  const [, tick] = useState(0);
  useEffect(() => {
    const one = () => tick((n) => n + 1);
    watchers.add(one);
    return () => void watchers.delete(one);
  }, []);
  return connection;
}
