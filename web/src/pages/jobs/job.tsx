// SPDX-License-Identifier: Apache-2.0
// One job: what it does now, what is in its way, and everything that belongs to it.
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { route } from "../../core/api";
import { useData } from "../../core/data";
import { href, navigate, usePlace } from "../../core/router";
import { useSession } from "../../core/session";
import { absolute, seconds, useNow } from "../../core/time";
import type { Job, JobDetail } from "../../core/types";
import { Gantt } from "../../charts/gantt";
import { LogViewer } from "../../logs/viewer";
import { Age, Command, Facts, Left, Phase, Section, To } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { NotifyMe } from "../../ui/notify";
import { Conditions, Events, Pods, TreeTab, Trouble, YamlTab } from "../../ui/object";
import { Tabs, type Tab } from "../../ui/tabs";
import { ExplainPanel } from "../queue/explain";
import { ArtifactsTab } from "./artifacts";
import { isLive, JobLinks, jobQuestion, ran, waited } from "./model";
import { PipelineTab } from "./pipeline";

// The page.
export function JobPage({ args }: { args: string[] }) {
  const session = useSession();
  const { query } = usePlace();
  const name = args[0]!;
  const ns = query.get("ns") || session.jobsNamespace || session.namespaces?.[0] || "fournos-jobs";
  const uid = query.get("uid") ?? "";
  const base = `/jobs${route(ns, name)}`;
  const suffix = uid ? `?uid=${encodeURIComponent(uid)}` : "";
  const { data, error } = useData<JobDetail>(base + suffix, ["jobs", "locks"], { ns, name });
  if (!data) return error ? <Trouble error={error} back={["/jobs", "All jobs"]} /> : <p class="loading">Loading…</p>;
  const { job } = data;
  const live = isLive(job) && !job.archived;
  const kubectl = `kubectl get fournosjob ${name} -n ${ns} -o yaml`;
  const logHref = (pod: { name: string }, container: string) => href(`/jobs/${encodeURIComponent(name)}`, { ns, uid, tab: "logs", pod: pod.name, container });
  const tabs: Tab[] = [
    { id: "overview", name: "Overview", body: () => <Overview detail={data} ns={ns} /> },
    { id: "pipeline", name: "Pipeline", body: () => <PipelineTab path={`${base}/pipeline${suffix}`} logs={(pod, container) => logHref({ name: pod }, container)} /> },
    { id: "queue", name: "Queue", body: () => <ExplainPanel path={`${base}/explain${suffix}`} /> },
    { id: "pods", name: "Pods", count: data.pods?.length, body: () => <Pods pods={data.pods} logs={logHref} /> },
    { id: "logs", name: "Logs", body: () => <JobLogs base={base} suffix={suffix} ns={ns} name={name} live={live} /> },
    { id: "artifacts", name: "Artifacts", body: () => <ArtifactsTab ns={ns} name={name} detail={data} /> },
    { id: "yaml", name: "YAML", body: () => <YamlTab object={data.object} command={kubectl} /> },
    { id: "events", name: "Events", count: data.description?.events?.length, body: () => <Events events={data.description?.events} /> },
    { id: "related", name: "Related", body: () => <TreeTab path={`${base}/tree${suffix}`} topics={["jobs"]} related={data.related} /> },
  ];
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/jobs">Jobs</To> / {ns} /
        </span>
        <b class="object-name">{name}</b>
        <Phase phase={job.phase} />
        {job.archived && <span class="badge idle">archived</span>}
        {Object.keys(job.links ?? {}).length > 0 && <JobLinks job={job} />}
        <span class="grow" />
        {!session.readOnly && <JobActions detail={data} />}
      </div>
      <Trouble error={error} back={["/jobs", "All jobs"]} />
      <Banner detail={data} />
      <NotifyStart job={job} />
      <Tabs tabs={tabs} label="Parts of the job" />
    </>
  );
}

// What matters first: how it ended, or what it waits for.
function Banner({ detail }: { detail: JobDetail }) {
  const { job, lock } = detail;
  const tone = job.phase === "Failed" ? "bad" : job.phase === "Succeeded" ? "good" : "warn";
  if (!job.message && !lock) return null;
  if (job.phase === "Running" && !lock) return null;
  return (
    <p class={`notice ${tone}`} data-testid="job-banner">
      {job.message}
      {lock && (
        <>
          {job.message && " · "}
          <To path={`/clusters/${encodeURIComponent(lock.cluster)}`}>{lock.cluster}</To> is locked{lock.holder && ` by ${lock.holder}`} (<Left until={lock.expires} />)
        </>
      )}
    </p>
  );
}

// Offers a notification for a job that waits; it is due when the job starts.
function NotifyStart({ job }: { job: Job }) {
  const waited = useRef(false);
  const waits = ["Pending", "Resolving"].includes(job.phase) && !job.archived;
  if (waits) waited.current = true;
  const due = useMemo(() => (waited.current && !waits ? [{ key: `${job.uid}`, title: `${job.name} is ${job.phase}`, body: job.cluster ?? "" }] : []), [job.phase]);
  return waited.current ? <NotifyMe pref="jobs" label="Notify me when it no longer waits, while this page is open" due={due} /> : null;
}

