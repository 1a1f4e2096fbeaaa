// SPDX-License-Identifier: Apache-2.0
// Two or more jobs side by side: differences of their specifications, lengths of their tasks and steps, and their results.
import { useData } from "../../core/data";
import { usePlace } from "../../core/router";
import { seconds } from "../../core/time";
import type { Job } from "../../core/types";
import { Empty, Phase, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { jobQuery } from "./model";

interface Comparison {
  jobs?: Job[];
  spec?: { path: string; values: (string | null)[] }[];
  tasks?: { name: string; seconds: (number | null)[] }[];
  results?: { name: string; values: (string | null)[]; differencePercent?: number }[];
}

// The page.
export function ComparePage() {
  const { query } = usePlace();
  const names = query.getAll("job");
  const path = names.length >= 2 ? `/jobs/compare?${names.map((name) => `job=${encodeURIComponent(name)}`).join("&")}` : "";
  const { data, error, loading } = useData<Comparison>(path);
  if (names.length < 2) return <Empty title="Nothing to compare" hint="Choose two or more jobs in the list, then Compare." />;
  if (error) return <p class="notice bad">✕ {error.message}</p>;
  if (!data) return loading ? <p class="loading">Loading…</p> : null;
  const jobs = data.jobs ?? [];
  const titles = jobs.map((job) => job.name);
  const longest = Math.max(1, ...(data.tasks ?? []).flatMap((task) => task.seconds.map((one) => one ?? 0)));
  return (
    <>
      <Section title="Jobs">
        <PlainTable
          label="Jobs"
          titles={["Job", "Phase", "Owner", "Cluster", "Hardware", "Wait", "Run"]}
          rows={jobs.map((job) => [<To {...jobQuery(job)}>{job.name}</To>, <Phase phase={job.phase} />, job.owner, job.cluster, job.hardware?.text, seconds(job.waitSeconds), seconds(job.runSeconds)])}
        />
      </Section>
      <Section title="Differences of the specification">
        {data.spec?.length ? <PlainTable label="Differences" titles={["Field", ...titles]} rows={data.spec.map((one) => [<code>{one.path}</code>, ...one.values.map((value) => (value === null ? <span class="dim">absent</span> : <code>{value}</code>))])} /> : <p class="dim">The specifications are equal.</p>}
      </Section>
      <Section title="Tasks and steps">
        {(data.tasks ?? []).map((task) => (
          <Bars key={task.name} name={task.name} values={task.seconds} texts={task.seconds.map(seconds)} titles={titles} most={longest} />
        ))}
      </Section>
      <Section title="Results">
        {(data.results ?? []).filter((one) => numbersOf(one.values).some((value) => value !== null)).map((one) => {
          const numbers = numbersOf(one.values);
          return <Bars key={one.name} name={one.name} values={numbers} texts={one.values.map((value) => value ?? "absent")} titles={titles} most={Math.max(...numbers.map((value) => Math.abs(value ?? 0)), 1e-12)} />;
        })}
        {data.results?.length ? (
          <PlainTable
            label="Results"
            titles={["Result", ...titles, "Difference"]}
            rows={data.results.map((one) => [one.name, ...one.values.map((value) => value ?? <span class="dim">absent</span>), one.differencePercent === undefined ? "" : `${one.differencePercent > 0 ? "+" : ""}${one.differencePercent.toFixed(1)} %`])}
          />
        ) : (
          <p class="dim">These runs have no results in common.</p>
        )}
      </Section>
    </>
  );
}

// Returns the values that are numbers; others are null.
export function numbersOf(values: (string | null)[]): (number | null)[] {
  return values.map((value) => (value !== null && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : null));
}

// One bar for each job.
function Bars({ name, values, texts, titles, most }: { name: string; values: (number | null)[]; texts: string[]; titles: string[]; most: number }) {
  return (
    <div class="compare-task">
      <span>{name}</span>
      <div>
        {values.map((value, i) => (
          <div class="compare-bar" title={titles[i]} key={i}>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class={`series-${i % 5}`} width={(100 * Math.abs(value ?? 0)) / most} height="10" />
            </svg>
            <span class="nowrap">
              {texts[i]} <span class="dim">{titles[i]}</span>
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}
