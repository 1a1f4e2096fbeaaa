// SPDX-License-Identifier: Apache-2.0
// Order of a table's rows: sorted with fixed ties, and held still under the pointer (docs/spec/dashboard.md B3 G2).
import { useRef, useState } from "preact/hooks";
import { keyOf } from "../core/data";
import type { Named } from "../core/types";

export type SortValue = string | number | null | undefined;

// Sorts rows by a value; absent values come last in both directions, equal ones are ordered by namespace and name.
export function sortRows<Row extends Named>(rows: readonly Row[], value: (row: Row) => SortValue, descending: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, value: value(row) }));
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => {
    const byValue = compare(a.value, b.value, sign);
    if (byValue) return byValue;
    return compare(a.row.ns ?? "", b.row.ns ?? "", 1) || compare(a.row.name, b.row.name, 1) || compare(keyOf(a.row), keyOf(b.row), 1);
  });
  return keyed.map((one) => one.row);
}

function compare(a: SortValue, b: SortValue, sign: number): number {
  const aAbsent = a === null || a === undefined || a === "" || Number.isNaN(a);
  const bAbsent = b === null || b === undefined || b === "" || Number.isNaN(b);
  if (aAbsent || bAbsent) return Number(aAbsent) - Number(bAbsent);
  if (a === b) return 0;
  return (a! < b! ? -1 : 1) * sign;
}

// Keeps the order `shown` and takes the new contents of its rows; counts the rows that came, went or moved.
export function holdRows<Row extends Named>(shown: readonly string[], rows: readonly Row[]): { rows: Row[]; updates: number } {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const kept = shown.flatMap((key) => byKey.get(key) ?? []);
  const known = new Set(shown);
  const came = rows.filter((row) => !known.has(keyOf(row))).length;
  const went = shown.length - kept.length;
  let moved = 0;
  const order = rows.filter((row) => known.has(keyOf(row)));
  for (let i = 0; i < order.length; i++) if (order[i] !== kept[i]) moved++;
  return { rows: kept, updates: came + went + (moved ? 1 : 0) };
}

// Returns rows in an order that stays while `held`, with the number of updates that wait and a way to take them.
export function useHeldOrder<Row extends Named>(rows: Row[], held: boolean, question: string): { rows: Row[]; updates: number; apply: () => void } {
  const shown = useRef<{ question: string; rows: Row[] }>({ question: "", rows: [] });
  const [, tick] = useState(0);
  const taken = () => {
    shown.current = { question, rows };
  };
  if (!held || shown.current.question !== question) {
    taken();
    return { rows, updates: 0, apply: () => undefined };
  }
  const result = holdRows(shown.current.rows.map(keyOf), rows);
  return { ...result, apply: () => (taken(), tick((n) => n + 1)) };
}
