// SPDX-License-Identifier: Apache-2.0
// What the history says: waits and runs, failures, evictions, and how busy the clusters were.
import { useMemo } from "preact/hooks";
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import { absolute, seconds } from "../../core/time";
import { Heat } from "../../charts/spark";
import { Age, Bar, Empty, Partial, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { Ranges } from "../jobs/timeline";

interface Group {
  by: string;
  key: string;
  jobs: number;
  waitMedianSeconds?: number;
  waitP90Seconds?: number;
  runMedianSeconds?: number;
  runP90Seconds?: number;
  failed: number;
}

interface Insights {
  groups?: Group[];
  failures?: { reason: string; count: number }[];
  evictions?: { ns?: string; queue: string; count: number; last?: string }[];
  repairs?: { clusters?: { cluster: string; count: number; fights: number; last?: string }[]; newest?: { at: string; cluster: string; fight?: boolean }[] };
  partial?: boolean;
  utilisation?: { cluster: string; hour: number; percent: number }[];
}

// The page.
export function InsightsPage() {
  const [range] = useParam("range", "7d");
  const [by, setBy] = useParam("by", "project");
  const { data, error } = useData<Insights>(`/insights?range=${encodeURIComponent(range)}`);
  const groups = useMemo(() => (data?.groups ?? []).filter((one) => one.by === by).sort((a, b) => b.jobs - a.jobs), [data, by]);
  const longest = Math.max(1, ...groups.flatMap((one) => [one.waitP90Seconds ?? 0, one.runP90Seconds ?? 0]));
  const heat = new Map((data?.utilisation ?? []).map((one) => [`${one.cluster}/${one.hour}`, one.percent]));
  const clusters = [...new Set((data?.utilisation ?? []).map((one) => one.cluster))].sort();
  const most = Math.max(1, ...(data?.failures ?? []).map((one) => one.count));
  return (
    <>
      <div class="pagehead">
        <Ranges initial="7d" ranges={[["24h", 864e5], ["7d", 6048e5], ["30d", 2592e6], ["90d", 7776e6]]} />
        <span class="segments" role="group" aria-label="By">
          {["project", "pipeline", "cluster"].map((one) => (
            <button type="button" aria-pressed={by === one} onClick={() => setBy(one)}>
              by {one}
            </button>
          ))}
        </span>
      </div>
      {error && <p class="notice bad">✕ {error.message}</p>}
      <Partial of={data} />
      {data && groups.length === 0 && <Empty title="No job ended in this time" hint="Insights are computed from the history of jobs." />}
      {groups.length > 0 && (
        <Section title={`Waits and runs by ${by}`} note="median and 90th percentile" testid="table-insights">
          <PlainTable
            label="Waits and runs"
            titles={[by, "Jobs", "Failed", "Wait, median · p90", "", "Run, median · p90", ""]}
            right={[1, 2]}
            rows={groups.map((one) => [
              <To path="/jobs" query={{ filter: `${by}:${/\s/.test(one.key) ? `"${one.key}"` : one.key}` }}>{one.key || "none"}</To>,
              one.jobs,
              <span class={one.failed ? "bad-text" : ""}>{one.failed}</span>,
              `${seconds(one.waitMedianSeconds)} · ${seconds(one.waitP90Seconds)}`,
              <Percentiles median={one.waitMedianSeconds} p90={one.waitP90Seconds} longest={longest} label={`Wait of ${one.key}`} />,
              `${seconds(one.runMedianSeconds)} · ${seconds(one.runP90Seconds)}`,
              <Percentiles median={one.runMedianSeconds} p90={one.runP90Seconds} longest={longest} label={`Run of ${one.key}`} />,
            ])}
          />
        </Section>
      )}
      <div class="columns">
        <Section title="Reasons of failures">
          {data?.failures?.length ? (
            <PlainTable label="Reasons of failures" titles={["Count", "Reason", ""]} right={[0]} rows={data.failures.map((one) => [one.count, one.reason, <span class="usage"><Bar total={most} label={`${one.reason}: ${one.count}`} parts={[{ value: one.count, tone: "borrowed", name: "failures" }]} /></span>])} />
          ) : (
            <p class="dim">No job failed.</p>
          )}
        </Section>
        <Section title="Preemptions and evictions">{data?.evictions?.length ? <PlainTable label="Evictions" titles={["LocalQueue", "Count", "Last"]} right={[1]} rows={data.evictions.map((one) => [`${one.ns ? `${one.ns}/` : ""}${one.queue}`, one.count, <Age time={one.last} suffix=" ago" />])} /> : <p class="dim">Nothing was evicted.</p>}</Section>
        <Section title="Repairs of quota" note="shares put back into their queues" testid="repairs">
          <Repairs repairs={data?.repairs} />
        </Section>
      </div>
      {clusters.length > 0 && (
        <Section title="Use of clusters by hour of the day" note="per cent of the GPU-hours of its quota, UTC">
          <Heat label="Use of clusters by hour" rows={clusters} columns={Array.from({ length: 24 }, (_, i) => String(i))} value={(cluster, hour) => heat.get(`${cluster}/${hour}`)} />
        </Section>
      )}
    </>
  );
}

function Repairs({ repairs }: { repairs: Insights["repairs"] }) {
  if (!repairs?.clusters?.length) return <p class="dim">No quota was changed by another writer.</p>;
  const shown = new Map<string, string[]>();
  for (const one of repairs.newest ?? []) shown.set(one.cluster, [...(shown.get(one.cluster) ?? []), `${absolute(one.at)}${one.fight ? " · fight" : ""}`]);
  return (
    <PlainTable
      label="Repairs of quota"
      titles={["Count", "Cluster", "Last", "In a fight"]}
      right={[0, 3]}
      rows={repairs.clusters.map((one) => [
        <span title={shown.get(one.cluster)?.join("\n")}>{one.count}</span>,
        <To path={`/clusters/${encodeURIComponent(one.cluster)}`}>{one.cluster}</To>,
        <Age time={one.last} suffix=" ago" />,
        <span class={one.fights ? "bad-text" : ""}>{one.fights}</span>,
      ])}
    />
  );
}

function Percentiles({ median = 0, p90 = 0, longest, label }: { median?: number | undefined; p90?: number | undefined; longest: number; label: string }) {
  return (
    <span class="usage">
      <Bar total={longest} label={`${label}: median ${seconds(median)}, 90th percentile ${seconds(p90)}`} parts={[{ value: median, tone: "used", name: "median" }, { value: Math.max(0, p90 - median), tone: "reserved", name: "p90" }]} />
    </span>
  );
}
