// SPDX-License-Identifier: Apache-2.0
// Keys of all pages: single keys and pairs like "g j". Keys typed into fields belong to the field.
import { useEffect, useRef } from "preact/hooks";

export interface Shortcut {
  keys: string; // "/", "j", "g q", "Enter"
  does: string; // as the help shows it
  run: (event: KeyboardEvent) => void;
}

const groups = new Set<{ current: Shortcut[] }>();
let first: { key: string; at: number } | undefined;

// Registers shortcuts while the component is shown; the newest group wins.
export function useShortcuts(shortcuts: Shortcut[]): void {
  const ref = useRef(shortcuts);
  ref.current = shortcuts;
  useEffect(() => {
    groups.add(ref);
    return () => void groups.delete(ref);
  }, []);
}

// Returns all shortcuts that work at present, without doubles.
export function shortcuts(): Shortcut[] {
  const seen = new Map<string, Shortcut>();
  for (const group of [...groups].reverse()) for (const one of group.current) if (!seen.has(one.keys)) seen.set(one.keys, one);
  return [...seen.values()];
}

function isField(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable]");
}

// Finds what a key does; `pair` is the key before it, if that came within a second.
export function shortcutFor(key: string, pair: string | undefined): Shortcut | undefined {
  const all = shortcuts();
  return (pair && all.find((one) => one.keys === `${pair} ${key}`)) || all.find((one) => one.keys === key);
}

// Starts listening.
export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isField(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    const onControl = !!(event.target as Element | null)?.closest?.("a, button, summary, [role=tab]");
    if (event.key === "Enter" && onControl) return;
    const pair = first && event.timeStamp - first.at < 1000 ? first.key : undefined;
    const shortcut = shortcutFor(event.key, pair);
    first = event.key.length === 1 ? { key: event.key, at: event.timeStamp } : undefined;
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event);
  });
}
