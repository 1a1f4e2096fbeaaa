// SPDX-License-Identifier: Apache-2.0
// A log in the browser: its lines by number, the visible ones, and the hits of a search.
import { plainText } from "./ansi";

export interface LogLine {
  n: number; // from 1
  at?: string;
  text: string;
  source?: string;
}

// Returns a time with nanoseconds as the nanoseconds since 1970, or an empty text.
export function nanoseconds(at: string | undefined): string {
  const match = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d)$/.exec(at ?? "");
  if (!match) return "";
  const whole = Date.parse(match[1]! + match[3]!) / 1000;
  return Number.isNaN(whole) ? "" : `${whole}${(match[2] ?? "").padEnd(9, "0")}`;
}

// Returns true if one such time comes after another.
function isAfter(time: string, other: string): boolean {
  return time.length !== other.length ? time.length > other.length : time > other;
}

export type Level = "error" | "warn" | "info" | "other";

// Returns the level of a line: by the runner's prefixes, else by the words of usual loggers.
export function levelOf(text: string): Level {
  const head = text.slice(0, 200);
  if (/^(ERROR:|E\d{4} )|\b(ERROR|FATAL|CRITICAL|panic:|Traceback)\b/.test(head)) return "error";
  if (/^(WARN|W\d{4} )|\b(WARN|WARNING)\b/.test(head)) return "warn";
  if (/^(INFO:|I\d{4} )|\bINFO\b/.test(head)) return "info";
  return "other";
}

// Returns true for a line that begins a section of the runner.
export function isHeading(text: string): boolean {
  return text.startsWith("~~ TASK:") || text.startsWith("==== ");
}

export interface View {
  level: "all" | "info" | "warn" | "error";
  source: string; // empty: all
  query: string;
  regex: boolean;
  caseful: boolean;
  onlyHits: boolean;
}

export const kAll: View = { level: "all", source: "", query: "", regex: false, caseful: false, onlyHits: false };

const kMostSkipped = 10_000_000; // lines; more than any log that a browser holds

export class LogModel {
  private readonly lines: (LogLine | undefined)[] = [];
  private readonly plain: (string | undefined)[] = [];
  readonly folded = new Set<number>(); // numbers of headings
  private have = 0;
  private readonly known = new Set<string>(); // sources
  private made: Made | undefined; // cached result of show()
  private readonly newest = new Map<string, string>(); // by source: nanoseconds of its last line

  // Adds lines, in any order; a line that is there stays as it is.
  add(lines: LogLine[]): void {
    for (const line of lines) {
      if (line.n < 1 || this.lines[line.n - 1]) continue;
      this.lines[line.n - 1] = line;
      this.have++;
      if (line.source) this.known.add(line.source);
      if (this.made && line.n <= this.made.upto) this.made = undefined;
      const time = nanoseconds(line.at);
      const source = line.source ?? "";
      if (time && isAfter(time, this.newest.get(source) ?? "")) this.newest.set(source, time);
    }
  }
  // Appends lines of the stream that follows a log. A stream begins anew after a break and counts its own lines: those that
  // are not newer than the last line of their source are here already.
  append(lines: LogLine[]): void {
    for (const line of lines) {
      const time = nanoseconds(line.at);
      if (time ? !isAfter(time, this.newest.get(line.source ?? "") ?? "") : line.n <= this.last) continue;
      this.add([{ ...line, n: this.last + 1 }]);
    }
  }
  // Reserves numbers for lines that the stream skipped; they are missing until loaded.
  skip(count: number): void {
    if (count > 0) this.lines.length += Math.min(count, kMostSkipped);
  }
  // Returns the time of the newest line in nanoseconds since 1970.
  since(): string {
    return [...this.newest.values()].reduce((a, b) => (isAfter(b, a) ? b : a), "");
  }
  // Number of the last line.
  get last(): number {
    return this.lines.length;
  }
  // Number of lines that are here.
  get count(): number {
    return this.have;
  }
  get(n: number): LogLine | undefined {
    return this.lines[n - 1];
  }
  // Returns the line as it is shown.
  textOf(n: number): string {
    return (this.plain[n - 1] ??= plainText(this.lines[n - 1]?.text ?? ""));
  }
  // Returns the first line number from `from` on that is not here, or 0.
  missing(from: number, to: number): number {
    for (let n = from; n <= to; n++) if (!this.lines[n - 1]) return n;
    return 0;
  }
  sources(): string[] {
    return [...this.known].sort();
  }
  firstError(): number {
    for (const line of this.lines) if (line && levelOf(this.textOf(line.n)) === "error") return line.n;
    return 0;
  }
  // Returns the numbers of the lines to show and of the search's hits. The result for earlier lines is cached, so that a
  // growing log costs only its new lines.
  show(view: View): { shown: number[]; hits: number[]; problem: string } {
    const asked = JSON.stringify([view, [...this.folded]]);
    const made = this.made?.asked === asked ? this.made : { asked, upto: 0, inFold: false, shown: [], hits: [] };
    const problem = this.showMore(view, made);
    this.made = made;
    return { shown: made.shown.slice(), hits: made.hits.slice(), problem };
  }
  // Extends `made` by later lines; returns the error of the search, or an empty text.
  private showMore(view: View, made: Made): string {
    const allowed: Record<View["level"], Level[]> = { all: ["error", "warn", "info", "other"], info: ["error", "warn", "info"], warn: ["error", "warn"], error: ["error"] };
    const { test, problem } = matcher(view);
    const { shown, hits } = made;
    let inFold = made.inFold;
    for (; made.upto < this.lines.length; made.upto++) {
      const line = this.lines[made.upto];
      if (!line) continue;
      if (view.source && line.source !== view.source) continue;
      const text = this.textOf(line.n);
      const heading = isHeading(text);
      if (heading) inFold = this.folded.has(line.n);
      if (view.level !== "all" && !heading && !allowed[view.level].includes(levelOf(text))) continue;
      const hit = !!test && test(text);
      if (hit) hits.push(line.n);
      if (view.onlyHits && test && !hit) continue;
      if (inFold && !heading && !hit) continue;
      shown.push(line.n);
    }
    made.inFold = inFold;
    return problem;
  }
}

// Cached result of show() for the first `upto` lines.
interface Made {
  asked: string;
  upto: number;
  inFold: boolean;
  shown: number[];
  hits: number[];
}

function matcher(view: View): { test: ((text: string) => boolean) | undefined; problem: string } {
  if (!view.query) return { test: undefined, problem: "" };
  if (view.regex) {
    try {
      const pattern = new RegExp(view.query, view.caseful ? "" : "i");
      return { test: (text) => pattern.test(text.slice(0, 4000)), problem: "" };
    } catch (error) {
      return { test: undefined, problem: (error as Error).message };
    }
  }
  if (view.caseful) return { test: (text) => text.includes(view.query), problem: "" };
  const wanted = view.query.toLowerCase();
  return { test: (text) => text.toLowerCase().includes(wanted), problem: "" };
}
