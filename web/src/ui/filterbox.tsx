// SPDX-License-Identifier: Apache-2.0
// The filter box of a table, and chips for all states with their counts.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Filter } from "../core/filter";
import { splitTerms, toggleTerm } from "../core/filter";
import { useShortcuts } from "../core/keys";
import { toneOf } from "./basics";

// A field for a filter. The text goes to `onText` 40 ms after the last key.
export function FilterBox<Row>({ text, onText, filter, keys, id }: { text: string; onText: (text: string) => void; filter: Filter<Row>; keys: string[]; id: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (document.activeElement !== input.current || timer.current === undefined) setDraft(text);
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useShortcuts([{ keys: "/", does: "filter", run: () => input.current?.focus() }]);
  const change = (value: string) => {
    setDraft(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      onText(value.trim());
    }, 40);
  };
  const bad = filter.problems.length > 0;
  return (
    <div class="filterbox">
      <input
        ref={input}
        type="search"
        class={bad ? "invalid" : ""}
        value={draft}
        placeholder={`Filter: words, ${keys.slice(0, 3).map((key) => `${key}:…`).join(" ")}, -term   ( / )`}
        aria-label="Filter"
        aria-invalid={bad}
        aria-describedby={bad ? `${id}-problem` : undefined}
        data-testid="filter-input"
        title={`Keys: ${keys.join(", ")}. A minus before a term excludes it; * stands for any text.`}
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {bad && (
        <p class="problem" id={`${id}-problem`} role="alert">
          {filter.problems.join("; ")}
        </p>
      )}
    </div>
  );
}

// Buttons that switch `key:value` terms of the filter.
export function Chips({ name, counts, text, onText }: { name: string; counts: [string, number][]; text: string; onText: (text: string) => void }) {
  const terms = splitTerms(text).map((one) => one.toLowerCase());
  return (
    <div class="chips" role="group" aria-label={name}>
      {counts.map(([value, count]) => {
        const quoted = /\s/.test(value) ? `"${value}"` : value;
        const on = terms.includes(`${name}:${quoted}`.toLowerCase());
        return (
          <button type="button" class={`chip ${toneOf(value)}${count ? "" : " none"}`} aria-pressed={on} onClick={() => onText(toggleTerm(text, name, value))}>
            {value} <b>{count}</b>
          </button>
        );
      })}
    </div>
  );
}
