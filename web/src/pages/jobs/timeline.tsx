// SPDX-License-Identifier: Apache-2.0
// Jobs and locks over time, with a choice of the range that the address keeps.
import { useMemo } from "preact/hooks";
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import { serverNow, span } from "../../core/time";
import type { Job, Lane } from "../../core/types";
import { Timeline } from "../../charts/timeline";
import { Empty } from "../../ui/basics";

const kRanges: [string, number][] = [
  ["1h", 36e5],
  ["6h", 216e5],
  ["24h", 864e5],
  ["7d", 6048e5],
  ["30d", 2592e6],
];

// Choice of a range of time, kept in the address.
export function Ranges({ ranges = kRanges, initial }: { ranges?: [string, number][]; initial: string }) {
  const [range, setRange] = useParam("range", initial);
  return (
    <span class="segments" role="group" aria-label="Range of time">
      {ranges.map(([name]) => (
        <button type="button" aria-pressed={range === name} onClick={() => setRange(name)}>
          {name}
        </button>
      ))}
    </span>
  );
}

// Jobs and locks over time, by cluster: of some jobs, or of one cluster.
export function FleetTimeline({ title, jobs, cluster }: { title: string; jobs?: Job[]; cluster?: string }) {
  const [range] = useParam("range", "24h");
  const length = kRanges.find(([name]) => name === range)?.[1] ?? 864e5;
  // The end is rounded, so that the address of the request stays the same for a while.
  const to = Math.ceil(serverNow() / 6e4) * 6e4;
  const stable = useMemo(() => ({ from: to - length, to: to + length * 0.03 }), [range, Math.floor(to / 3e5)]);
  const path = `/fleet/timeline?from=${encodeURIComponent(new Date(stable.from).toISOString())}&to=${encodeURIComponent(new Date(stable.to).toISOString())}${cluster ? `&cluster=${encodeURIComponent(cluster)}` : ""}`;
  const { data, error } = useData<{ lanes?: Lane[] }>(path, ["jobs", "locks"]);
  const names = jobs && new Set(jobs.map((job) => `${job.ns ?? ""}/${job.name}`));
  const lanes = (data?.lanes ?? []).map((lane) => ({ ...lane, bars: (lane.bars ?? []).filter((bar) => !names || names.has(`${bar.ns ?? ""}/${bar.job}`)) }));
  return (
    <section class="section" aria-label="Timeline">
      <div class="section-head">
        <h2>{title}</h2>
        <Legend />
        <span class="actions">
          <Ranges initial="24h" />
        </span>
      </div>
      {error && <p class="notice bad">✕ {error.message}</p>}
      {lanes.length ? <Timeline lanes={lanes} from={stable.from} to={stable.to} /> : <Empty title={`No job ran in the last ${span(length)}`} />}
    </section>
  );
}

const kLegend: [string, string][] = [
  ["reserved", "waits"],
  ["used early", "prepares"],
  ["used", "runs"],
  ["borrowed", "stops"],
  ["good", "succeeded"],
  ["bad", "failed"],
  ["locked", "locked"],
];

function Legend() {
  return (
    <span class="legend">
      {kLegend.map(([look, name]) => (
        <span key={name}>
          <i class={look} />
          {name}
        </span>
      ))}
    </span>
  );
}
