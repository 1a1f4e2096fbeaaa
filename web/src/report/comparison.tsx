// SPDX-License-Identifier: Apache-2.0
// Reports of the simulator side by side: on the page "What if", and in the file of `athanor simulate --html`.
import { useMemo } from "preact/hooks";
import { Plot } from "../charts/plot";
import { seconds } from "../core/time";
import { Bar, Facts, Section } from "../ui/basics";
import { PlainTable } from "../ui/table";

export interface Waiting {
  jobs: number;
  meanSeconds: number;
  p50Seconds: number;
  p90Seconds: number;
  p95Seconds: number;
  p99Seconds: number;
  maxSeconds: number;
}

// One report, as `athanor simulate -o json` prints it.
export interface Report {
  fleet: string;
  jobs: number;
  succeeded: number;
  failed: number;
  evictions: number;
  hours: number;
  waiting: { all: Waiting; byOwner: Record<string, Waiting>; byGpuType: Record<string, Waiting> };
  utilisation: Record<string, { gpus: number; mean: number; max: number }>;
  overTime: { hours: number; queued: number; utilisation: Record<string, number> }[];
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

// Formats how much a time is longer or shorter than another.
export function change(before: number | null | undefined, after: number | null | undefined): string {
  if (before === null || before === undefined || after === null || after === undefined) return "–";
  const difference = Math.round(after) - Math.round(before);
  return difference === 0 ? "same" : `${seconds(Math.abs(difference))} ${difference < 0 ? "less" : "more"}`;
}

// Returns the names of groups in any of the reports, in order.
function namesOf(groups: Record<string, unknown>[]): string[] {
  return [...new Set(groups.flatMap((one) => Object.keys(one)))].sort();
}

// The figures, charts and tables of one or two reports.
export function Comparison({ reports }: { reports: Report[] }) {
  const types = useMemo(() => namesOf(reports.map((one) => one.utilisation)), [reports]);
  return (
    <>
      <div class="columns">
        {reports.map((one) => (
          <Figures key={one.fleet} report={one} types={types} />
        ))}
      </div>
      <Section title="Jobs that wait" note="average of each interval">
        <Courses reports={reports} label="Jobs that wait" value={(one) => one.queued} />
      </Section>
      {types.map((type) => (
        <Section key={type} title={`GPUs in use: ${type}`} note="per cent of the fleet's GPUs of this type">
          <Courses reports={reports} label={`GPUs in use: ${type}`} unit=" %" value={(one) => (one.utilisation[type] === undefined ? null : 100 * one.utilisation[type]!)} />
        </Section>
      ))}
      <Waits title="Waiting by owner" by="Owner" reports={reports} groups={(one) => one.waiting.byOwner} />
      <Waits title="Waiting by type of GPU" by="GPU" reports={reports} groups={(one) => one.waiting.byGpuType} />
    </>
  );
}

function Figures({ report, types }: { report: Report; types: string[] }) {
  const { all } = report.waiting;
  return (
    <Section title={report.fleet} testid="report-figures">
      <Facts
        names="long"
        facts={[
          ["Jobs succeeded", `${report.succeeded} of ${report.jobs}`],
          ["Evictions", report.evictions > 0 && String(report.evictions)],
          ["Median wait", seconds(all.p50Seconds)],
          ["Wait, 95th percentile", seconds(all.p95Seconds)],
          ["First job to last end", seconds(report.hours * 3600)],
          ...types.map((type): [string, string | false] => {
            const use = report.utilisation[type];
            return [`${type} in use, mean`, use !== undefined && `${percent(use.mean)} of ${use.gpus}`];
          }),
        ]}
      />
    </Section>
  );
}

// Lines of all reports over the time since the start. Times differ between reports: each has its own places.
function Courses({ reports, label, unit = "", value }: { reports: Report[]; label: string; unit?: string; value: (one: Report["overTime"][number]) => number | null }) {
  const { times, lines } = useMemo(() => {
    const hours = [...new Set(reports.flatMap((one) => one.overTime.map((stretch) => stretch.hours)))].sort((a, b) => a - b);
    const all = reports.map((one) => {
      const known = new Map(one.overTime.map((stretch) => [stretch.hours, value(stretch)]));
      return { name: one.fleet, values: hours.map((hour) => known.get(hour) ?? null) };
    });
    return { times: hours.map((hour) => hour * 3600), lines: all };
  }, [reports]);
  return <Plot label={label} times={times} lines={lines} unit={unit} elapsed />;
}

function Waits({ title, by, reports, groups }: { title: string; by: string; reports: Report[]; groups: (one: Report) => Record<string, Waiting> }) {
  const names = namesOf(reports.map(groups));
  const longest = Math.max(60, ...reports.flatMap((one) => Object.values(groups(one)).map((waiting) => waiting.p95Seconds)));
  const row = (name: string, report: Report, waiting: Waiting) => [
    name,
    report.fleet,
    waiting.jobs,
    ...[waiting.meanSeconds, waiting.p50Seconds, waiting.p90Seconds, waiting.p95Seconds, waiting.p99Seconds, waiting.maxSeconds].map((one) => seconds(one)),
    <span class="usage">
      <Bar
        total={longest}
        label={`${name}, ${report.fleet}: median ${seconds(waiting.p50Seconds)}, 95th percentile ${seconds(waiting.p95Seconds)}`}
        parts={[
          { value: waiting.p50Seconds, tone: "used", name: "median" },
          { value: Math.max(0, waiting.p95Seconds - waiting.p50Seconds), tone: "reserved", name: "p95" },
        ]}
      />
    </span>,
  ];
  return (
    <Section title={title} note="bar: median, then 95th percentile">
      <PlainTable
        label={title}
        titles={[by, "Fleet", "Jobs", "Mean", "p50", "p90", "p95", "p99", "Longest", ""]}
        right={[2, 3, 4, 5, 6, 7, 8]}
        rows={[
          ...names.flatMap((name) => reports.filter((one) => groups(one)[name]).map((one) => row(name, one, groups(one)[name]!))),
          ...reports.map((one) => row("all", one, one.waiting.all)),
        ]}
      />
    </Section>
  );
}
