// SPDX-License-Identifier: Apache-2.0
// The table of all pages: virtualised, sorted, filtered, steady under the pointer, usable by keys. Its state is in the address.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { keyOf, type Rows } from "../core/data";
import { filterRows, parseFilter, type Fields } from "../core/filter";
import { useShortcuts } from "../core/keys";
import { readPref, writePref } from "../core/prefs";
import { setQuery, usePlace } from "../core/router";
import { serverNow } from "../core/time";
import type { Named } from "../core/types";
import { Chips, FilterBox } from "./filterbox";
import { sortRows, useHeldOrder, type SortValue } from "./order";
import { useWindow } from "./virtual";

export interface Column<Row> {
  id: string;
  title: string;
  width: number; // pixels; columns with `grow` take what is left
  grow?: boolean;
  right?: boolean;
  optional?: boolean; // hidden unless chosen
  sort?: (row: Row) => SortValue;
  text?: (row: Row) => string; // what the cell says: changes of it flash
  cell?: (row: Row) => ComponentChildren; // default: the text
}

export interface TableProps<Row extends Named> {
  page: string; // of data-testid table-<page>, and of the chosen columns
  kind: string; // of data-testid row-<kind>-<namespace>-<name>
  label: string;
  source: Rows<Row>;
  columns: Column<Row>[];
  fields: Fields<Row>;
  words: (row: Row) => (string | null | undefined)[];
  sort: string; // default, like "-created"
  chips?: { key: string; values: string[]; of: (row: Row) => string };
  empty: ComponentChildren;
  actions?: (selected: Row[], clear: () => void) => ComponentChildren; // shown with check boxes
  tools?: ComponentChildren;
  prefix?: string; // of the parameters, where a page has several tables
  fill?: boolean; // takes the rest of the page
  before?: (filtered: Row[]) => ComponentChildren; // replaces the table: other views of the same rows
  rowClass?: (row: Row) => string;
}

const kRow = 30;

// A table of rows with its filter, its chips and its bar of actions.
export function DataTable<Row extends Named>(props: TableProps<Row>) {
  const { page, source, fields, words, prefix = "" } = props;
  const { query } = usePlace();
  const text = query.get(`${prefix}filter`) ?? "";
  const sort = query.get(`${prefix}sort`) ?? props.sort;
  const setText = (value: string) => setQuery({ [`${prefix}filter`]: value });
  const [hidden, setHidden] = useState<string[]>(() => readPref(`columns.${page}`, props.columns.filter((one) => one.optional).map((one) => one.id)));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [over, setOver] = useState(false);

  const filter = useMemo(() => parseFilter(text, fields, words), [text, fields]);
  const column = props.columns.find((one) => one.id === sort.replace(/^-/, "") && one.sort) ?? props.columns.find((one) => one.id === props.sort.replace(/^-/, ""));
  const now = serverNow();
  // Sorted first: another filter needs no other order.
  const sorted = useMemo(() => (column?.sort ? sortRows(source.rows, column.sort, sort.startsWith("-")) : source.rows), [source.rows, column, sort]);
  const { accepted: wanted, counts } = useMemo(() => filterRows(sorted, filter, now, props.chips), [sorted, filter]);
  const held = useHeldOrder(wanted, (over || selected.size > 0) && !source.loading, `${page}|${text}|${sort}`);

  const chosen = selected.size ? held.rows.filter((row) => selected.has(keyOf(row))) : [];
  const clear = () => setSelected(new Set());
  const shownColumns = useMemo(() => props.columns.filter((one) => !hidden.includes(one.id)), [props.columns, hidden]);
  const saveHidden = (ids: string[]) => (setHidden(ids), writePref(`columns.${page}`, ids));

  return (
    <div class={`datatable${props.fill ? " fill" : ""}`}>
      <div class="toolbar">
        <FilterBox text={text} onText={setText} filter={filter} keys={Object.keys(fields)} id={`${prefix}${page}`} />
        {props.chips && <Chips name={props.chips.key} counts={counts} text={text} onText={setText} />}
        <span class="grow" />
        {props.tools}
        <span class="dim count-of" aria-live="off">
          {wanted.length === source.total ? source.total : `${wanted.length} of ${source.total}`}
        </span>
        <ColumnChooser columns={props.columns} hidden={hidden} onHidden={saveHidden} />
      </div>
      <Sources source={source} />
      {props.actions && chosen.length > 0 && (
        <div class="bulk" role="toolbar" aria-label="Actions on the chosen rows">
          <b>{chosen.length} chosen</b>
          {props.actions(chosen, clear)}
          <button type="button" class="quiet" onClick={clear}>
            Clear
          </button>
        </div>
      )}
      <div class="tablewrap" onPointerLeave={() => setOver(false)}>
        {props.before ? props.before(held.rows) : <Grid {...props} rows={held.rows} columns={shownColumns} sort={sort} onSort={(value) => setQuery({ [`${prefix}sort`]: value === props.sort ? null : value })} selected={selected} onSelected={props.actions ? setSelected : undefined} onOver={setOver} filtered={text !== ""} />}
        {held.updates > 0 && (
          <div class="updates" role="status">
            {held.updates} {held.updates === 1 ? "update" : "updates"} —{" "}
            <button type="button" class="link" onClick={held.apply} data-testid="apply-updates">
              apply
            </button>
          </div>
        )}
      </div>
    </div>
  );
}

