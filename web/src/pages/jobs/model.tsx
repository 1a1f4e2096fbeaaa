// SPDX-License-Identifier: Apache-2.0
// What tables and pages show of a job.
import { route, act } from "../../core/api";
import type { Fields } from "../../core/filter";
import { href } from "../../core/router";
import { millis, seconds, serverNow, span, useNow } from "../../core/time";
import type { Job } from "../../core/types";
import { Age, Away, Phase, To } from "../../ui/basics";
import type { Question } from "../../ui/dialog";
import type { Column } from "../../ui/table";

export const kPhases = ["Resolving", "Pending", "Admitted", "Running", "Stopping", "Succeeded", "Failed", "Stopped"];

// Members of a row that the list asks the server for.
export const kRowFields = "phase,archived,displayName,project,preset,owner,cluster,requestedCluster,hardware,exclusive,priority,pipeline,queuePosition,step,stepSince,progress,message,created,started,completed,waitSeconds,runSeconds,trigger,schedule,labels,links,pullRequest";

// Returns true while a job has not ended.
export function isLive(job: Job): boolean {
  return !["Succeeded", "Failed", "Stopped"].includes(job.phase);
}

// Returns the address of a job's page.
export function jobQuery(job: { ns?: string; name: string; uid?: string; archived?: boolean }): { path: string; query: Record<string, string | undefined> } {
  return { path: `/jobs/${encodeURIComponent(job.name)}`, query: { ns: job.ns, uid: job.archived ? job.uid : undefined } };
}

// Returns the seconds that a job waited or ran, counting on while it does.
export function waited(job: Job, now: number): number | undefined {
  if (job.started && job.created) return (millis(job.started) - millis(job.created)) / 1000;
  if (job.created && isLive(job)) return (now - millis(job.created)) / 1000;
  return job.waitSeconds;
}
export function ran(job: Job, now: number): number | undefined {
  if (!job.started) return job.runSeconds;
  return ((job.completed ? millis(job.completed) : isLive(job) ? now : NaN) - millis(job.started)) / 1000 || job.runSeconds;
}

// Returns what label:key and label:key=value are compared with.
function labelTexts(labels: Record<string, string> | undefined): string[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [key, `${key}=${value}`]);
}

export const jobFields: Fields<Job> = {
  phase: { text: (job) => job.phase },
  name: { text: (job) => job.name },
  ns: { text: (job) => job.ns },
  owner: { text: (job) => job.owner },
  cluster: { text: (job) => [job.cluster ?? "", job.requestedCluster ?? ""] },
  project: { text: (job) => job.project },
  preset: { text: (job) => job.preset },
  pipeline: { text: (job) => job.pipeline },
  gpu: { text: (job) => job.hardware?.gpuType },
  priority: { text: (job) => job.priority },
  trigger: { text: (job) => job.trigger },
  schedule: { text: (job) => job.schedule },
  archived: { text: (job) => String(job.archived) },
  exclusive: { text: (job) => String(!!job.exclusive) },
  label: { text: (job) => labelTexts(job.labels) },
  gpus: { number: (job) => job.hardware?.gpuCount },
  age: { span: (job, now) => now - millis(job.created) },
};

// Returns the texts of a job that free words are searched in.
export function jobWords(job: Job): (string | undefined)[] {
  return [job.name, job.displayName, job.project, job.preset, job.owner, job.cluster, job.requestedCluster, job.pipeline, job.message, job.step, job.hardware?.text, job.pullRequest];
}

function Ticking({ value, live }: { value: (now: number) => number | undefined; live: boolean }) {
  return live ? <LiveTicking value={value} /> : <>{seconds(value(serverNow()))}</>;
}
function LiveTicking({ value }: { value: (now: number) => number | undefined }) {
  return <>{seconds(value(useNow()))}</>;
}

// Says where a job stands: its place in the queue, its running step, or its message.
export function standing(job: Job): string {
  if (job.queuePosition) return `#${job.queuePosition} in queue${job.message ? ` · ${job.message}` : ""}`;
  if (job.step && isLive(job)) return `${job.step}${job.progress?.total ? ` (${job.progress.done}/${job.progress.total})` : ""}`;
  return job.message ?? "";
}

function clusterText(job: Job): string {
  const { cluster = "", requestedCluster = "" } = job;
  if (requestedCluster && cluster && requestedCluster !== cluster) return `${requestedCluster} → ${cluster}`;
  return cluster || (requestedCluster ? `${requestedCluster} → –` : "any");
}