function JobActions({ detail }: { detail: JobDetail }) {
  const { job, actions = {} } = detail;
  const done = () => undefined;
  const allowed = (name: string) => actions[name] ?? { allowed: true };
  const action = (name: "stop" | "terminate" | "rerun" | "delete", text: string) => {
    const { allowed: may, why } = allowed(name);
    return (
      <button type="button" aria-disabled={!may} title={may ? undefined : why} onClick={() => may && confirm(jobQuestion(name, [job], name === "delete" ? () => navigate(href("/jobs")) : done))} data-testid={`action-${name}`}>
        {text}
      </button>
    );
  };
  return (
    <span class="buttons">
      {action("stop", "Stop")}
      {action("terminate", "Terminate")}
      {action("rerun", "Run again")}
      <a class="button" href={href("/submit", { from: `${job.ns ?? ""}/${job.name}`, uid: job.archived ? job.uid : undefined })}>
        Run with changes
      </a>
      {action("delete", "Delete")}
    </span>
  );
}

function Overview({ detail, ns }: { detail: JobDetail; ns: string }) {
  const { job, phases = [], archive } = detail;
  const now = useNow();
  const forge = forgeOf(detail.object);
  const facts: [string, ComponentChildren][] = [
    ["Display name", job.displayName],
    ["Owner", job.owner],
    ["Project", job.project],
    ["Preset", job.preset],
    ["Pipeline", job.pipeline],
    ["Cluster", job.cluster ? <To path={`/clusters/${encodeURIComponent(job.cluster)}`}>{job.cluster}</To> : job.requestedCluster],
    ["Hardware", job.hardware?.text],
    ["Slots", job.slots],
    ["Exclusive", job.exclusive ? "yes" : "no"],
    ["Priority", job.priority],
    ["In queue", job.queuePosition ? `#${job.queuePosition}` : ""],
    ["Step", job.step],
    ["Created", job.created && <span title={absolute(job.created)}><Age time={job.created} suffix=" ago" /></span>],
    ["Waited", seconds(waited(job, now))],
    ["Ran", job.started || job.runSeconds ? seconds(ran(job, now)) : ""],
    ["Trigger", job.schedule ? <To path={`/schedules/${encodeURIComponent(job.schedule)}/runs`}>{job.schedule}</To> : job.trigger],
    ["Arguments", forge.args],
    ["Overrides", forge.overrides],
    ["Shutdown", job.shutdown],
    ["Labels", Object.entries(job.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ")],
  ];
  const rows = phases.map((one, i) => ({ name: one.phase, state: one.phase, from: one.from, to: one.to ?? phases[i + 1]?.from ?? job.completed }));
  return (
    <>
      <div class="columns">
        <Section title="Facts">
          <Facts facts={facts} />
        </Section>
        <Section title="Phases">{rows.length ? <Gantt rows={rows} label="Phases" /> : <p class="dim">No history of phases.</p>}</Section>
      </div>
      {detail.description?.why && (
        <Section title="Why">
          <pre class="block">{detail.description.why}</pre>
        </Section>
      )}
      <Section title="Conditions">
        <Conditions conditions={detail.conditions} />
      </Section>
      {(archive?.entries?.length ?? 0) > 1 && (
        <Section title="Jobs of this name before">
          <ul class="plain">
            {archive!.entries!.map((one) => (
              <li key={one.uid}>
                <To path={`/jobs/${encodeURIComponent(job.name)}`} query={{ ns, uid: one.uid }}>
                  {absolute(one.created)}
                </To>{" "}
                {one.phase && <Phase phase={one.phase} />}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Command text={`athanor describe jobs/${job.name} -n ${ns}`} />
    </>
  );
}

function forgeOf(object: JobDetail["object"]): { args: string; overrides: ComponentChildren } {
  const spec = (object?.["spec"] ?? {}) as { executionEngine?: { forge?: { args?: unknown[]; configOverrides?: Record<string, unknown> } } };
  const forge = spec.executionEngine?.forge ?? {};
  const overrides = Object.entries(forge.configOverrides ?? {});
  return {
    args: (forge.args ?? []).map(String).join(", "),
    overrides: overrides.length ? (
      <ul class="plain">
        {overrides.map(([key, value]) => (
          <li>
            <code>
              {key}: {typeof value === "string" ? value : JSON.stringify(value)}
            </code>
          </li>
        ))}
      </ul>
    ) : (
      ""
    ),
  };
}

function JobLogs({ base, suffix, ns, name, live }: { base: string; suffix: string; ns: string; name: string; live: boolean }) {
  const { query } = usePlace();
  const pod = query.get("pod");
  const container = query.get("container");
  if (pod && container) {
    return (
      <>
        <p>
          Container <b>{container}</b> of pod <b>{pod}</b> ·{" "}
          <To path={`/jobs/${encodeURIComponent(name)}`} query={{ ns, tab: "logs" }}>
            the whole job's log
          </To>
        </p>
        <LogViewer path={`/logs${route(ns, pod, container)}`} follow={live} name={`${pod}-${container}`} />
      </>
    );
  }
  return <LogViewer path={`${base}/logs${suffix}`} follow={live} name={name} />;
}
