// SPDX-License-Identifier: Apache-2.0
// The form for a job: by fields or as YAML, checked by the server before it is sent.
import { useEffect, useRef, useState } from "preact/hooks";
import { act, ApiError, get, problemOf, route, send, type FieldError } from "../../core/api";
import { useData } from "../../core/data";
import { readPref, writePref } from "../../core/prefs";
import { href, navigate, useParam, usePlace } from "../../core/router";
import { useSession } from "../../core/session";
import type { FormView, Job, JobDetail, Manifest } from "../../core/types";
import { fromYaml, toYaml } from "../../core/yaml";
import { Section } from "../../ui/basics";
import { confirm, toast } from "../../ui/dialog";
import { errorAt, Field, LinesField, ListInput, SchemaField } from "./fields";
import { copyOf, enginePath, getAt, moveEngine, newJob, setAt, type Schema } from "./manifest";
import { ClusterChoice } from "./place";

const kShown = new Set(["owner", "displayName", "cluster", "hardware", "exclusive", "pipeline", "priority", "executionEngine", "forge", "shutdown", "schedule"]);

interface Checked {
  job?: Job;
  object?: Manifest;
  warnings?: string[];
}

// Returns what a failed form post of old clients left in the page.
export function postedForm(): { message: string; form: Record<string, string> } | undefined {
  const message = document.querySelector<HTMLMetaElement>('meta[name="athanor-message"]')?.content;
  if (!message) return undefined;
  try {
    return { message, form: JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="athanor-form"]')?.content ?? "{}") as Record<string, string> };
  } catch {
    return { message, form: {} };
  }
}

// The page.
export function SubmitPage() {
  const session = useSession();
  const { query } = usePlace();
  const [mode, setMode] = useParam("mode", "form");
  const form = useData<FormView>("/form", ["clusters"]);
  const ns = session.jobsNamespace ?? session.namespaces?.[0] ?? "fournos-jobs";
  const [job, setJob] = useState<Manifest | undefined>();
  const [errors, setErrors] = useState<FieldError[]>([]);
  const [checked, setChecked] = useState<Checked | undefined>();
  const [busy, setBusy] = useState(false);
  const posted = useRef(postedForm());
  const from = query.get("from");
  const uid = query.get("uid");

  useEffect(() => {
    if (job || !form.data) return;
    const fresh = newJob(ns, session.user || readPref("owner", "") || form.data.owner || "");
    if (!from) {
      const old = posted.current?.form ?? {};
      let start = fresh;
      const engine = enginePath(fresh, (form.data.schema ?? {}) as Schema);
      for (const [field, path] of Object.entries({ project: `${engine}.project`, cluster: "cluster", pipeline: "pipeline", owner: "owner" })) if (old[field]) start = setAt(start, ["spec", ...path.split(".")], old[field]);
      if (old["preset"]) start = setAt(start, ["spec", ...engine.split("."), "args"], [old["preset"]]);
      setJob(start);
      return;
    }
    const [fromNs, fromName] = from.split("/");
    get<JobDetail>(`/jobs${route(fromNs, fromName)}${uid ? `?uid=${encodeURIComponent(uid)}` : ""}`).then(
      (detail) => setJob(detail.object ? copyOf(detail.object) : fresh),
      (error: unknown) => {
        toast("bad", problemOf(error));
        setJob(fresh);
      },
    );
  }, [form.data, from]);

  if (form.error && !form.data) return <p class="notice bad">✕ {form.error.message}</p>;
  if (!job || !form.data) return <p class="loading">Loading…</p>;
  const change = (value: Manifest) => {
    setJob(value);
    setChecked(undefined);
    setErrors([]);
  };
  const sendIt = async (dry: boolean) => {
    setBusy(true);
    try {
      const answer = await send<Checked>("POST", `/jobs${dry ? "?dryRun=1" : ""}`, job);
      setErrors([]);
      setChecked(answer);
      if (!dry) {
        writePref("owner", getAt(job, ["spec", "owner"]) ?? "");
        const made = answer.job;
        toast("good", `${made?.name ?? "the job"} is submitted`);
        if (made) navigate(href(`/jobs/${encodeURIComponent(made.name)}`, { ns: made.ns }));
      }
    } catch (error) {
      const problem = error as ApiError;
      setChecked(undefined);
      setErrors(problem.errors.length ? problem.errors : [{ field: problem.field ?? "", message: problem.message }]);
    }
    setBusy(false);
  };
  const general = errors.filter((one) => !one.field || one.field === "metadata.name" || mode === "yaml");
  return (
    <>
      {posted.current && <p class="notice bad" role="alert">✕ {posted.current.message}</p>}
      <div class="pagehead">
        <span class="segments" role="group" aria-label="How to write the job">
          <button type="button" aria-pressed={mode === "form"} onClick={() => setMode("form")}>Form</button>
          <button type="button" aria-pressed={mode === "yaml"} onClick={() => setMode("yaml")} data-testid="mode-yaml">YAML</button>
        </span>
        <Templates form={form.data} job={job} ns={ns} onJob={change} reload={form.reload} />
        <span class="grow" />
        <button type="button" disabled={busy} onClick={() => void sendIt(true)} data-testid="dry-run">Check</button>
        <button type="button" class="primary" disabled={busy || session.readOnly} onClick={() => void sendIt(false)} data-testid="submit">Submit</button>
      </div>
      {general.map((one) => (
        <p class="notice bad" role="alert" data-testid="form-error">✕ {one.field && `${one.field}: `}{one.message}</p>
      ))}
      {checked && (
        <p class="notice good" role="status" data-testid="form-checked">✓ The server would take this job.{(checked.warnings ?? []).length > 0 && ` Warnings: ${checked.warnings!.join("; ")}`}</p>
      )}
      {mode === "yaml" ? <YamlEditor value={job} onValue={change} /> : <JobForm form={form.data} job={job} errors={errors} onJob={change} />}
    </>
  );
}

