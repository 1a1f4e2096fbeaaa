// SPDX-License-Identifier: Apache-2.0
// "What if": the live fleet and its jobs, played as they are and with one change. Changes nothing.
import { useState } from "preact/hooks";
import { route } from "../../core/api";
import { useData, useRows } from "../../core/data";
import { setQuery, usePlace } from "../../core/router";
import { seconds } from "../../core/time";
import type { Cluster, FormView } from "../../core/types";
import { change, Comparison, type Report } from "../../report/comparison";
import { Badge, Command, Empty, Facts, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { Field } from "../submit/fields";

interface Answer {
  text: string;
  days: number;
  jobs: { running: number; waiting: number; locks: number; ended: number; leftOut: number };
  assumptions: string[];
  leftOut: string[];
  without: Report;
  with: Report;
  waiting: { ns: string; name: string; owner?: string; without: number | null; with: number | null }[];
  job?: { waitSeconds: number | null };
}

type Question = Record<"change" | "cluster" | "gpuType" | "gpus" | "duration" | "priority" | "exclusive" | "days", string>;

const kEmpty: Question = { change: "node", cluster: "", gpuType: "", gpus: "", duration: "", priority: "", exclusive: "", days: "14" };
const kNames = Object.keys(kEmpty) as (keyof Question)[];
const kChanges: [string, string][] = [
  ["node", "one more node"],
  ["cluster", "one more cluster"],
  ["gpus", "more GPUs"],
  ["unlock", "no lock"],
  ["job", "a new job now"],
];

// Returns which parameters a change takes.
function taken(question: Question): (keyof Question)[] {
  const { change } = question;
  if (change === "gpus") return ["change", "cluster", "gpuType", "gpus", "days"];
  return change === "job" ? kNames : ["change", "cluster", "days"];
}

// The page.
export function WhatIfPage() {
  const { query } = usePlace();
  const asked = Object.fromEntries(kNames.map((name) => [name, query.get(name) ?? kEmpty[name]])) as Question;
  const given = query.get("change") !== null && query.get("play") === "1";
  const search = new URLSearchParams(taken(asked).flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])));
  const { data, error, loading } = useData<Answer>(given ? `/whatif?${search.toString()}` : "");
  return (
    <>
      <Form asked={asked} busy={given && loading} />
      {error && !loading && (
        <p class="notice bad" role="alert">
          ✕ {error.message}
        </p>
      )}
      {given && loading && <p class="loading">Simulating both fleets…</p>}
      {!given && <Empty title="Choose a change and simulate it" hint="The jobs that run and wait now, and those of the last days once more, are played on the fleet as it is and with the change. Nothing of the cluster changes." command="athanor simulate trace.csv --fleet fleet.yaml --what-if bigger.yaml" />}
      {given && data && !loading && <Result answer={data} />}
    </>
  );
}

