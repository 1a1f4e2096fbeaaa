// SPDX-License-Identifier: Apache-2.0
// The runs of one schedule; failures can be compared with the last success.
import { route } from "../../core/api";
import { useRows } from "../../core/data";
import type { Job } from "../../core/types";
import { Empty, To } from "../../ui/basics";
import { DataTable, type Column } from "../../ui/table";
import { compareHref, jobColumns, jobFields, jobWords, kPhases } from "../jobs/model";

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
      <DataTable<Job> page="runs" kind="job" label={`Runs of ${name}`} fill source={source} columns={[...jobColumns, compare]} fields={jobFields} words={jobWords} sort="-created" chips={{ key: "phase", values: kPhases, of: (job) => job.phase }} empty={<Empty title="It has not run yet" hint="Run it now on the page of schedules, or wait for its time." />} />
    </>
  );
}
