// SPDX-License-Identifier: Apache-2.0
// All jobs, live and archived: as a table, by cluster over time, or as a board of phases.
import { useMemo } from "preact/hooks";
import { useData, useRows } from "../../core/data";
import { useParam } from "../../core/router";
import { useSession } from "../../core/session";
import { serverNow, span } from "../../core/time";
import type { Job, Lane } from "../../core/types";
import { Timeline } from "../../charts/timeline";
import { Age, Empty, Phase, To } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { DataTable } from "../../ui/table";
import { compareHref, isLive, jobColumns, jobFields, jobQuery, jobQuestion, jobWords, kPhases, kRowFields, standing } from "./model";

// The page.
export function JobsPage() {
  const session = useSession();
  const source = useRows<Job>(`/jobs?fields=${kRowFields}`, "jobs");
  const [view, setView] = useParam("view", "table");
  const views: [string, string][] = [
    ["table", "Table"],
    ["timeline", "Timeline"],
    ["board", "Board"],
  ];
  const tools = (
    <span class="segments" role="group" aria-label="View">
      {views.map(([id, name]) => (
        <button type="button" aria-pressed={view === id} onClick={() => setView(id)} data-testid={`view-${id}`}>
          {name}
        </button>
      ))}
    </span>
  );
  const others = view === "timeline" ? (jobs: Job[]) => <JobsTimeline jobs={jobs} /> : view === "board" ? (jobs: Job[]) => <Board jobs={jobs} /> : undefined;
  return (
    <DataTable<Job>
      page="jobs"
      kind="job"
      label="Jobs"
      fill
      source={source}
      columns={jobColumns}
      fields={jobFields}
      words={jobWords}
      sort="-created"
      chips={{ key: "phase", values: kPhases, of: (job) => job.phase }}
      tools={tools}
      {...(others ? { before: others } : {})}
      rowClass={(job) => (job.archived ? "archived" : "")}
      empty={<Empty title="No jobs yet" hint="A job appears here as soon as it is submitted, and stays in the history after it ended." command="athanor submit -f examples/fournos/sample-job.yaml" />}
      actions={(jobs, clear) => {
        const live = jobs.filter((job) => !job.archived && isLive(job));
        const archived = jobs.filter((job) => job.archived);
        return (
          <>
            {!session.readOnly && (
              <>
                <button type="button" disabled={!live.length} onClick={() => confirm(jobQuestion("stop", live, clear))}>
                  Stop {live.length || ""}
                </button>
                <button type="button" disabled={!live.length} onClick={() => confirm(jobQuestion("terminate", live, clear))}>
                  Terminate {live.length || ""}
                </button>
                <button type="button" onClick={() => confirm(jobQuestion("rerun", jobs, clear))}>
                  Run again {jobs.length}
                </button>
                <button type="button" disabled={!archived.length} onClick={() => confirm(jobQuestion("delete", archived, clear))}>
                  Delete archived {archived.length || ""}
                </button>
              </>
            )}
            {jobs.length >= 2 && (
              <a class="button" href={compareHref(jobs)}>
                Compare {jobs.length}
              </a>
            )}
          </>
        );
      }}
    />
  );
}

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

function JobsTimeline({ jobs }: { jobs: Job[] }) {
  const [range] = useParam("range", "24h");
  const length = kRanges.find(([name]) => name === range)?.[1] ?? 864e5;
  // The end is rounded, so that the address of the request stays the same for a while.
  const to = Math.ceil(serverNow() / 6e4) * 6e4;
  const stable = useMemo(() => ({ from: to - length, to: to + length * 0.03 }), [range, Math.floor(to / 3e5)]);
  const path = `/fleet/timeline?from=${encodeURIComponent(new Date(stable.from).toISOString())}&to=${encodeURIComponent(new Date(stable.to).toISOString())}`;
  const { data, error } = useData<{ lanes?: Lane[] }>(path, ["jobs", "locks"]);
  const names = new Set(jobs.map((job) => `${job.ns ?? ""}/${job.name}`));
  const lanes = (data?.lanes ?? []).map((lane) => ({ ...lane, bars: (lane.bars ?? []).filter((bar) => names.has(`${bar.ns ?? ""}/${bar.job}`)) }));
  return (
    <section class="section" aria-label="Timeline">
      <div class="section-head">
        <h2>Jobs by cluster</h2>
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

function Legend() {
  return (
    <span class="legend">
      <span>
        <i class="reserved" />
        waits
      </span>
      <span>
        <i class="used" />
        runs
      </span>
      <span>
        <i class="good" />
        succeeded
      </span>
      <span>
        <i class="bad" />
        failed
      </span>
      <span>
        <i class="borrowed" />
        locked
      </span>
    </span>
  );
}

function Board({ jobs }: { jobs: Job[] }) {
  return (
    <div class="board" tabIndex={0} role="region" aria-label="Board of phases">
      {kPhases.map((phase) => {
        const here = jobs.filter((job) => job.phase === phase);
        return (
          <section class="board-column" aria-label={phase}>
            <h2>
              <Phase phase={phase} /> <span class="dim">{here.length}</span>
            </h2>
            {here.slice(0, 40).map((job) => (
              <article class="card" key={job.uid ?? job.name}>
                <To {...jobQuery(job)} class="name">
                  {job.name}
                </To>
                <p class="dim">
                  {[job.owner, job.cluster || job.requestedCluster, job.hardware?.text].filter(Boolean).join(" · ")} <Age time={job.created} />
                </p>
                {standing(job) && <p class="card-text">{standing(job)}</p>}
              </article>
            ))}
            {here.length > 40 && <p class="dim">and {here.length - 40} more in the table</p>}
          </section>
        );
      })}
    </div>
  );
}
