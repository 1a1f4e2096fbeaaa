// SPDX-License-Identifier: Apache-2.0
// Bars of time, one row each: phases of a job, tasks and steps of a pipeline.
import { useRef } from "preact/hooks";
import { toneOf } from "../ui/basics";
import { millis, span, useNow } from "../core/time";
import { timeScale, timeTicks, useWidth } from "./scale";

export interface GanttRow {
  name: string;
  state: string;
  from?: string | undefined;
  to?: string | undefined;
  indent?: boolean;
  separated?: boolean; // a line above
  note?: string | undefined;
}

const kRow = 22;
const kLabel = 190;

// A chart of rows; a row without an end goes on until now.
export function Gantt({ rows, label }: { rows: GanttRow[]; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const now = useNow();
  const started = rows.filter((row) => row.from);
  const from = Math.min(...started.map((row) => millis(row.from)));
  const to = Math.max(from + 1000, ...started.map((row) => (row.to ? millis(row.to) : now)));
  const x = timeScale(from, to, kLabel, width - 70);
  const height = rows.length * kRow + 24;
  const ticks = started.length ? timeTicks(from, to, Math.max(2, (width - kLabel) / 110)) : [];
  return (
    <div ref={box} class="chart">
      <svg width={width} height={height} role="img" aria-label={`${label}: ${rows.map((row) => `${row.name} ${row.state}${row.from ? ` ${span((row.to ? millis(row.to) : now) - millis(row.from))}` : ""}`).join(", ")}`}>
        {ticks.map((tick) => (
          <g key={tick.at}>
            <line class="grid" x1={x(tick.at)} x2={x(tick.at)} y1="18" y2={height} />
            <text class="tick" x={x(tick.at)} y="12" text-anchor="middle">
              {tick.text}
            </text>
          </g>
        ))}
        {rows.map((row, i) => {
          const y = 20 + i * kRow;
          const a = row.from ? x(millis(row.from)) : kLabel;
          const b = row.from ? x(row.to ? millis(row.to) : now) : kLabel;
          const length = row.from ? span((row.to ? millis(row.to) : now) - millis(row.from)) : "";
          return (
            <g key={`${row.name}${i}`}>
              {row.separated && <line class="rule" x1="0" x2={width} y1={y - 1} y2={y - 1} />}
              <text class={`label${row.indent ? " sub" : ""}`} x={row.indent ? 16 : 2} y={y + 14}>
                {clip(row.name, row.indent ? 26 : 28)}
              </text>
              {row.from ? (
                <rect class={`tone-${toneOf(row.state)}${row.indent ? " thin" : ""}`} x={a} y={y + (row.indent ? 6 : 3)} width={Math.max(2, b - a)} height={row.indent ? 9 : 15} rx="2">
                  <title>{`${row.name}: ${row.state}, ${length}${row.note ? `, ${row.note}` : ""}`}</title>
                </rect>
              ) : null}
              <text class="length" x={row.from ? Math.min(b + 5, width - 64) : kLabel} y={y + 14}>
                {row.from ? length : row.note ? `${row.state}: ${clip(row.note, 60)}` : row.state}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

// Cuts a text at `most` characters.
export function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