export const jobColumns: Column<Job>[] = [
  { id: "phase", title: "Phase", width: 110, sort: (job) => kPhases.indexOf(job.phase), text: (job) => job.phase, cell: (job) => <Phase phase={job.phase} /> },
  {
    id: "name",
    title: "Job",
    width: 190,
    grow: true,
    sort: (job) => job.name,
    text: (job) => job.name,
    cell: (job) => (
      <>
        <To {...jobQuery(job)} class="name">
          {job.name}
        </To>
        {job.archived && <span class="dim"> archived</span>}
      </>
    ),
  },
  { id: "displayName", title: "Display name", width: 150, optional: true, sort: (job) => job.displayName, text: (job) => job.displayName ?? "" },
  { id: "project", title: "Project", width: 90, sort: (job) => job.project, text: (job) => job.project ?? "" },
  { id: "preset", title: "Preset", width: 92, optional: true, sort: (job) => job.preset, text: (job) => job.preset ?? "" },
  { id: "owner", title: "Owner", width: 80, sort: (job) => job.owner, text: (job) => job.owner ?? "" },
  { id: "cluster", title: "Cluster", width: 104, sort: (job) => job.cluster || job.requestedCluster, text: clusterText },
  { id: "hardware", title: "Hardware", width: 76, sort: (job) => job.hardware?.gpuCount, text: (job) => job.hardware?.text ?? (job.hardware?.gpuCount ? `${job.hardware.gpuCount}× ${job.hardware.gpuType ?? "gpu"}` : "") },
  { id: "exclusive", title: "Exclusive", width: 76, optional: true, sort: (job) => Number(!!job.exclusive), text: (job) => (job.exclusive ? "yes" : "no") },
  { id: "priority", title: "Priority", width: 84, optional: true, sort: (job) => job.priority, text: (job) => job.priority ?? "" },
  { id: "pipeline", title: "Pipeline", width: 110, optional: true, sort: (job) => job.pipeline, text: (job) => job.pipeline ?? "" },
  { id: "standing", title: "Queue position or step", width: 160, grow: true, sort: (job) => job.queuePosition, text: standing },
  { id: "wait", title: "Wait", width: 66, right: true, sort: (job) => waited(job, 0) ?? job.waitSeconds, cell: (job) => <Ticking value={(now) => waited(job, now)} live={isLive(job) && !job.started} /> },
  { id: "run", title: "Run", width: 68, right: true, sort: (job) => ran(job, serverNow()), cell: (job) => (job.started || job.runSeconds ? <Ticking value={(now) => ran(job, now)} live={isLive(job)} /> : <span class="dim">–</span>) },
  { id: "created", title: "Age", width: 68, right: true, sort: (job) => millis(job.created), cell: (job) => <Age time={job.created} /> },
  { id: "trigger", title: "Trigger", width: 88, optional: true, sort: (job) => job.trigger, text: (job) => job.trigger ?? "" },
  { id: "links", title: "Links", width: 78, cell: (job) => <JobLinks job={job} /> },
];

const kLinkNames: Record<string, string> = { mlflow: "MLflow", pullRequest: "PR", dashboard: "run" };

// The links of a job to other sites.
export function JobLinks({ job }: { job: Job }) {
  const links = Object.entries(job.links ?? {});
  if (!links.length) return <span class="dim">–</span>;
  return (
    <span class="links">
      {links.map(([name, url]) => (
        <Away key={name} url={url}>
          {name === "pullRequest" && job.pullRequest ? job.pullRequest : (kLinkNames[name] ?? name)}
        </Away>
      ))}
    </span>
  );
}

// Returns the question before an action on jobs.
export function jobQuestion(action: "stop" | "terminate" | "rerun" | "delete", jobs: Job[], done: () => void): Question {
  const names = jobs.map((job) => job.name);
  const what = names.length === 1 ? names[0]! : `${names.length} jobs (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""})`;
  const texts = {
    stop: { title: "Stop", effect: `${what}: the pipeline ends after its running task; the finally tasks run. The cluster is freed then.`, button: "Stop" },
    terminate: { title: "Terminate", effect: `${what}: the pipeline is cancelled at once. Results of the running task are lost.`, button: "Terminate" },
    rerun: { title: "Run again", effect: `A new job with the same specification is submitted for ${what}.`, button: "Run again" },
    delete: { title: "Delete", effect: `${what}: ${jobs.every((job) => job.archived) ? "the history entry is deleted. There is no way back." : "the job and all its objects are deleted; it stays in the history."}`, button: "Delete" },
  }[action];
  return {
    title: `${texts.title} ${what}?`,
    effect: texts.effect,
    action: texts.button,
    danger: action !== "rerun",
    run: async () => {
      const messages = [];
      for (const job of jobs) {
        const path = `/jobs${route(job.ns, job.name)}`;
        if (action === "delete") messages.push(await act("DELETE", job.archived ? `${path}?archived=1&uid=${encodeURIComponent(job.uid ?? "")}` : path));
        else messages.push(await act("POST", `${path}/${action}${job.archived ? `?uid=${encodeURIComponent(job.uid ?? "")}` : ""}`));
      }
      done();
      return messages.length === 1 ? messages[0]! : `${messages.length} jobs: ${messages[0]}`;
    },
  };
}

// Returns the address of the comparison of jobs.
export function compareHref(jobs: Job[]): string {
  return href("/compare") + "?" + jobs.map((job) => `job=${encodeURIComponent(`${job.ns}/${job.name}${job.archived && job.uid ? `@${job.uid}` : ""}`)}`).join("&");
}

// Formats a span of milliseconds for a chart.
export const spanText = span;