function Templates({ form, job, ns, onJob, reload }: { form: FormView; job: Manifest; ns: string; onJob: (job: Manifest) => void; reload: () => void }) {
  const session = useSession();
  const templates = form.templates ?? [];
  const [chosen, setChosen] = useState("");
  const pick = (name: string) => {
    setChosen(name);
    const template = templates.find((one) => one.name === name);
    if (template) onJob(setAt(copyOf(template.object), ["metadata", "namespace"], ns));
  };
  const save = () => {
    let name = chosen || String(getAt(job, ["spec", "displayName"]) ?? "").toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    confirm({
      title: "Save as a template",
      effect: "The template appears on this page for all who may read the jobs' namespace.",
      action: "Save",
      fields: (
        <label class="form">
          Name
          <input defaultValue={name} onInput={(event) => (name = event.currentTarget.value)} />
        </label>
      ),
      run: async () => {
        const message = await act("PUT", `/templates${route(name)}`, job);
        reload();
        return message;
      },
    });
  };
  const drop = () =>
    confirm({
      title: `Delete the template ${chosen}?`,
      effect: `The template ${chosen} is deleted for all who use this page; jobs that were made from it stay.`,
      action: "Delete",
      danger: true,
      run: async () => {
        const message = await act("DELETE", `/templates${route(chosen)}`);
        setChosen("");
        reload();
        return message;
      },
    });
  return (
    <>
      <select aria-label="Template" value={chosen} onChange={(event) => pick(event.currentTarget.value)} data-testid="template">
        <option value="">{templates.length ? "from a template…" : "no templates yet"}</option>
        {templates.map((one) => <option value={one.name}>{one.name}</option>)}
      </select>
      {!session.readOnly && <button type="button" onClick={save}>Save as template…</button>}
      {chosen && !session.readOnly && <button type="button" onClick={drop}>Delete template…</button>}
    </>
  );
}