function Form({ asked, busy }: { asked: Question; busy: boolean }) {
  const [draft, setDraft] = useState(asked);
  const clusters = useRows<Cluster>("/clusters", "clusters");
  const form = useData<FormView>("/form");
  const set = (name: keyof Question) => (value: string) => setDraft((old) => ({ ...old, [name]: value }));
  const names = clusters.rows.map((one) => one.name).sort();
  const locked = clusters.rows.filter((one) => one.lock && one.lock.state !== "Unlocked").map((one) => one.name).sort();
  const types = [...new Set(clusters.rows.flatMap((one) => (one.gpus ?? []).map((gpu) => gpu.type)))].sort();
  const choices = draft.change === "unlock" ? locked : names;
  const isJob = draft.change === "job";
  // A cluster must be named, except by a job with GPUs: the first one, until another is chosen.
  const cluster = isJob || choices.includes(draft.cluster) ? draft.cluster : (choices[0] ?? draft.cluster);
  const play = (event: Event) => {
    event.preventDefault();
    const question = { ...draft, cluster };
    const use = taken(question);
    setQuery({ ...Object.fromEntries(kNames.map((name) => [name, use.includes(name) ? question[name] || null : null])), play: "1" });
  };
  return (
    <form class="question" onSubmit={play} aria-label="Question">
      <span class="segments" role="group" aria-label="Change">
        {kChanges.map(([value, text]) => (
          <button type="button" key={value} aria-pressed={draft.change === value} onClick={() => set("change")(value)} data-testid={`change-${value}`}>
            {text}
          </button>
        ))}
      </span>
      <div class="question-fields">
        <Field label={draft.change === "cluster" ? "Like" : "Cluster"}>
          <select value={cluster} onChange={(event) => set("cluster")(event.currentTarget.value)} data-testid="question-cluster">
            {isJob && <option value="">any</option>}
            {choices.map((one) => (
              <option value={one}>{one}</option>
            ))}
          </select>
        </Field>
        {(isJob || draft.change === "gpus") && (
          <>
            <Field label="Type of GPU">
              <input list="gpu-types" value={draft.gpuType} onInput={(event) => set("gpuType")(event.currentTarget.value)} data-testid="question-type" />
            </Field>
            <datalist id="gpu-types">
              {types.map((one) => (
                <option value={one} />
              ))}
            </datalist>
            <Field label="GPUs">
              <input type="number" min={0} value={draft.gpus} onInput={(event) => set("gpus")(event.currentTarget.value)} data-testid="question-gpus" />
            </Field>
          </>
        )}
        {isJob && (
          <>
            <Field label="Runs for">
              <input value={draft.duration} placeholder="1h" onInput={(event) => set("duration")(event.currentTarget.value)} />
            </Field>
            <Field label="Priority">
              <select value={draft.priority} onChange={(event) => set("priority")(event.currentTarget.value)}>
                <option value="">none</option>
                {(form.data?.priorities ?? []).map((one) => (
                  <option value={one}>{one}</option>
                ))}
              </select>
            </Field>
            <div class="field">
              <label class="inline">
                <input type="checkbox" checked={draft.exclusive === "true"} onChange={(event) => set("exclusive")(event.currentTarget.checked ? "true" : "")} /> takes the cluster alone
              </label>
            </div>
          </>
        )}
        <Field label="Days of history">
          <input type="number" min={1} max={90} value={draft.days} onInput={(event) => set("days")(event.currentTarget.value)} />
        </Field>
        <button type="submit" class="primary" disabled={busy} data-testid="simulate">
          {busy ? "Simulating…" : "Simulate"}
        </button>
      </div>
      {draft.change === "unlock" && !clusters.loading && locked.length === 0 && <p class="dim">No cluster is locked now.</p>}
    </form>
  );
}

function Result({ answer }: { answer: Answer }) {
  const { jobs } = answer;
  const before = answer.without.waiting.all;
  const after = answer.with.waiting.all;
  return (
    <>
      <Section title={`What if ${answer.text}?`} testid="whatif-answer">
        <Facts
          names="long"
          facts={[
            ["The new job waits", answer.job && (answer.job.waitSeconds === null ? "it never starts" : <b>{seconds(answer.job.waitSeconds)}</b>)],
            ["Median wait", `${seconds(before.p50Seconds)} → ${seconds(after.p50Seconds)} (${change(before.p50Seconds, after.p50Seconds)})`],
            ["Mean wait", `${seconds(before.meanSeconds)} → ${seconds(after.meanSeconds)} (${change(before.meanSeconds, after.meanSeconds)})`],
            ["Wait, 95th percentile", `${seconds(before.p95Seconds)} → ${seconds(after.p95Seconds)} (${change(before.p95Seconds, after.p95Seconds)})`],
            ["Played", `${jobs.running} running, ${jobs.waiting} waiting, ${jobs.ended} of the last ${Number(answer.days.toFixed(1))} days${jobs.locks ? `, ${jobs.locks} ${jobs.locks === 1 ? "lock" : "locks"}` : ""}`],
            ["Left out", jobs.leftOut > 0 && `${jobs.leftOut} jobs: they never ran, ask for neither GPUs nor a cluster, or fit not on both fleets`],
          ]}
        />
        <ul class="dim">
          {[...answer.assumptions, ...answer.leftOut].map((one) => (
            <li>{one}</li>
          ))}
        </ul>
      </Section>
      {answer.waiting.length > 0 && (
        <Section title="Jobs that wait now" note="until their start">
          <PlainTable
            label="Jobs that wait now"
            titles={["Job", "Owner", "As it is", "With the change", ""]}
            right={[2, 3]}
            rows={answer.waiting.map((one) => [
              <To path={`/jobs${route(one.name)}`} query={{ ns: one.ns }}>{one.name}</To>,
              one.owner,
              seconds(one.without),
              seconds(one.with),
              one.without !== null && one.with !== null && one.with + 1 < one.without ? <Badge state={change(one.without, one.with)} tone="good" /> : one.without !== null && one.with !== null && one.with > one.without + 1 ? <Badge state={change(one.without, one.with)} tone="warn" /> : "",
            ])}
          />
        </Section>
      )}
      <Comparison reports={[answer.without, answer.with]} />
      <p class="dim">The same by hand, with any change of the files:</p>
      <Command text="athanor clusters -o fleet > fleet.yaml" />
      <Command text="athanor jobs -o trace > trace.csv" />
      <Command text="athanor simulate trace.csv --fleet fleet.yaml" />
    </>
  );
}
