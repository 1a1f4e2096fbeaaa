// SPDX-License-Identifier: Apache-2.0
// Times and durations as text, and one clock that all live counters share.
import { useEffect, useState } from "preact/hooks";

// Returns the milliseconds of an RFC 3339 time, or NaN.
export function millis(time: string | null | undefined): number {
  return time ? Date.parse(time) : NaN;
}

// Formats a length of time in the two largest units: 12s, 5m, 3h 4m, 2d 5h (docs/spec/dashboard.md A4).
export function span(ms: number): string {
  if (Number.isNaN(ms)) return "?";
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return m < 10 && s % 60 ? `${m}m ${s % 60}s` : `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 ? `${h}h ${m % 60}m` : `${h}h`;
  const d = Math.floor(h / 24);
  return h % 24 ? `${d}d ${h % 24}h` : `${d}d`;
}

// Formats seconds; absent ones as a dash.
export function seconds(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : span(value * 1000);
}

// Formats the age of a time.
export function ageOf(time: string | null | undefined, now: number): string {
  return span(now - millis(time));
}

// Formats a time in UTC and in the zone of the browser.
export function absolute(time: string | null | undefined): string {
  const ms = millis(time);
  if (Number.isNaN(ms)) return "unknown time";
  const date = new Date(ms);
  return `${date.toISOString().replace("T", " ").replace(/\.\d+Z$/, "")} UTC · ${date.toLocaleString()} local`;
}

// Formats the hour and minute of a time in the zone of the browser.
export function clockOf(ms: number): string {
  const date = new Date(ms);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}

// Reads "90s", "5m", "2h", "1d", "1h30m" as milliseconds; NaN if it is none of these.
export function parseSpan(text: string): number {
  const units: Record<string, number> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };
  if (!/^(\d+(\.\d+)?[smhdw])+$/.test(text)) return NaN;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)) total += Number(part[1]) * (units[part[2]!] ?? NaN);
  return total;
}

let skew = 0;

// Sets the clock by a time that the server sent: ages do not depend on the clock of this machine.
export function setServerTime(time: string): void {
  const ms = millis(time);
  if (!Number.isNaN(ms)) skew = Math.abs(ms - Date.now()) < 2000 ? 0 : ms - Date.now();
}

// Returns the present time of the server in milliseconds.
export function serverNow(): number {
  return Date.now() + skew;
}

const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

// Returns the present time, renewed every second while the component is shown.
export function useNow(): number {
  const [now, set] = useState(serverNow);
  useEffect(() => {
    const tick = () => set(serverNow());
    tickers.add(tick);
    timer ??= setInterval(() => {
      if (!document.hidden) for (const one of [...tickers]) one();
    }, 1000);
    return () => {
      tickers.delete(tick);
      if (tickers.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
    };
  }, []);
  return now;
}