function YamlEditor({ value, onValue }: { value: Manifest; onValue: (value: Manifest) => void }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const own = useRef<Manifest | undefined>(undefined);
  useEffect(() => {
    if (own.current !== value) void toYaml(value).then(setText);
  }, [value]);
  const change = async (next: string) => {
    setText(next);
    try {
      const read = await fromYaml(next);
      if (read === null || typeof read !== "object" || Array.isArray(read)) throw new Error("a job is a mapping");
      own.current = read as Manifest;
      setProblem("");
      onValue(read as Manifest);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <div class="fillpage yaml-editor">
      {problem && <p class="notice bad" role="alert">✕ {problem.split("\n")[0]}</p>}
      <textarea aria-label="Job as YAML" spellcheck={false} value={text} onInput={(event) => void change(event.currentTarget.value)} data-testid="yaml-editor" />
    </div>
  );
}

function JobForm({ form, job, errors, onJob }: { form: FormView; job: Manifest; errors: FieldError[]; onJob: (job: Manifest) => void }) {
  const spec = (form.schema ?? {}) as Schema;
  const properties = spec.properties ?? {};
  const at = (path: string) => getAt(job, ["spec", ...path.split(".")]);
  const set = (path: string, value: unknown) => onJob(setAt(job, ["spec", ...path.split(".")], value));
  const text = (path: string) => String(at(path) ?? "");
  const error = (path: string) => errorAt(errors, `spec.${path}`);
  const [asText, setAsText] = useState(false);
  const engine = enginePath(job, spec);
  const project = text(`${engine}.project`);
  const info = form.projects?.find((one) => one.name === project);
  const presets = info?.presets ?? [];
  const args = at(`${engine}.args`);
  const chooseProject = (name: string) => {
    let next = setAt(job, ["spec", ...engine.split("."), "project"], name);
    if (args === undefined) next = setAt(next, ["spec", ...engine.split("."), "args"], []);
    const found = form.projects?.find((one) => one.name === name);
    if (found?.cluster && !text("cluster")) next = setAt(next, ["spec", "cluster"], found.cluster);
    if (name) next = setAt(next, ["metadata", "generateName"], `forge-${name.toLowerCase().replace(/[^a-z0-9-]+/g, "-").slice(0, 40)}-`);
    onJob(next);
  };
  const rest = Object.entries(properties).filter(([name]) => !kShown.has(name));
  const filled = rest.filter(([name]) => at(name) !== undefined).length;
  return (
    <div class="columns">
      <Section title="Work">
        <div class="form">
          <Field label="Project" error={error(`${engine}.project`)} hint={form.projects?.length ? "Choosing one fills its cluster and its presets." : "There is no projects file: write the project's name."}>
            <input list="projects" value={project} onInput={(event) => chooseProject(event.currentTarget.value)} data-testid="field-project" />
          </Field>
          <datalist id="projects">{(form.projects ?? []).map((one) => <option value={one.name} />)}</datalist>
          {presets.length > 0 && (
            <Field label="Preset" error={error(`${engine}.args`)}>
              <select value={Array.isArray(args) ? String(args[0] ?? "") : ""} onChange={(event) => set(`${engine}.args`, event.currentTarget.value ? [event.currentTarget.value] : [])}>
                <option value="">default</option>
                {presets.map((one) => <option value={one}>{one}</option>)}
              </select>
            </Field>
          )}
          <Field label="Arguments" error={error(`${engine}.args`)} hint="Separate by commas.">
            <ListInput value={args} onValue={(value) => set(`${engine}.args`, value ?? [])} />
          </Field>
          <SchemaField name="Pipeline" schema={properties["pipeline"] ?? { type: "string" }} value={at("pipeline")} onValue={(value) => set("pipeline", value)} error={error("pipeline")} options={form.pipelines?.length ? form.pipelines : undefined} />
          {properties["forge"] && (
            <Field label="Engine" error={error("executionEngine")} hint="The resolver needs a Pipeline with the annotation fournos.dev/resolve-image.">
              <select value={engine} onChange={(event) => onJob(moveEngine(job, engine, event.currentTarget.value))} data-testid="field-engine">
                <option value="forge">Forge, directly</option>
                <option value="executionEngine.forge">Forge, after its resolver</option>
              </select>
            </Field>
          )}
          <Field label="Overrides" error={error(`${engine}.configOverrides`)} hint={`One "key: value" per line${info?.configKeys?.length ? `; known keys: ${info.configKeys.slice(0, 6).join(", ")}` : ""}.`}>
            <LinesField label="Overrides" value={at(`${engine}.configOverrides`)} asText={asText} onValue={(value) => set(`${engine}.configOverrides`, value)} placeholder="batch_size: 64" />
          </Field>
          <label class="inline"><input type="checkbox" checked={asText} onChange={(event) => setAsText(event.currentTarget.checked)} /> Keep values of overrides as text</label>
        </div>
      </Section>
      <div class="stack">
        <Section title="Place">
          <div class="form">
            <ClusterChoice form={form} value={text("cluster")} onValue={(value) => set("cluster", value || undefined)} error={error("cluster")} />
            <div class="pair">
              <Field label="GPU type" error={error("hardware.gpuType")}>
                <input list="gpu-types" value={text("hardware.gpuType")} onInput={(event) => set("hardware.gpuType", event.currentTarget.value)} />
              </Field>
              <datalist id="gpu-types">{[...new Set((form.clusters ?? []).flatMap((one) => Object.keys(one.freeGpus ?? {})))].map((one) => <option value={one} />)}</datalist>
              <Field label="GPUs" error={error("hardware.gpuCount")}>
                <input type="number" min="1" value={text("hardware.gpuCount")} onInput={(event) => set("hardware.gpuCount", event.currentTarget.value ? Number(event.currentTarget.value) : undefined)} />
              </Field>
            </div>
            <SchemaField name="Exclusive" schema={properties["exclusive"] ?? { type: "boolean" }} value={at("exclusive")} onValue={(value) => set("exclusive", value)} error={error("exclusive")} />
            <SchemaField name="Priority" schema={properties["priority"] ?? { type: "string" }} value={at("priority")} onValue={(value) => set("priority", value)} error={error("priority")} options={form.priorities?.length ? form.priorities : undefined} />
          </div>
        </Section>
        <Section title="Names">
          <div class="form">
            <SchemaField name="Owner" schema={properties["owner"] ?? { type: "string" }} value={at("owner")} onValue={(value) => set("owner", value)} error={error("owner")} />
            <SchemaField name="Display name" schema={properties["displayName"] ?? { type: "string" }} value={at("displayName")} onValue={(value) => set("displayName", value)} error={error("displayName")} />
          </div>
        </Section>
        {rest.length > 0 && (
          <details class="section" open={filled > 0}>
            <summary>
              <b>More fields</b> <span class="dim">{filled ? `${filled} set` : rest.map(([name]) => name).slice(0, 5).join(", ")}</span>
            </summary>
            <div class="form">
              {rest.map(([name, schema]) => (
                <SchemaField key={name} name={name} schema={schema} value={at(name)} onValue={(value) => set(name, value)} error={error(name)} />
              ))}
            </div>
          </details>
        )}
      </div>
    </div>
  );
}
