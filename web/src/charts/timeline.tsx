// SPDX-License-Identifier: Apache-2.0
// Jobs over time, one lane for each cluster; locks are shaded, the present is a line.
import { useRef } from "preact/hooks";
import { href } from "../core/router";
import { absolute, millis, span, useNow } from "../core/time";
import type { Lane } from "../core/types";
import { toneOf } from "../ui/basics";
import { clip } from "./gantt";
import { timeScale, timeTicks, useWidth } from "./scale";

const kBar = 16;
const kLabel = 120;

// Stacks bars that overlap in time into rows of a lane.
export function stackBars<Bar extends { from: string; to?: string }>(bars: Bar[], now: number): { bar: Bar; row: number }[] {
  const ends: number[] = [];
  return [...bars]
    .sort((a, b) => millis(a.from) - millis(b.from))
    .map((bar) => {
      const from = millis(bar.from);
      let row = ends.findIndex((end) => end <= from);
      if (row < 0) row = ends.length;
      ends[row] = bar.to ? millis(bar.to) : now;
      return { bar, row };
    });
}

interface JobBar {
  job: string;
  ns?: string | undefined;
  from: string;
  to?: string;
  parts: NonNullable<Lane["bars"]>;
}

// Puts the phases of one job together.
export function barsOfJobs(bars: NonNullable<Lane["bars"]>): JobBar[] {
  const jobs = new Map<string, JobBar>();
  for (const part of bars) {
    const key = `${part.ns ?? ""}/${part.job}`;
    const job = jobs.get(key) ?? { job: part.job, ns: part.ns, from: part.from, parts: [] };
    job.parts.push(part);
    if (millis(part.from) < millis(job.from)) job.from = part.from;
    jobs.set(key, job);
  }
  for (const job of jobs.values()) {
    const open = job.parts.some((part) => !part.to);
    const last = job.parts.map((part) => part.to ?? "").sort().at(-1);
    if (!open && last) job.to = last;
  }
  return [...jobs.values()];
}

// The chart.
export function Timeline({ lanes, from, to }: { lanes: Lane[]; from: number; to: number }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const now = useNow();
  const x = timeScale(from, to, kLabel, width - 8);
  let y = 26;
  const placed = lanes.map((lane) => {
    const stacked = stackBars(barsOfJobs(lane.bars ?? []), now);
    const rows = Math.max(1, ...stacked.map((one) => one.row + 1));
    const top = y;
    y += rows * (kBar + 3) + 10;
    return { lane, stacked, top, height: rows * (kBar + 3) + 4 };
  });
  return (
    <div ref={box} class="chart timeline">
      <svg width={width} height={y} role="group" aria-label="Jobs by cluster over time">
        {timeTicks(from, to, Math.max(2, width / 120)).filter((tick) => x(tick.at) < width - 24).map((tick) => (
          <g key={tick.at}>
            <line class="grid" x1={x(tick.at)} x2={x(tick.at)} y1="18" y2={y} />
            <text class="tick" x={x(tick.at)} y="12" text-anchor="middle">
              {tick.text}
            </text>
          </g>
        ))}
        {placed.map(({ lane, stacked, top, height }) => (
          <g key={lane.cluster}>
            <line class="rule" x1="0" x2={width} y1={top - 5} y2={top - 5} />
            <text class="label" x="2" y={top + 13}>
              {clip(lane.cluster || "no cluster yet", 17)}
            </text>
            {(lane.locks ?? []).map((lock) => (
              <rect class="lockbar" x={x(millis(lock.from))} width={Math.max(2, x(lock.to ? millis(lock.to) : now) - x(millis(lock.from)))} y={top - 4} height={height + 4}>
                <title>{`locked by ${lock.holder ?? "?"} from ${absolute(lock.from)} ${lock.to ? `to ${absolute(lock.to)}` : ""}`}</title>
              </rect>
            ))}
            {stacked.map(({ bar, row }) => {
              const a = x(millis(bar.from));
              const b = x(bar.to ? millis(bar.to) : now);
              if (b <= x(from) && a <= x(from)) return null;
              const last = bar.parts.at(-1)!;
              return (
                <a href={href(`/jobs/${encodeURIComponent(bar.job)}`, { ns: bar.ns })} aria-label={`${bar.job}: ${last.outcome ?? last.phase}`}>
                  {bar.parts.map((part) => {
                    const pa = x(millis(part.from));
                    const pb = x(part.to ? millis(part.to) : now);
                    return (
                      <rect data-phase={part.phase} class={`tone-${toneOf(part.phase === "Running" && part.outcome ? part.outcome : part.phase)}${["Resolving", "Admitted"].includes(part.phase) ? " early" : ""}`} x={pa} y={top + row * (kBar + 3)} width={Math.max(2, pb - pa)} height={kBar} rx="2">
                        <title>{`${bar.job}: ${part.phase}${part.outcome ? ` (in the end ${part.outcome})` : ""} for ${span((part.to ? millis(part.to) : now) - millis(part.from))}${part.owner ? `, ${part.owner}` : ""}`}</title>
                      </rect>
                    );
                  })}
                  {b - a > 40 && (
                    <text class="barname" x={a + 4} y={top + row * (kBar + 3) + 12}>
                      {clip(bar.job, Math.floor((b - a - 6) / 6.6))}
                    </text>
                  )}
                </a>
              );
            })}
          </g>
        ))}
        {now > from && now < to && <line class="nowline" x1={x(now)} x2={x(now)} y1="18" y2={y} />}
      </svg>
    </div>
  );
}