// Says what could not be read, and what the user may not see.
export function Sources({ source }: { source: { error?: { message: string } | undefined; unavailable: string[]; partial: boolean; total: number; rows: unknown[]; loading: boolean } }) {
  return (
    <>
      {source.error && (
        <p class="notice bad" role="alert">
          ✕ {source.error.message}
        </p>
      )}
      {source.unavailable.length > 0 && <p class="notice warn">! Not read: {source.unavailable.join("; ")}</p>}
      {source.partial && <p class="notice warn">! Partial: you may not see everything that is here.</p>}
      {!source.loading && source.total > source.rows.length && <p class="notice warn">! The newest {source.rows.length} of {source.total} are here: narrow the list by dates or archive state on the command line (athanor jobs).</p>}
    </>
  );
}

function ColumnChooser<Row>({ columns, hidden, onHidden }: { columns: Column<Row>[]; hidden: string[]; onHidden: (ids: string[]) => void }) {
  return (
    <details class="menu">
      <summary aria-label="Choose columns" title="Columns">
        ☰
      </summary>
      <div class="menu-body">
        {columns.map((one) => (
          <label key={one.id}>
            <input type="checkbox" checked={!hidden.includes(one.id)} onChange={(event) => onHidden(event.currentTarget.checked ? hidden.filter((id) => id !== one.id) : [...hidden, one.id])} />
            {one.title}
          </label>
        ))}
      </div>
    </details>
  );
}

interface GridProps<Row extends Named> extends TableProps<Row> {
  rows: Row[];
  onSort: (sort: string) => void;
  selected: ReadonlySet<string>;
  onSelected: ((keys: ReadonlySet<string>) => void) | undefined;
  onOver: (over: boolean) => void;
  filtered: boolean;
}

