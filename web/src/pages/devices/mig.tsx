// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs: each GPU as a row of slots with their holders, what would still fit, and the last 24 hours.
import { useState } from "preact/hooks";
import { problemOf, send } from "../../core/api";
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import { absolute, ageOf, millis, serverNow, span, useNow } from "../../core/time";
import { Badge, Command, Empty, Partial, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { blocksOf, colourOf, holdersAt, placesOf, profilesOf, shortUuid, type Gpu, type HistoryChange, type Holder } from "./slots";

interface MigView {
  partial?: boolean;
  nodes?: { node: string; gpus?: Gpu[]; totals?: { profile: string; free: number }[] }[];
  lost?: Holder[];
  problems?: { object: string; text: string }[];
  totals?: { profile: string; free: number }[];
  slots?: { used: number; total: number };
  waiting?: { ns?: string; name: string; profiles?: string[]; fits?: boolean; reason?: string }[];
  claims?: number;
}

// The page.
export function MigPage() {
  const { data, error } = useData<MigView>("/mig", ["mig"]);
  const [profile, setProfile] = useParam("profile");
  const [moment, setMoment] = useParam("at");
  const at = Number.isNaN(millis(moment)) ? undefined : millis(moment);
  const setAt = (time: number | undefined) => setMoment(time === undefined ? "" : new Date(Math.round(time / 1000) * 1000).toISOString());
  const history = useData<{ from?: string; to?: string; changes?: HistoryChange[] }>("/mig/history?hours=24", ["mig"]);
  if (!data) return error ? <p class="notice bad">✕ {error.message}</p> : <p class="loading">Loading…</p>;
  const nodes = data.nodes ?? [];
  if (!nodes.some((one) => one.gpus?.length)) return <Empty title="No GPU with slices" hint="Nodes publish their GPUs as NodeAccelerators; a lab has them on emulated nodes." command="athanor up --lab examples/das/lab.yaml" />;
  const changes = history.data?.changes ?? [];
  const profiles = profilesOf(nodes.flatMap((one) => one.gpus ?? []));
  return (
    <>
      {error && <p class="notice bad">✕ {error.message}</p>}
      <Partial of={data} />
      <Section title="What still fits" note={data.slots && `${data.slots.used} of ${data.slots.total} slots used · ${data.claims ?? 0} claims`}>
        <div class="chips" role="group" aria-label="Profile to show places for">
          {(data.totals ?? []).map((one) => (
            <button type="button" class={`chip ${one.free ? "good" : "none"}`} aria-pressed={profile === one.profile} onClick={() => setProfile(profile === one.profile ? "" : one.profile)}>
              {one.profile} <b>{one.free}</b>
            </button>
          ))}
        </div>
        <WhatIf profiles={(data.totals ?? []).map((one) => one.profile)} />
      </Section>
      {(data.problems?.length ?? 0) > 0 && (
        <Section title="Problems">
          <PlainTable label="Problems" titles={["Object", "Problem"]} rows={data.problems!.map((one) => [one.object, <span class="bad-text">{one.text}</span>])} />
        </Section>
      )}
      {(data.waiting?.length ?? 0) > 0 && (
        <Section title="Pods that wait for a slice">
          <PlainTable label="Waiting pods" titles={["Pod", "Profiles", "Room", "Why"]} rows={data.waiting!.map((one) => [`${one.ns}/${one.name}`, (one.profiles ?? []).join(", "), one.fits ? "there is room" : <span class="warn-text">fits nowhere</span>, one.reason])} />
        </Section>
      )}
      <Section title="GPUs" note={<SlotLegend profiles={profiles} />} actions={!history.error && <Replay changes={changes} from={history.data?.from} at={at} onAt={setAt} />}>
        {nodes.map((node) => (
          <div class="mig-node" key={node.node}>
            <h3>
              <To path={`/nodes/${encodeURIComponent(node.node)}`}>{node.node}</To>{" "}
              {at === undefined && (
                <span class="dim" data-testid={`mig-totals-${node.node}`}>
                  {(node.totals ?? []).filter((one) => one.free > 0).map((one) => `${one.free}× ${one.profile}`).join(", ") || "full"}
                </span>
              )}
            </h3>
            {(node.gpus ?? []).map((gpu) => (
              <GpuRow key={gpu.uuid} gpu={at === undefined ? gpu : { ...gpu, holders: holdersAt(gpu, changes, at) }} profile={at === undefined ? profile : ""} profiles={profiles} />
            ))}
          </div>
        ))}
      </Section>
      {(data.lost?.length ?? 0) > 0 && (
        <Section title="Claims of GPUs that no node has">
          <PlainTable label="Lost claims" titles={["Claim", "Profile", "Pod"]} rows={data.lost!.map((one) => [one.claim, one.profile, `${one.namespace}/${one.pod}`])} />
        </Section>
      )}
      <Command text="athanor slices" />
    </>
  );
}

function SlotLegend({ profiles }: { profiles: string[] }) {
  return (
    <span class="legend">
      {profiles.map((one) => (
        <span key={one}>
          <i class={`profile-${colourOf(one, profiles)}`} />
          {one}
        </span>
      ))}
      <span><i class="hatched" />not in use yet</span>
      <span><i class="borrowed" />not by DAS</span>
      <span><i class="free" />free</span>
      <span><i class="good" />fits here</span>
    </span>
  );
}

function GpuRow({ gpu, profile, profiles }: { gpu: Gpu; profile: string; profiles: string[] }) {
  const now = useNow();
  const places = placesOf(gpu, profile);
  const blocks = blocksOf(gpu);
  const unhealthy = gpu.health && gpu.health !== "Healthy";
  const best = Object.entries(gpu.room ?? {}).filter(([, count]) => count > 0);
  // Of the chosen profile; without one, of that which is fragmented most.
  const fragmented = Object.entries(gpu.fragmentation ?? {}).filter(([name]) => !profile || name === profile).sort((a, b) => b[1] - a[1])[0];
  return (
    <div class={`mig-gpu${unhealthy ? " unhealthy" : ""}`} data-testid={`mig-gpu-${gpu.uuid}`}>
      <div class="mig-name" title={gpu.uuid}>
        <b>GPU {gpu.index ?? ""}</b> {unhealthy && <Badge state="Unhealthy" tone="bad" />} {gpu.mode && gpu.mode !== "mig" && <span class="badge idle">{gpu.mode}</span>} <span class="dim">{[gpu.name?.replace(/^NVIDIA /, ""), gpu.memory, shortUuid(gpu.uuid)].filter(Boolean).join(" · ")}</span>
      </div>
      <ol class="slots" aria-label={`Slots of GPU ${gpu.index ?? ""} on ${gpu.node}`} style={{ gridTemplateColumns: `repeat(${gpu.total}, 1fr)` }}>
        {blocks.map((block) => {
          const holder = block.holder;
          const state = holder?.state && holder.state !== "inUse" ? holder.state : "";
          const text = holder ? `${holder.profile || holder.claim} · ${holder.namespace ? `${holder.namespace}/` : ""}${holder.pod}${holder.container ? ` (${holder.container})` : ""}${holder.state ? ` · ${holder.state}` : ""}${holder.created ? ` · ${ageOf(holder.created, now)} old` : ""}${holder.reservedFor ? ` · reserved for ${holder.reservedFor}` : ""}` : block.kind === "foreign" ? "an instance that DAS did not make" : `slot ${block.start} is free`;
          const fits = block.kind === "free" && places.has(block.start);
          return (
            <li class={`slot ${block.kind}${holder ? ` profile-${colourOf(holder.profile, profiles)}` : ""}${state ? ` hatched state-${state}` : ""}${fits ? " fits" : ""}`} data-claim-state={holder?.state} style={{ gridColumn: `span ${block.size}` }} title={text}>
              <span class="slot-text">{holder ? (block.size >= 2 ? `${holder.profile ?? ""} ${holder.pod ?? ""}` : holder.profile || holder.pod) : block.kind === "foreign" ? "foreign" : block.start}</span>
              <span class="slot-cells" aria-hidden="true">
                {Array.from({ length: block.size }, (_, i) => (
                  <i data-testid={`mig-slot-${gpu.uuid}-${block.start + i}`} data-state={block.kind} key={i} />
                ))}
              </span>
            </li>
          );
        })}
      </ol>
      <div class="mig-room dim">
        {best.length ? best.map(([name, count]) => `${count}× ${name}`).join(", ") : "full"}
        {gpu.largestFree && ` · largest ${gpu.largestFree}`}
        {fragmented && (profile || fragmented[1] > 0) && ` · fragmentation ${Math.round(fragmented[1] * 100)} % for ${fragmented[0]}`}
      </div>
    </div>
  );
}

interface Answer {
  fits?: number;
  asked?: number;
  spots?: { node?: string; gpu?: string; profile?: string; start?: number }[];
  why?: string;
}

function WhatIf({ profiles }: { profiles: string[] }) {
  const [profile, setProfile] = useState("");
  const [count, setCount] = useState(1);
  const [answer, setAnswer] = useState<Answer | undefined>();
  const [problem, setProblem] = useState("");
  const ask = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      setAnswer(await send<Answer>("POST", "/mig/whatif", { profile: profile || profiles[0], count }));
    } catch (error) {
      setAnswer(undefined);
      setProblem(problemOf(error));
    }
  };
  return (
    <form class="inline-form" onSubmit={(event) => void ask(event)}>
      <span>What if</span>
      <input type="number" min="1" max="1000" value={count} aria-label="Number" onInput={(event) => setCount(Number(event.currentTarget.value))} />
      <span>pods with one</span>
      <select aria-label="Profile" value={profile || profiles[0]} onChange={(event) => setProfile(event.currentTarget.value)}>
        {profiles.map((one) => (
          <option value={one}>{one}</option>
        ))}
      </select>
      <button type="submit" data-testid="whatif">Where would they go?</button>
      <span class="dim">changes nothing</span>
      {problem && <span class="bad-text">{problem}</span>}
      {answer && (
        <span role="status" data-testid="whatif-answer">
          <b class={answer.fits === answer.asked ? "good-text" : "warn-text"}>
            {answer.fits} of {answer.asked} fit
          </b>
          {answer.why && `: ${answer.why}`} {(answer.spots ?? []).map((one) => `${one.node} ${one.gpu} slot ${one.start}`).join(", ")}
        </span>
      )}
    </form>
  );
}

function Replay({ changes, from, at, onAt }: { changes: HistoryChange[]; from: string | undefined; at: number | undefined; onAt: (at: number | undefined) => void }) {
  if (!changes.length) return <span class="dim">no change in the last 24 h</span>;
  const now = serverNow();
  const first = from ? millis(from) : now - 864e5;
  return (
    <label class="replay">
      <span class="dim">{at === undefined ? "now" : <span title={absolute(new Date(at).toISOString())}>{span(now - at)} ago</span>}</span>
      <input
        type="range"
        min="0"
        max="1000"
        value={at === undefined ? 1000 : Math.round((1000 * (at - first)) / (now - first))}
        aria-label="Time to show, from 24 hours ago to now"
        onInput={(event) => {
          const value = Number(event.currentTarget.value);
          onAt(value >= 1000 ? undefined : first + ((now - first) * value) / 1000);
        }}
      />
    </label>
  );
}
