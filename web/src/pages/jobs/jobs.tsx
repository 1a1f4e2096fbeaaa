// SPDX-License-Identifier: Apache-2.0
// All jobs, live and archived: as a table, by cluster over time, or as a board of phases.
import { useRows } from "../../core/data";
import { useParam } from "../../core/router";
import { useSession } from "../../core/session";
import type { Job } from "../../core/types";
import { Age, Empty, Phase, To } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { DataTable } from "../../ui/table";
import { compareHref, isLive, jobColumns, jobFields, jobQuery, jobQuestion, jobWords, kPhases, kRowFields, standing } from "./model";
import { FleetTimeline } from "./timeline";

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
  const others = view === "timeline" ? (jobs: Job[]) => <FleetTimeline title="Jobs by cluster" jobs={jobs} /> : view === "board" ? (jobs: Job[]) => <Board jobs={jobs} /> : undefined;
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