function Grid<Row extends Named>(props: GridProps<Row>) {
  const { rows, columns, sort, selected, onSelected } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useWindow(box, rows.length, kRow);
  const [active, setActive] = useState<string>("");
  const index = active ? rows.findIndex((row) => keyOf(row) === active) : -1;

  const go = (to: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, to))];
    if (!row) return;
    const at = rows.indexOf(row);
    setActive(keyOf(row));
    const area = box.current!;
    const top = at * kRow;
    if (top < area.scrollTop) area.scrollTop = top;
    else if (top + 2 * kRow > area.scrollTop + area.clientHeight) area.scrollTop = top + 2 * kRow - area.clientHeight;
    requestAnimationFrame(() => requestAnimationFrame(() => area.querySelector<HTMLElement>(`tr[data-index="${at}"] a`)?.focus({ preventScroll: true })));
  };
  useShortcuts([
    { keys: "j", does: "next row", run: () => go(index + 1) },
    { keys: "k", does: "row before", run: () => go(index < 0 ? 0 : index - 1) },
    { keys: "Enter", does: "open the row", run: () => box.current?.querySelector<HTMLElement>(`tr[data-index="${index}"] a`)?.click() },
    ...(onSelected ? [{ keys: "x", does: "choose the row", run: () => toggle(active) }] : []),
  ]);
  const toggle = (key: string) => {
    if (!onSelected || !key) return;
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelected(next);
  };
  const toggled = useRef(toggle);
  toggled.current = toggle;
  const choose = useRef((key: string) => toggled.current(key)).current;

  if (rows.length === 0 && !props.source.loading) {
    return props.filtered && props.source.rows.length > 0 ? <div class="empty"><p class="empty-title">No row matches the filter.</p></div> : <>{!props.source.error && props.empty}</>;
  }
  const all = rows.length > 0 && rows.every((row) => selected.has(keyOf(row)));
  const cols = columns.length + (onSelected ? 1 : 0);
  const bodyHeight = rows.length * kRow;
  return (
    <div
      class="tablebox"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={props.label}
      style={props.fill ? undefined : { maxHeight: `${Math.min(bodyHeight + 34, 460)}px` }}
    >
      <table aria-rowcount={rows.length + 1} data-testid={`table-${props.page}`} aria-label={props.label} style={{ minWidth: `${columns.reduce((sum, one) => sum + one.width, onSelected ? 30 : 0)}px` }}>
        <colgroup>
          {onSelected && <col style={{ width: "30px" }} />}
          {columns.map((one) => (
            <col key={one.id} style={one.grow ? undefined : { width: `${one.width}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {onSelected && (
              <th scope="col">
                <input type="checkbox" aria-label="Choose all rows" checked={all} onChange={() => onSelected(all ? new Set() : new Set(rows.map(keyOf)))} />
              </th>
            )}
            {columns.map((one) => {
              const on = sort.replace(/^-/, "") === one.id;
              const down = sort.startsWith("-");
              return (
                <th key={one.id} scope="col" class={one.right ? "right" : ""} {...(one.sort ? { "aria-sort": on ? (down ? "descending" : "ascending") : "none" } : {})}>
                  {one.sort ? (
                    <button type="button" onClick={() => props.onSort(on && !down ? `-${one.id}` : one.id)}>
                      {one.title}
                      {on && <span aria-hidden="true">{down ? " ↓" : " ↑"}</span>}
                    </button>
                  ) : (
                    one.title
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody onPointerEnter={() => props.onOver(true)}>
          {view.first > 0 && (
            <tr aria-hidden="true" style={{ height: `${view.first * kRow}px` }}>
              <td colSpan={cols} />
            </tr>
          )}
          {rows.slice(view.first, view.last).map((row, i) => {
            const key = keyOf(row);
            return <Line key={key} row={row} id={key} index={view.first + i} columns={columns} kind={props.kind} class={`${key === active ? "active " : ""}${props.rowClass?.(row) ?? ""}`} chosen={onSelected ? selected.has(key) : undefined} onChosen={choose} onActive={setActive} />;
          })}
          {view.last < rows.length && (
            <tr aria-hidden="true" style={{ height: `${(rows.length - view.last) * kRow}px` }}>
              <td colSpan={cols} />
            </tr>
          )}
        </tbody>
      </table>
      {props.source.loading && rows.length === 0 && <p class="loading">Loading…</p>}
    </div>
  );
}

interface LineProps<Row> {
  row: Row;
  id: string;
  index: number;
  columns: Column<Row>[];
  kind: string;
  class: string;
  chosen: boolean | undefined; // undefined: rows cannot be chosen
  onChosen: (id: string) => void;
  onActive: (id: string) => void;
}

// One row. It is made anew only if something of it changed: a change of another row costs it nothing.
function Line<Row extends Named>({ row, id, index, columns, kind, class: classes, chosen, onChosen, onActive }: LineProps<Row>) {
  return useMemo(
    () => (
      <tr data-index={index} aria-rowindex={index + 2} aria-selected={chosen} data-testid={`row-${kind}-${row.ns ?? ""}-${row.name}`} class={classes} onFocusCapture={() => onActive(id)}>
        {chosen !== undefined && (
          <td class="check">
            <input type="checkbox" aria-label={`Choose ${row.name}`} checked={chosen} onChange={() => onChosen(id)} />
          </td>
        )}
        {columns.map((one) => (
          <Cell key={one.id} column={one} row={row} />
        ))}
      </tr>
    ),
    [row, id, index, columns, kind, classes, chosen],
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const text = column.text?.(row) ?? "";
  const before = useRef(text);
  const ref = useRef<HTMLTableCellElement>(null);
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    const cell = ref.current;
    if (!cell) return;
    cell.classList.remove("flash");
    void cell.offsetWidth; // restarts the animation
    cell.classList.add("flash");
  }, [text]);
  return (
    <td ref={ref} class={column.right ? "right" : ""} title={text || undefined} data-testid={`cell-${column.id}`}>
      {column.cell ? column.cell(row) : text || <span class="dim">–</span>}
    </td>
  );
}

// A short table without a filter: rows of cells under titles.
export function PlainTable({ titles, rows, label, right = [] }: { titles: string[]; rows: ComponentChildren[][]; label: string; right?: number[] }) {
  return (
    <div class="plaintable" tabIndex={0} role="group" aria-label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            {titles.map((title, i) => (title ? <th scope="col" class={right.includes(i) ? "right" : ""}>{title}</th> : <td />))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td class={right.includes(j) ? "right" : ""}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
