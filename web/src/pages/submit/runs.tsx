// SPDX-License-Identifier: Apache-2.0
// The runs of one schedule; failures can be compared with the last success.
import { route } from "../../core/api";
import { useData, useRows } from "../../core/data";
import { absolute } from "../../core/time";
import type { Job } from "../../core/types";
import { Badge, Empty, Section, To } from "../../ui/basics";
import { DataTable, PlainTable, type Column } from "../../ui/table";
import { compareHref, jobColumns, jobFields, jobWords, kPhases } from "../jobs/model";

interface AbsentStarts {
  items: { at: string; kind: "skipped" | "missed"; reason: string; message: string }[];
  total: number;
  since?: string;
  unavailable?: string[];
}

// Starts that led to no job.
function Absent({ name }: { name: string }) {
  const { data, error } = useData<AbsentStarts>(`/schedules${route(name)}/absent`, ["schedules", "jobs"]);
  if (error) return <p class="notice bad">✕ {error.message}</p>;
  if (!data?.total && !data?.unavailable?.length) return null;
  return (
    <Section title="Skipped and missed starts" note={data.total > data.items.length ? `the newest ${data.items.length} of ${data.total}` : `${data.total} since ${absolute(data.since)}`} testid="absent-starts">
      {data.unavailable?.map((text) => <p class="notice bad">✕ Reasons may be missing: {text}</p>)}
      <PlainTable label="Skipped and missed starts" titles={["State", "Due", "Reason", "Details"]} rows={data.items.map((one) => [<Badge state={one.kind} tone={one.kind === "missed" ? "bad" : "warn"} />, absolute(one.at), one.reason, one.message])} />
    </Section>
  );
}

// The page.
export function RunsPage({ args }: { args: string[] }) {
  const name = args[0]!;
  const source = useRows<Job>(`/schedules${route(name)}/runs`, "");
  const lastSuccess = [...source.rows].filter((job) => job.phase === "Succeeded").sort((a, b) => (b.created ?? "").localeCompare(a.created ?? ""))[0];
  const compare: Column<Job> = { id: "compare", title: "Compare", width: 150, cell: (job) => (job.phase === "Failed" && lastSuccess ? <a href={compareHref([lastSuccess, job])}>with the last success</a> : <span class="dim">–</span>) };
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/schedules">Schedules</To> /
        </span>
        <b class="object-name">{name}</b>
      </div>
      <Absent name={name} />
      <DataTable<Job> page="runs" kind="job" label={`Runs of ${name}`} fill source={source} columns={[...jobColumns, compare]} fields={jobFields} words={jobWords} sort="-created" chips={{ key: "phase", values: kPhases, of: (job) => job.phase }} empty={<Empty title="It has not run yet" hint="Run it now on the page of schedules, or wait for its time." />} />
    </>
  );
}
