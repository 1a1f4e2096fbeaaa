// SPDX-License-Identifier: Apache-2.0
// Schedules: their next runs, success rates, and the form that creates and edits them.
import { useState } from "preact/hooks";
import { act, ApiError, route } from "../../core/api";
import { useData, useRows } from "../../core/data";
import type { Fields } from "../../core/filter";
import { useSession } from "../../core/session";
import { absolute, millis } from "../../core/time";
import type { FormView, Schedule } from "../../core/types";
import { Age, Badge, Empty, To } from "../../ui/basics";
import { confirm, Dialog, perform, toast } from "../../ui/dialog";
import { DataTable, type Column } from "../../ui/table";
import { Field } from "./fields";
import { postedForm } from "./submit";

export const scheduleFields: Fields<Schedule> = {
  state: { text: (row) => row.state },
  name: { text: (row) => row.name },
  project: { text: (row) => row.project },
  cluster: { text: (row) => row.cluster },
  owner: { text: (row) => row.owner },
};
const words = (row: Schedule) => [row.name, row.project, row.preset, row.cluster, row.owner, row.schedule, row.words];

function columns(edit: (row: Schedule) => void, show: (row: Schedule) => void, readOnly: boolean): Column<Schedule>[] {
  return [
    { id: "state", title: "Status", width: 96, sort: (row) => row.state, text: (row) => row.state, cell: (row) => <Badge state={row.state} /> },
    { id: "name", title: "Name", width: 130, grow: true, sort: (row) => row.name, text: (row) => row.name, cell: (row) => <To path={`/schedules/${encodeURIComponent(row.name)}/runs`} class="name">{row.name}</To> },
    { id: "project", title: "Project", width: 104, sort: (row) => row.project, text: (row) => row.project ?? "" },
    { id: "preset", title: "Preset", width: 90, optional: true, text: (row) => row.preset ?? "" },
    { id: "schedule", title: "Schedule", width: 160, grow: true, sort: (row) => row.schedule, text: (row) => `${row.words || row.schedule}${row.timeZone ? ` (${row.timeZone})` : ""}` },
    { id: "next", title: "Next run", width: 122, sort: (row) => millis(row.next?.[0]), cell: (row) => (row.state === "Paused" ? <span class="dim">{row.pausedUntil ? <>until {row.pausedUntil.slice(0, 10)}</> : "paused"}</span> : <NextRuns times={row.next} />) },
    { id: "cluster", title: "Cluster", width: 86, sort: (row) => row.cluster, text: (row) => row.cluster ?? "" },
    { id: "owner", title: "Owner", width: 100, optional: true, sort: (row) => row.owner, text: (row) => row.owner ?? "" },
    { id: "lastRun", title: "Last run", width: 76, right: true, sort: (row) => millis(row.lastRun), cell: (row) => <Age time={row.lastRun} /> },
    { id: "successRate", title: "Success", width: 70, right: true, sort: (row) => row.successRate, text: (row) => (row.successRate === undefined ? "" : `${Math.round(row.successRate * 100)} %`) },
    { id: "overlap", title: "Overlap", width: 80, optional: true, text: (row) => row.overlap ?? "" },
    { id: "resolver", title: "Resolver", width: 110, text: (row) => row.resolver ?? "", cell: (row) => row.resolver && <button type="button" class="small" onClick={() => show(row)} aria-label={`Show ${row.resolver} of ${row.name}`}>{row.resolver}</button> },
    ...(readOnly ? [] : [{ id: "actions", title: "Actions", width: 262, cell: (row: Schedule) => <RowActions row={row} edit={edit} /> }]),
  ];
}

// The next runs in UTC and in the zone of the browser.
function NextRuns({ times }: { times: string[] | undefined }) {
  if (!times?.length) return <span class="dim">–</span>;
  const next = new Date(times[0]!);
  return <span title={times.map(absolute).join("\n")}>{next.toLocaleDateString(undefined, { day: "numeric", month: "short" })} {next.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}</span>;
}

function RowActions({ row, edit }: { row: Schedule; edit: (row: Schedule) => void }) {
  const path = `/schedules${route(row.name)}`;
  const pause = () => {
    let until = "";
    confirm({
      title: `Pause ${row.name}?`,
      effect: `${row.name} starts no further jobs until it is resumed.`,
      action: "Pause",
      fields: (
        <label class="form">
          Resume by itself on (optional, UTC)
          <input type="date" onInput={(event) => (until = event.currentTarget.value)} />
        </label>
      ),
      run: () => act("POST", `${path}/pause`, until ? { until: `${until}T00:00:00Z` } : {}),
    });
  };
  return (
    <span class="buttons">
      <button type="button" class="small" onClick={() => void perform(() => act("POST", `${path}/trigger`))}>Run now</button>
      <button type="button" class="small" onClick={() => edit(row)} aria-label={`Edit ${row.name}`}>Edit</button>
      {row.state === "Paused" ? <button type="button" class="small" onClick={() => void perform(() => act("POST", `${path}/resume`))}>Resume</button> : <button type="button" class="small" onClick={pause}>Pause</button>}
      <button type="button" class="small" aria-label={`Delete ${row.name}`} onClick={() => confirm({ title: `Delete ${row.name}?`, effect: `The schedule ${row.name} and its resolver are deleted. Jobs that it started stay.`, action: "Delete", danger: true, run: () => act("DELETE", path) })}>Delete</button>
    </span>
  );
}

