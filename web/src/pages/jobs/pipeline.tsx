// SPDX-License-Identifier: Apache-2.0
// The pipeline of a job: its graph, its tasks over time, and the last lines of a step that failed.
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import type { Pipeline, PipelineTask } from "../../core/types";
import { Dag } from "../../charts/dag";
import { Gantt, type GanttRow } from "../../charts/gantt";
import { Runs } from "../../logs/viewer";
import { Badge, Empty, Lasted, Section } from "../../ui/basics";
import { PlainTable } from "../../ui/table";

// Returns rows of a chart: tasks by their start with their steps, `finally` tasks behind a line.
export function ganttRows(tasks: PipelineTask[]): GanttRow[] {
  const byStart = (a: PipelineTask, b: PipelineTask) => (a.started ?? "9").localeCompare(b.started ?? "9");
  const normal = tasks.filter((task) => !task.finally).sort(byStart);
  const last = tasks.filter((task) => task.finally).sort(byStart);
  return [...normal, ...last].flatMap((task, i) => [
    { name: task.name, state: task.state, from: task.started, to: task.completed, separated: i === normal.length && normal.length > 0, note: task.reason && task.reason !== task.state ? task.reason : task.message },
    ...(task.steps ?? []).filter((step) => step.started).map((step) => ({ name: step.name, state: step.state, from: step.started, to: step.completed, indent: true, note: step.exitCode ? `exit code ${step.exitCode}` : undefined })),
  ]);
}

// The tab. `logs` makes the address of a container's log.
export function PipelineTab({ path, logs }: { path: string; logs: (pod: string, container: string) => string }) {
  const { data, error } = useData<Pipeline>(path, ["jobs"]);
  const [chosen, choose] = useParam("task");
  if (error && !data) return error.code === 404 ? <Empty title="No pipeline yet" hint="The PipelineRun is created when the job is admitted." /> : <p class="notice bad">✕ {error.message}</p>;
  if (!data) return <p class="loading">Loading…</p>;
  const tasks = data.tasks ?? [];
  if (!tasks.length) return <Empty title="No tasks yet" hint="The PipelineRun is created when the job is admitted; its tasks appear when it starts." />;
  const failed = tasks.filter((task) => task.state === "Failed");
  const shown = tasks.find((task) => task.name === chosen);
  return (
    <>
      {failed.map((task) => (
        <FailedTask key={task.name} task={task} logs={logs} />
      ))}
      <Section title="Graph" note={data.run}>
        <Dag tasks={tasks} chosen={chosen} onTask={choose} />
      </Section>
      {shown && <TaskSection task={shown} logs={logs} />}
      <Section title="Over time">
        <Gantt rows={ganttRows(tasks)} label="Tasks and steps" />
      </Section>
      <div class="columns">
        <Values title="Parameters" values={data.parameters} />
        <Values title="Results" values={data.results} />
      </div>
    </>
  );
}

function FailedTask({ task, logs }: { task: PipelineTask; logs: (pod: string, container: string) => string }) {
  const step = (task.steps ?? []).find((one) => one.state === "Failed");
  return (
    <section class="section failed" aria-label={`${task.name} failed`}>
      <div class="section-head">
        <Badge state="Failed" />
        <h2>
          {task.name}
          {step && ` · step ${step.name}`}
          {step?.exitCode !== undefined && ` · exit code ${step.exitCode}`}
        </h2>
        <span class="dim">{task.reason}</span>
        {task.pod && step?.container && (
          <span class="actions">
            <a href={logs(task.pod, step.container)}>whole log</a>
          </span>
        )}
      </div>
      {task.message && <p>{task.message}</p>}
      {task.tail?.length ? (
        <pre class="block tail" tabIndex={0} aria-label={`Last lines of ${task.name}`}>
          {task.tail.map((line) => (
            <span>
              <Runs line={line} />
              {"\n"}
            </span>
          ))}
        </pre>
      ) : null}
    </section>
  );
}

function TaskSection({ task, logs }: { task: PipelineTask; logs: (pod: string, container: string) => string }) {
  return (
    <Section title={`Task ${task.name}`} note={<Badge state={task.state} />}>
      {task.message && <p>{task.message}</p>}
      <PlainTable
        label={`Steps of ${task.name}`}
        titles={["Step", "State", "Time", "Exit code", "Reason", "Log"]}
        rows={(task.steps ?? []).map((step) => [step.name, <Badge state={step.state} />, <Lasted from={step.started} to={step.completed} />, step.exitCode ?? "", step.reason, task.pod && step.container ? <a href={logs(task.pod, step.container)}>log</a> : ""])}
      />
      {task.results?.length ? <PlainTable label={`Results of ${task.name}`} titles={["Result", "Value"]} rows={task.results.map((one) => [one.name, <code>{valueText(one.value)}</code>])} /> : null}
    </Section>
  );
}

function Values({ title, values }: { title: string; values: { name: string; value: unknown }[] | undefined }) {
  if (!values?.length) return null;
  return (
    <Section title={title}>
      <PlainTable label={title} titles={["Name", "Value"]} rows={values.map((one) => [one.name, <code>{valueText(one.value)}</code>])} />
    </Section>
  );
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
