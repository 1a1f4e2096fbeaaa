// SPDX-License-Identifier: Apache-2.0
// The window of rows that a scrolled container shows, for rows of one height.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

export interface Window {
  first: number;
  last: number; // exclusive
}

// Returns the rows to render: those in sight and `spare` before and after them.
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number, spare = 12): Window {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight) - spare));
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare);
  return { first, last: Math.max(first, last) };
}

// Follows the scrolling of a container.
export function useWindow(ref: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    let frame = 0;
    const read = () => {
      frame = 0;
      setView((old) => (old.top === box.scrollTop && old.height === box.clientHeight ? old : { top: box.scrollTop, height: box.clientHeight }));
    };
    const later = () => (frame ||= requestAnimationFrame(read));
    read();
    box.addEventListener("scroll", later, { passive: true });
    const observer = new ResizeObserver(later);
    observer.observe(box);
    return () => {
      cancelAnimationFrame(frame);
      box.removeEventListener("scroll", later);
      observer.disconnect();
    };
  }, []);
  return windowOf(view.top, view.height, rowHeight, count);
}
