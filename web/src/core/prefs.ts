// SPDX-License-Identifier: Apache-2.0
// Choices that belong to a person and not to a page: kept in the browser's storage.

// Returns a stored value, or `fallback` if there is none or storage is switched off.
export function readPref<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`athanor.${key}`);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

// Stores a value; without storage it lasts until the page is closed.
export function writePref(key: string, value: unknown): void {
  try {
    localStorage.setItem(`athanor.${key}`, JSON.stringify(value));
  } catch {
    return;
  }
}

export type Theme = "system" | "dark" | "light";

// Returns the chosen theme. It is stored as plain text, because assets/theme.js reads it, too.
export function theme(): Theme {
  const value = document.documentElement.dataset["theme"];
  return value === "dark" || value === "light" ? value : "system";
}

// Chooses a theme.
export function setTheme(value: Theme): void {
  const root = document.documentElement;
  if (value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = value;
  try {
    if (value === "system") localStorage.removeItem("athanor.theme");
    else localStorage.setItem("athanor.theme", value);
  } catch {
    return;
  }
}
