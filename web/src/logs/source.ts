// SPDX-License-Identifier: Apache-2.0
// Reads a log from the console: the screen first, then the rest in large parts, then its new lines by server-sent events.
import { api, get, problemOf } from "../core/api";
import { LogModel, type LogLine } from "./model";

interface Part {
  lines?: LogLine[];
  total?: number;
  archived?: boolean;
  complete?: boolean;
  sources?: string[];
}

export interface LogState {
  model: LogModel;
  total: number;
  archived: boolean;
  loading: boolean;
  following: boolean;
  gaps: { skipped: number; load: string }[];
  error: string;
}

const kFirst = 1000;
const kPart = 10_000;
const kAgain = 3000; // milliseconds until a broken stream is opened anew

// Starts reading `path` (a route of the API with its query); `changed` runs whenever there is more. Returns the end of it.
export function readLog(path: string, follow: boolean, state: LogState, changed: () => void): () => void {
  const mark = path.includes("?") ? "&" : "?";
  const abort = new AbortController();
  let events: EventSource | undefined;
  let ended = false;
  let frame = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const later = () => {
    if (!frame && !ended)
      frame = requestAnimationFrame(() => {
        frame = 0;
        changed();
      });
  };
  const part = async (query: string) => {
    const answer = await get<Part>(`${path}${mark}${query}`, abort.signal);
    state.model.add(answer.lines ?? []);
    state.total = Math.max(answer.total ?? 0, state.model.last);
    state.archived = !!answer.archived;
    later();
    return answer;
  };
  const loadRange = async (from: number, to: number) => {
    for (let at = state.model.missing(from, to); at && !ended; at = state.model.missing(at, to)) {
      const answer = await part(`offset=${at - 1}&lines=${kPart}`);
      if (!(answer.lines ?? []).length || state.model.missing(at, at)) return;
    }
  };
  const listen = () => {
    if (ended || document.hidden) return;
    events?.close();
    events = new EventSource(api(`${path}${mark}follow=1&since=${state.model.since()}`));
    state.following = true;
    const take = (lines: LogLine[]) => {
      state.model.append(lines);
      state.total = Math.max(state.total, state.model.last);
      later();
    };
    events.addEventListener("line", (event) => take([JSON.parse(event.data as string) as LogLine]));
    events.addEventListener("lines", (event) => {
      const data = JSON.parse(event.data as string) as LogLine[] | { lines: LogLine[] };
      take(Array.isArray(data) ? data : data.lines);
    });
    events.addEventListener("gap", (event) => {
      const gap = JSON.parse(event.data as string) as { skipped: number; load: string };
      state.gaps.push(gap);
      state.model.skip(gap.skipped);
      state.total = Math.max(state.total, state.model.last);
      later();
    });
    events.addEventListener("end", (event) => {
      events?.close();
      state.following = false;
      // The API server went away: the log goes on after the last line.
      if ((JSON.parse((event as MessageEvent<string>).data || "{}") as { again?: boolean }).again) retry = setTimeout(listen, kAgain);
      later();
    });
    events.addEventListener("auth", () => {
      events?.close();
      state.following = false;
      state.error = "You may not read this log any more: log in again.";
      later();
    });
    events.onerror = () => {
      state.following = events?.readyState !== EventSource.CLOSED;
      later();
    };
  };
  const visibility = () => {
    clearTimeout(retry);
    events?.close();
    state.following = false;
    if (!document.hidden && follow) listen();
  };
  const run = async () => {
    try {
      await part(`tail=${kFirst}`);
      await loadRange(1, state.total);
      state.loading = false;
      later();
      if (follow) {
        listen();
        document.addEventListener("visibilitychange", visibility);
      }
    } catch (error) {
      if (ended) return;
      state.loading = false;
      state.error = problemOf(error);
      later();
    }
  };
  void run();
  return () => {
    ended = true;
    cancelAnimationFrame(frame);
    clearTimeout(retry);
    abort.abort();
    events?.close();
    document.removeEventListener("visibilitychange", visibility);
  };
}

// Loads the lines of the gaps; the notices stay, with the reason, if some are not there.
export async function loadGap(state: LogState, path: string): Promise<void> {
  const mark = path.includes("?") ? "&" : "?";
  try {
    await loadMissing(state, path + mark);
    if (state.model.missing(1, state.model.last)) throw new Error("the log does not have all skipped lines now");
    state.gaps = [];
    state.error = "";
  } catch (error) {
    state.error = problemOf(error);
  }
}

async function loadMissing(state: LogState, path: string): Promise<void> {
  for (let at = state.model.missing(1, state.model.last); at; at = state.model.missing(at, state.model.last)) {
    const answer = await get<Part>(`${path}offset=${at - 1}&lines=${kPart}`);
    state.model.add(answer.lines ?? []);
    if (!(answer.lines ?? []).length || state.model.missing(at, at)) return;
  }
}

// Returns a state before anything is read.
export function emptyLog(): LogState {
  return { model: new LogModel(), total: 0, archived: false, loading: true, following: false, gaps: [], error: "" };
}