// The page.
export function SchedulesPage() {
  const session = useSession();
  const source = useRows<Schedule>("/schedules", "schedules");
  const [edited, setEdited] = useState<Schedule | "new" | undefined>();
  const [shown, setShown] = useState<Schedule | undefined>();
  const posted = postedForm();
  return (
    <>
      {posted && <p class="notice bad" role="alert">✕ {posted.message}</p>}
      <DataTable<Schedule>
        page="schedules"
        kind="schedule"
        label="Schedules"
        fill
        source={source}
        columns={columns(setEdited, setShown, session.readOnly)}
        fields={scheduleFields}
        words={words}
        sort="name"
        chips={{ key: "state", values: ["Active", "Paused"], of: (row) => row.state }}
        tools={session.readOnly ? undefined : <button type="button" class="primary" onClick={() => setEdited("new")} data-testid="new-schedule">New schedule</button>}
        empty={<Empty title="No schedules" hint="A schedule submits the same job again and again; it is stored as a CronJob." command="kubectl get cronjobs -l fournos-launcher/managed-by=fournos-dashboard" />}
      />
      {shown && <ResolverDialog schedule={shown} onClose={() => setShown(undefined)} />}
      {edited && <ScheduleDialog schedule={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

interface Resolver {
  filename: string;
  content: string;
}

// The script of a schedule, to read and to download.
function ResolverDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const { data, error } = useData<Resolver>(`/schedules${route(schedule.name)}/resolver`);
  return (
    <Dialog title={`Resolver of ${schedule.name}`} onClose={onClose} wide>
      {error && <p class="notice bad" role="alert">✕ {error.message}</p>}
      {data && <pre tabIndex={0}>{data.content}</pre>}
      <div class="dialog-actions">
        {data && <button type="button" onClick={() => download(data)}>Download {data.filename}</button>}
        <button type="button" onClick={onClose}>Close</button>
      </div>
    </Dialog>
  );
}

function download(file: Resolver) {
  const address = URL.createObjectURL(new Blob([file.content], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = file.filename;
  link.click();
  URL.revokeObjectURL(address);
}

interface Preview {
  valid: boolean;
  words?: string;
  next?: string[];
  error?: string;
}

function ScheduleDialog({ schedule, onClose }: { schedule: Schedule | undefined; onClose: () => void }) {
  const form = useData<FormView>("/form");
  const session = useSession();
  const stored = useData<Resolver>(schedule?.resolver ? `/schedules${route(schedule.name)}/resolver` : "");
  const [changed, setValues] = useState<Record<string, string>>({});
  const initial: Record<string, string> = {
    name: schedule?.name ?? "",
    project: schedule?.project ?? "",
    cluster: schedule?.cluster ?? "",
    cron_expr: schedule?.schedule ?? "0 3 * * *",
    pipeline: schedule?.pipeline ?? "",
    preset: schedule?.preset ?? "",
    owner: schedule?.owner ?? session.user ?? "",
    timeZone: schedule?.timeZone ?? "",
    overlap: schedule?.overlap ?? "",
    image_source: "",
    service_account: "",
    resolver_filename: stored.data?.filename ?? schedule?.resolver ?? "",
    resolver_script: stored.data?.content ?? "",
    resolver_image: "",
  };
  const values: Record<string, string> = { ...initial, ...changed };
  const [problem, setProblem] = useState<{ field?: string | undefined; message: string } | undefined>();
  const set = (key: string, value: string) => setValues((old) => ({ ...old, [key]: value }));
  const preview = useData<Preview>(values["cron_expr"] ? `/schedules/preview?cron=${encodeURIComponent(values["cron_expr"])}&timeZone=${encodeURIComponent(values["timeZone"] ?? "")}` : "");
  const project = form.data?.projects?.find((one) => one.name === values["project"]);
  const wrong = (key: string) => (problem?.field === key ? problem.message : undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    // Unchanged fields are not sent: the server keeps them.
    const body: Record<string, string> = Object.fromEntries(Object.entries(values).filter(([key, value]) => (schedule ? value !== initial[key] : value !== "")));
    const resolves = ["resolver_script", "resolver_filename", "resolver_image"].some((key) => key in body);
    if (schedule && resolves) Object.assign(body, { resolver_script: values["resolver_script"], resolver_filename: values["resolver_filename"] });
    try {
      const message = schedule ? await act("PUT", `/schedules${route(schedule.name)}`, { ...body, name: values["name"], edit_target: schedule.name }) : await act("POST", "/schedules", body);
      toast("good", message);
      onClose();
    } catch (error) {
      const failure = error as ApiError;
      setProblem({ field: failure.field, message: failure.message });
    }
  };
  const known = ["name", "project", "cluster", "cron_expr", "timeZone", "overlap", "service_account"];
  return (
    <Dialog title={schedule ? `Edit ${schedule.name}` : "New schedule"} onClose={onClose} wide>
      <form class="form two" onSubmit={(event) => void submit(event)}>
        <Field label="Name" required error={wrong("name")} hint="Lower case letters, digits and -, at most 52.">
          <input value={values["name"]} required pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?" maxLength={52} onInput={(event) => set("name", event.currentTarget.value)} data-testid="schedule-name" />
        </Field>
        <Field label={`When (cron, ${values["timeZone"] || "UTC"})`} required error={wrong("cron_expr") ?? (preview.data && !preview.data.valid ? preview.data.error : undefined)} hint={preview.data?.valid ? preview.data.words : ""}>
          <input value={values["cron_expr"]} required onInput={(event) => set("cron_expr", event.currentTarget.value)} data-testid="schedule-cron" />
        </Field>
        <Field label="Project" required error={wrong("project")}>
          <input list="schedule-projects" required value={values["project"]} onInput={(event) => { set("project", event.currentTarget.value); const found = form.data?.projects?.find((one) => one.name === event.currentTarget.value); if (found?.cluster) set("cluster", found.cluster); }} />
        </Field>
        <datalist id="schedule-projects">{(form.data?.projects ?? []).map((one) => <option value={one.name} />)}</datalist>
        <Field label="Preset" error={wrong("preset")}>
          <input list="schedule-presets" value={values["preset"]} onInput={(event) => set("preset", event.currentTarget.value)} />
        </Field>
        <datalist id="schedule-presets">{(project?.presets ?? []).map((one) => <option value={one} />)}</datalist>
        <Field label="Cluster" required error={wrong("cluster")}>
          <input list="schedule-clusters" required value={values["cluster"]} onInput={(event) => set("cluster", event.currentTarget.value)} />
        </Field>
        <datalist id="schedule-clusters">{(form.data?.clusters ?? []).map((one) => <option value={one.name} />)}</datalist>
        <Field label="Pipeline" error={wrong("pipeline")}>
          <input value={values["pipeline"]} placeholder="forge-test-only" onInput={(event) => set("pipeline", event.currentTarget.value)} />
        </Field>
        <Field label="Owner" error={wrong("owner")}>
          <input value={values["owner"]} onInput={(event) => set("owner", event.currentTarget.value)} />
        </Field>
        <Field label="Time zone" error={wrong("timeZone")} hint="Such as Europe/Berlin; empty: UTC.">
          <input value={values["timeZone"]} onInput={(event) => set("timeZone", event.currentTarget.value)} data-testid="schedule-zone" />
        </Field>
        <Field label="While the last one submits" error={wrong("overlap")}>
          <select value={values["overlap"]} onChange={(event) => set("overlap", event.currentTarget.value)} data-testid="schedule-overlap">
            <option value="">Default (Allow)</option>
            {["Allow", "Forbid", "Replace"].map((one) => <option value={one}>{one}</option>)}
          </select>
        </Field>
        <Field label="Account of the submitter" error={wrong("service_account")} hint={schedule ? "Empty: as it is." : "Empty: that of the console's settings."}>
          <input value={values["service_account"]} onInput={(event) => set("service_account", event.currentTarget.value)} />
        </Field>
        <Field label="Image of the submitter" error={wrong("image_source")} hint={schedule ? "Empty: as it is." : "Empty: Athanor's own image."}>
          <input value={values["image_source"]} onInput={(event) => set("image_source", event.currentTarget.value)} />
        </Field>
        <details class="wide-field">
          <summary>Resolver: a script that sets overrides before each run</summary>
          <div class="form two">
            <Field label="File name" error={wrong("resolver_filename")} hint=".py runs by python, others by sh.">
              <input value={values["resolver_filename"]} onInput={(event) => set("resolver_filename", event.currentTarget.value)} />
            </Field>
            <Field label="Image" error={wrong("resolver_image")}>
              <input value={values["resolver_image"]} onInput={(event) => set("resolver_image", event.currentTarget.value)} />
            </Field>
            <div class="wide-field">
              <Field label="Script" error={wrong("resolver_script")} hint={`It writes KEY=VALUE lines to /shared/resolved.env.${session.embedded ? " A lab runs no scripts: a run of this schedule fails there." : ""}`}>
                <textarea rows={6} spellcheck={false} value={values["resolver_script"]} onInput={(event) => set("resolver_script", event.currentTarget.value)} />
              </Field>
            </div>
          </div>
        </details>
        {preview.data?.valid && (preview.data.next?.length ?? 0) > 0 && (
          <div class="wide-field">
            <h3>Next runs</h3>
            <ul class="plain">{preview.data.next!.slice(0, 5).map((time) => <li>{absolute(time)}</li>)}</ul>
          </div>
        )}
        {problem && !known.includes(problem.field ?? "") && <p class="notice bad wide-field" role="alert">✕ {problem.message}</p>}
        <div class="dialog-actions wide-field">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={preview.data?.valid === false}>{schedule ? "Save" : "Create"}</button>
        </div>
      </form>
    </Dialog>
  );
}
