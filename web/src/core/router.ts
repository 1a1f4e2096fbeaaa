// SPDX-License-Identifier: Apache-2.0
// The address of the page is its state: path and query, with hooks that read and change them.
import { useEffect, useState } from "preact/hooks";

// Folder below which all pages live, with a slash at its end: "/" unless a proxy serves the console elsewhere.
export const base: string = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");

export interface Place {
  path: string; // below base, with its leading slash
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

// Returns the current path and query.
export function place(): Place {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length - 1) : location.pathname;
  return { path: path.length > 1 ? path.replace(/\/+$/, "") : "/", query: new URLSearchParams(location.search) };
}

// Returns the href of a page: a path below base with a query of the values that are not empty.
export function href(path: string, query: Record<string, string | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
  const text = search.toString();
  return base + path.replace(/^\//, "") + (text ? `?${text}` : "");
}

// Opens a page of the console without loading it anew.
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  history[how === "push" ? "pushState" : "replaceState"](null, "", to);
  if (how === "push") window.scrollTo(0, 0);
  notify();
}

// Changes some parameters of the query in place; null removes one.
export function setQuery(changes: Record<string, string | null>): void {
  const { query } = place();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : "") + location.hash, "replace");
}

// Returns the place and renders again whenever it changes.
export function usePlace(): Place {
  const [, tick] = useState(0);
  useEffect(() => {
    const listener = () => tick((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return place();
}

// Returns one parameter of the query and its setter.
export function useParam(key: string, initial = ""): [string, (value: string) => void] {
  const { query } = usePlace();
  return [query.get(key) ?? initial, (value) => setQuery({ [key]: value === initial ? null : value })];
}

// Follows clicks on links of the console; others, and clicks with a modifier, are left to the browser.
export function followLinks(): void {
  window.addEventListener("popstate", notify);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    const path = link.pathname;
    if (!path.startsWith(base) || path.startsWith(`${base}api/`) || link.dataset["native"] !== undefined) return;
    if (link.hash && path === location.pathname && link.search === location.search) return;
    event.preventDefault();
    navigate(link.pathname + link.search + link.hash);
  });
}

function notify(): void {
  for (const listener of [...listeners]) listener();
}
