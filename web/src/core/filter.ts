// SPDX-License-Identifier: Apache-2.0
// Grammar of the filter box (docs/spec/dashboard.md B3 G3): words, key:value, age:<2h, and - before a term that is excluded.
import { parseSpan } from "./time";

// Values of a row that a filter reads: texts are compared, numbers (spans in milliseconds) are ordered.
export interface Field<Row> {
  text?: (row: Row) => string | string[] | null | undefined;
  span?: (row: Row, now: number) => number;
  number?: (row: Row) => number | null | undefined;
}
export type Fields<Row> = Record<string, Field<Row>>;

export interface Term {
  raw: string;
  negated: boolean;
  key: string; // empty: a word of free text
  value: string;
  comparison: "" | "<" | ">";
}

export interface Filter<Row> {
  terms: Term[];
  problems: string[]; // one line for each term that is not understood
  accepts: (row: Row, now: number) => boolean;
  // Returns the test of the terms of one key, and that of all other terms.
  parts: (key: string) => { own: Test<Row>; others: Test<Row> };
}
type Test<Row> = (row: Row, now: number) => boolean;

// Splits a text at spaces outside double quotes.
export function splitTerms(text: string): string[] {
  return [...text.matchAll(/(?:[^ \t"]|"[^"]*"?)+/g)].map((match) => match[0]);
}

function parseTerm(raw: string): Term {
  const negated = raw.length > 1 && raw.startsWith("-");
  const body = negated ? raw.slice(1) : raw;
  const colon = body.indexOf(":");
  const unquoted = (text: string) => text.replace(/"/g, "");
  if (colon <= 0 || body.startsWith('"')) return { raw, negated, key: "", value: unquoted(body), comparison: "" };
  const rest = body.slice(colon + 1);
  const comparison = rest.startsWith("<") ? "<" : rest.startsWith(">") ? ">" : "";
  return { raw, negated, key: body.slice(0, colon).toLowerCase(), value: unquoted(comparison ? rest.slice(1) : rest), comparison };
}

// Reads a filter. `words` gives the texts that free words are searched in. Unknown terms are reported as problems and exclude no row.
export function parseFilter<Row extends object>(text: string, fields: Fields<Row>, words: (row: Row) => (string | null | undefined)[]): Filter<Row> {
  const terms: Term[] = [];
  const problems: string[] = [];
  const tests: { key: string; test: Test<Row> }[] = [];
  const byKey = new Map<string, Test<Row>[]>();
  for (const raw of splitTerms(text)) {
    const term = parseTerm(raw);
    terms.push(term);
    const test = testOf(term, fields, words, problems);
    if (!test) continue;
    if (term.negated) tests.push({ key: term.key, test: (row, now) => !test(row, now) });
    else if (term.key && !term.comparison) byKey.set(term.key, [...(byKey.get(term.key) ?? []), test]);
    else tests.push({ key: term.key, test });
  }
  // Several values of one key are alternatives.
  for (const [key, alternatives] of byKey) tests.push({ key, test: (row, now) => alternatives.some((test) => test(row, now)) });
  const all = (some: Test<Row>[]): Test<Row> => (row, now) => some.every((test) => test(row, now));
  const those = (is: (key: string) => boolean) => all(tests.filter((one) => is(one.key)).map((one) => one.test));
  return { terms, problems, accepts: those(() => true), parts: (key) => ({ own: those((one) => one === key), others: those((one) => one !== key) }) };
}

// Returns the rows that a filter accepts, and how many rows have each value of the key `by` where its own terms are left out.
export function filterRows<Row>(rows: readonly Row[], filter: Filter<Row>, now: number, by?: { key: string; values: string[]; of: (row: Row) => string }): { accepted: Row[]; counts: [string, number][] } {
  if (!by) return { accepted: rows.filter((row) => filter.accepts(row, now)), counts: [] };
  const { own, others } = filter.parts(by.key);
  const found = new Map<string, number>(by.values.map((value) => [value, 0]));
  const accepted = rows.filter((row) => {
    if (!others(row, now)) return false;
    const value = by.of(row);
    found.set(value, (found.get(value) ?? 0) + 1);
    return own(row, now);
  });
  return { accepted, counts: [...found] };
}

// Caches the words of each row in lower case; rows are immutable.
const searched = new WeakMap<object, WeakMap<object, string>>();

function searchedText<Row extends object>(row: Row, words: (row: Row) => (string | null | undefined)[]): string {
  let known = searched.get(words);
  if (!known) searched.set(words, (known = new WeakMap()));
  let text = known.get(row);
  if (text === undefined) known.set(row, (text = words(row).join("\n").toLowerCase()));
  return text;
}

function testOf<Row extends object>(term: Term, fields: Fields<Row>, words: (row: Row) => (string | null | undefined)[], problems: string[]) {
  const wanted = term.value.toLowerCase();
  if (!term.key) return (row: Row) => searchedText(row, words).includes(wanted);
  const field = Object.hasOwn(fields, term.key) ? fields[term.key] : undefined;
  if (!field) {
    problems.push(`${term.raw}: unknown key; known are ${Object.keys(fields).join(", ")}`);
    return undefined;
  }
  if (field.text) {
    const read = field.text;
    if (term.comparison || !wanted) {
      problems.push(`${term.raw}: ${term.key} takes a text`);
      return undefined;
    }
    return (row: Row) => {
      const value = read(row);
      const list = Array.isArray(value) ? value : [value ?? ""];
      // An absent value matches "none", and "false" of a flag.
      if (!list.some(Boolean)) return wanted === "none" || wanted === "false";
      return list.some((one) => matches(one.toLowerCase(), wanted));
    };
  }
  const limit = field.span ? parseSpan(wanted) : Number(wanted);
  if (Number.isNaN(limit) || (field.span && !term.comparison)) {
    problems.push(`${term.raw}: write ${term.key}:<${field.span ? "2h" : "10"} or ${term.key}:>${field.span ? "30m" : "3"}`);
    return undefined;
  }
  return (row: Row, now: number) => {
    const value = field.span ? field.span(row, now) : field.number?.(row);
    if (value === null || value === undefined || Number.isNaN(value)) return false;
    return term.comparison === "<" ? value < limit : term.comparison === ">" ? value > limit : value === limit;
  };
}

// Compares with * as a wildcard.
function matches(value: string, wanted: string): boolean {
  if (!wanted.includes("*")) return value === wanted;
  const parts = wanted.split("*");
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last)) return false;
  const middle = value.slice(first.length, value.length - last.length);
  let at = 0;
  for (const part of parts.slice(1, -1)) {
    const found = middle.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

// Adds `key:value` to a filter text, or removes it if it is there.
export function toggleTerm(text: string, key: string, value: string): string {
  const term = `${key}:${/\s/.test(value) ? `"${value}"` : value}`;
  const terms = splitTerms(text);
  const without = terms.filter((one) => one.toLowerCase() !== term.toLowerCase());
  return (without.length === terms.length ? [...terms, term] : without).join(" ");
}
