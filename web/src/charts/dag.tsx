// SPDX-License-Identifier: Apache-2.0
// The tasks of a pipeline as a graph: columns by longest path, edges from each task to those that run after it.
import type { PipelineTask } from "../core/types";
import { toneOf } from "../ui/basics";
import { clip } from "./gantt";

export interface Placed {
  task: PipelineTask;
  column: number;
  row: number;
}

// Places tasks: a task stands one column after the last of those it waits for; `finally` tasks stand behind all others.
export function placeTasks(tasks: PipelineTask[]): Placed[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const columns = new Map<string, number>();
  const visit = (name: string, path: Set<string>): number => {
    const known = columns.get(name);
    if (known !== undefined) return known;
    if (path.has(name)) return 0; // a circle: the server refuses those, the picture does not hang on one
    path.add(name);
    const before = (byName.get(name)?.after ?? []).filter((one) => byName.has(one));
    const column = before.length ? Math.max(...before.map((one) => visit(one, path))) + 1 : 0;
    path.delete(name);
    columns.set(name, column);
    return column;
  };
  const normal = tasks.filter((task) => !task.finally);
  for (const task of normal) visit(task.name, new Set());
  const last = normal.length ? Math.max(...normal.map((task) => columns.get(task.name) ?? 0)) : -1;
  const rows = new Map<number, number>();
  return tasks.map((task) => {
    const column = task.finally ? last + 1 : (columns.get(task.name) ?? 0);
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return { task, column, row };
  });
}

const kWide = 178;
const kHigh = 40;
const kGapX = 44;
const kGapY = 12;

// The graph; a click on a task calls `onTask`.
export function Dag({ tasks, chosen, onTask }: { tasks: PipelineTask[]; chosen: string; onTask: (name: string) => void }) {
  const placed = placeTasks(tasks);
  const at = new Map(placed.map((one) => [one.task.name, one]));
  const columns = Math.max(0, ...placed.map((one) => one.column)) + 1;
  const rows = Math.max(0, ...placed.map((one) => one.row)) + 1;
  const left = (one: Placed) => one.column * (kWide + kGapX) + (one.task.finally ? 14 : 0);
  const top = (one: Placed) => one.row * (kHigh + kGapY) + 2;
  const width = columns * (kWide + kGapX) - kGapX + 18;
  const height = rows * (kHigh + kGapY) + 2;
  const firstFinally = placed.find((one) => one.task.finally);
  const edges = placed.flatMap((one) => (one.task.after ?? []).flatMap((name) => (at.has(name) ? [[at.get(name)!, one] as const] : [])));
  return (
    <div class="dag" tabIndex={0} role="region" aria-label="Graph of tasks">
      <div class="dag-area" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {firstFinally && <line class="rule" x1={left(firstFinally) - 28} x2={left(firstFinally) - 28} y1="0" y2={height} stroke-dasharray="3 4" />}
          {edges.map(([a, b]) => {
            const x1 = left(a) + kWide;
            const y1 = top(a) + kHigh / 2;
            const x2 = left(b);
            const y2 = top(b) + kHigh / 2;
            return <path class="edge" d={`M${x1} ${y1} C${x1 + 24} ${y1} ${x2 - 24} ${y2} ${x2} ${y2}`} />;
          })}
        </svg>
        {placed.map((one) => (
          <button
            type="button"
            class={`dag-task ${toneOf(one.task.state)}`}
            aria-pressed={one.task.name === chosen}
            style={{ left: `${left(one)}px`, top: `${top(one)}px`, width: `${kWide}px`, height: `${kHigh}px` }}
            onClick={() => onTask(one.task.name === chosen ? "" : one.task.name)}
            title={one.task.message}
          >
            <b>{clip(one.task.name, 24)}</b>
            <span>
              {one.task.state}
              {one.task.retries ? `, ${one.task.retries} retries` : ""}
              {one.task.finally ? " · finally" : ""}
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}
