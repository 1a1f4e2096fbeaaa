// SPDX-License-Identifier: Apache-2.0
// The first page: problems on top, then one card for each system.
import type { ComponentChildren } from "preact";
import { useData } from "../../core/data";
import { featureOf, useSession } from "../../core/session";
import { seconds } from "../../core/time";
import type { Problem } from "../../core/types";
import { Spark } from "../../charts/spark";
import { Age, Badge, Bar, Empty, Partial, Section, To } from "../../ui/basics";
import { ObjectLink } from "../../ui/object";
import { PlainTable } from "../../ui/table";
import { jobQuery } from "../jobs/model";

interface Overview {
  jobs?: { phases?: Record<string, number>; sparkline?: { at: string; finished: number; failed: number }[] };
  queue?: { waiting: number; oldestSeconds?: number; waitMedianSeconds?: number; waitP90Seconds?: number };
  gpus?: { type: string; total: number; used: number; free: number }[];
  clusters?: Record<string, number>;
  locks?: { held: number; acquiring: number; expiringSoon: number };
  mig?: { used: number; total: number; unplaceable: number };
  numa?: { nodes: number; over90: number };
  appwrappers?: Record<string, number>;
  failures?: { message: string; count: number; last?: string; job?: { ns?: string; name: string; uid?: string; archived?: boolean } }[];
  partial?: boolean;
}

// The page.
export function OverviewPage() {
  const session = useSession();
  const { data, error } = useData<Overview>("/overview", ["jobs", "queue", "clusters", "locks", "problems"]);
  const problems = useData<{ items?: Problem[] }>("/problems", ["problems"]);
  const has = (name: string) => featureOf(session, name).present;
  const items = problems.data?.items ?? [];
  if (!data) return error ? <p class="notice bad">✕ {error.message}</p> : <p class="loading">Loading…</p>;
  return (
    <>
      <Partial of={data} />
      <Section title="Problems" note={items.length ? `${items.length}, the worst first` : ""} testid="problems">
        {items.length === 0 ? (
          <p class="good-text">✓ Nothing needs attention.</p>
        ) : (
          <PlainTable
            label="Problems"
            titles={["", "Object", "Problem", "Since", "What to do"]}
            rows={items.map((one) => [<Badge state={one.severity === "error" ? "Error" : "Warning"} />, one.object && <ObjectLink object={one.object} />, one.text, <Age time={one.since} />, one.action && <code>{one.action}</code>])}
          />
        )}
      </Section>
      <div class="cards">
        <Card title="Jobs" path="/jobs">
          <Counts counts={data.jobs?.phases} path="/jobs" filter="phase" more={{ archived: "false" }} />
          {data.jobs?.sparkline && <Spark values={data.jobs.sparkline.map((one) => ({ value: one.finished + one.failed, bad: one.failed }))} label={`Jobs ended per hour, last 24 h: ${sum(data.jobs.sparkline.map((one) => one.finished + one.failed))}, of them ${sum(data.jobs.sparkline.map((one) => one.failed))} failed`} />}
        </Card>
        {has("queue") && (
          <Card title="Queue" path="/queue">
            <Big value={data.queue?.waiting ?? 0} name="waiting" />
            <p class="dim">
              oldest {seconds(data.queue?.oldestSeconds)} · wait last 24 h: median {seconds(data.queue?.waitMedianSeconds)}, p90 {seconds(data.queue?.waitP90Seconds)}
            </p>
          </Card>
        )}
        <Card title="GPUs" path="/clusters">
          {(data.gpus ?? []).map((one) => (
            <div class="quota" key={one.type}>
              <span>{one.type}</span>
              <span class="right">
                {one.used}/{one.total} <span class="dim">{one.free} free</span>
              </span>
              <Bar total={one.total} label={`${one.type}: ${one.used} of ${one.total} used, ${one.free} free`} parts={[{ value: one.used, tone: "used", name: "used" }, { value: Math.max(0, one.total - one.used - one.free), tone: "reserved", name: "reserved" }]} />
            </div>
          ))}
          {!data.gpus?.length && <p class="dim">No GPUs known.</p>}
        </Card>
        {has("clusters") && (
          <Card title="Clusters" path="/clusters">
            <Counts counts={data.clusters} path="/clusters" filter="state" />
            <p class="dim">
              <To path="/locks">
                {data.locks?.held ?? 0} {data.locks?.held === 1 ? "lock" : "locks"} held, {data.locks?.acquiring ?? 0} acquiring
              </To>
              {data.locks?.expiringSoon ? <span class="warn-text"> · {data.locks.expiringSoon} {data.locks.expiringSoon === 1 ? "ends" : "end"} within an hour</span> : null}
            </p>
          </Card>
        )}
        {has("mig") && data.mig && (
          <Card title="Slices" path="/mig">
            <Big value={data.mig.used} name={`of ${data.mig.total} slots used`} />
            <Bar total={data.mig.total} label={`${data.mig.used} of ${data.mig.total} slots used`} parts={[{ value: data.mig.used, tone: "used", name: "used" }]} />
            {data.mig.unplaceable > 0 && <p class="warn-text">{data.mig.unplaceable} {data.mig.unplaceable === 1 ? "request fits" : "requests fit"} nowhere</p>}
          </Card>
        )}
        {has("numa") && data.numa && (
          <Card title="Zones" path="/numa">
            <Big value={data.numa.over90} name={`of ${data.numa.nodes} nodes have a zone over 90\u00a0%`} tone={data.numa.over90 ? "warn-text" : ""} />
          </Card>
        )}
        {has("appwrappers") && data.appwrappers && (
          <Card title="AppWrappers" path="/appwrappers">
            <Counts counts={data.appwrappers} path="/appwrappers" filter="phase" />
          </Card>
        )}
      </div>
      <Section title="Failures of the last 24 hours">
        {data.failures?.length ? (
          <PlainTable label="Failures" titles={["Count", "Message", "Last", "Job"]} right={[0]} rows={data.failures.map((one) => [one.count, one.message, <Age time={one.last} suffix=" ago" />, one.job && <To {...jobQuery(one.job)}>{one.job.name}</To>])} />
        ) : Object.keys(data.jobs?.phases ?? {}).length ? (
          <p class="good-text">✓ No job failed.</p>
        ) : (
          <Empty title="No jobs yet" command="athanor submit -f examples/fournos/sample-job.yaml" />
        )}
      </Section>
    </>
  );
}

function sum(values: number[]): number {
  return values.reduce((total, one) => total + one, 0);
}

function Card({ title, path, children }: { title: string; path: string; children: ComponentChildren }) {
  return (
    <section class="section card-box" aria-label={title}>
      <h2>
        <To path={path}>{title}</To>
      </h2>
      {children}
    </section>
  );
}

function Big({ value, name, tone = "" }: { value: number; name: string; tone?: string }) {
  return (
    <p class="big">
      <b class={tone}>{value}</b> {name}
    </p>
  );
}

function Counts({ counts, path, filter, more = {} }: { counts: Record<string, number> | undefined; path: string; filter: string; more?: Record<string, string> }) {
  const entries = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  if (!entries.length) return <p class="dim">none</p>;
  const extra = Object.entries(more).map(([key, value]) => ` ${key}:${value}`).join("");
  return (
    <p class="counts">
      {entries.map(([state, count]) => (
        <To path={path} query={{ filter: `${filter}:${state}${extra}` }} key={state}>
          <Badge state={state} /> <b>{count}</b>
        </To>
      ))}
    </p>
  );
}
