// SPDX-License-Identifier: Apache-2.0
// Scales of time and the width of a chart's place.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { clockOf } from "../core/time";

// Returns the width of an element in pixels and follows it.
export function useWidth(ref: RefObject<HTMLElement | null>, initial = 800): number {
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => setWidth(Math.max(200, element.clientWidth));
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}

export interface Scale {
  (ms: number): number;
  from: number;
  to: number;
}

// Returns a function from milliseconds to pixels.
export function timeScale(from: number, to: number, left: number, right: number): Scale {
  const span = Math.max(1, to - from);
  const scale = (ms: number) => left + ((Math.min(Math.max(ms, from), to) - from) / span) * (right - left);
  return Object.assign(scale, { from, to });
}

const kSteps = [1e3, 5e3, 15e3, 3e4, 6e4, 3e5, 9e5, 18e5, 36e5, 108e5, 216e5, 432e5, 864e5, 2592e5, 6048e5];

// Returns the marks of a time axis, at most `most`, at round times of the browser's zone.
export function timeTicks(from: number, to: number, most: number): { at: number; text: string }[] {
  const step = kSteps.find((one) => (to - from) / one <= most) ?? 2592e6;
  const offset = new Date(from).getTimezoneOffset() * 6e4;
  const ticks = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) {
    const date = new Date(at);
    const text = step >= 864e5 || (date.getHours() === 0 && date.getMinutes() === 0 && step >= 6e4) ? date.toLocaleDateString(undefined, { day: "numeric", month: "short" }) : step < 6e4 ? date.toLocaleTimeString(undefined, { hour12: false }) : clockOf(at);
    ticks.push({ at, text });
  }
  return ticks;
}
