// SPDX-License-Identifier: Apache-2.0
// The console itself: its connection, watches, history, features, audit log and settings.
import { useData } from "../../core/data";
import { seconds } from "../../core/time";
import type { Feature } from "../../core/types";
import { Age, Badge, Bar, Facts, Section, type Tone } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { bytes } from "../jobs/artifacts";

interface Watch {
  kind: string;
  group?: string;
  ns?: string;
  listed: boolean;
  watching: boolean;
  events: number;
  objects?: number;
  lists: number;
  lagSeconds?: number;
  quietSeconds?: number;
  error?: string;
}

interface Controllers {
  source?: string;
  absent?: string;
  items?: { name: string; state: string; why?: string; queue: number; active: number; errors: number; failing: number; lastError?: string }[];
  ready?: { check: string; ok: boolean }[];
  leader?: { name: string; held: boolean; holder?: string; since?: string; renewed?: string };
  leads?: boolean;
  watches?: Watch[];
  errors?: string[];
}

interface System {
  version?: string;
  api?: { server?: string; version?: string; connected: boolean; error?: string; latencySeconds?: number };
  watches?: Watch[];
  controllers?: Controllers;
  features?: Feature[];
  history?: { backend?: string; connected: boolean; jobs?: number; queued?: number; lost?: number; error?: string };
  logs?: { bytes: number; limitBytes: number; held?: number; lost?: number; error?: string };
  viewers?: number;
  audit?: { at: string; user?: string; action: string; object?: string; outcome?: string }[];
  configuration?: { name: string; value?: string }[];
}

// The page.
export function SystemPage() {
  const { data, error } = useData<System>("/system", ["problems", "jobs"]);
  if (!data) return error ? <p class="notice bad">✕ {error.message}</p> : <p class="loading">Loading…</p>;
  const { api, history, logs } = data;
  return (
    <>
      <div class="columns">
        <Section title="API server">
          <Facts
            facts={[
              ["State", <Badge state={api?.connected ? "connected" : "not connected"} tone={api?.connected ? "good" : "bad"} />],
              ["Address", api?.server],
              ["Version", api?.version],
              ["Latency", api?.latencySeconds === undefined ? "" : `${(api.latencySeconds * 1000).toFixed(1)} ms`],
              ["Error", api?.error && <span class="bad-text">{api.error}</span>],
            ]}
          />
        </Section>
        <Section title="Console">
          <Facts
            facts={[
              ["Version", data.version],
              ["Viewers", String(data.viewers ?? 0)],
              ["History", <><Badge state={history?.backend ?? "none"} tone={history?.connected ? "good" : "bad"} /> {history?.jobs ?? 0} jobs{history?.queued ? `, ${history.queued} wait to be written` : ""}</>],
              ["History error", history?.error && <span class="bad-text">{history.error}</span>],
              ["Lost entries", history?.lost ? <span class="bad-text">{history.lost}</span> : ""],
              ["Log archive", logs && <span class="usage"><span class="nowrap">{bytes(logs.bytes)} of {bytes(logs.limitBytes)}</span><Bar total={logs.limitBytes} label={`${bytes(logs.bytes)} of ${bytes(logs.limitBytes)}`} parts={[{ value: logs.bytes, tone: "used", name: "used" }]} /></span>],
              ["Log error", logs?.error && <span class="bad-text">{logs.error}</span>],
              ["Logs in memory", logs?.held || logs?.lost ? `${logs.held ?? 0} wait to be archived${logs.lost ? `, ${logs.lost} lost` : ""}` : ""],
            ]}
          />
        </Section>
      </div>
      <ControllersSection controllers={data.controllers} />
      <Section title="Features" testid="features">
        <PlainTable label="Features" titles={["Feature", "State", "Why"]} rows={(data.features ?? []).map((one) => [one.name, <Badge state={one.present ? "present" : "absent"} tone={one.present ? "good" : "idle"} />, one.reason])} />
      </Section>
      <Section title="Watches" note="one for each kind, whatever the number of viewers">
        <Watches label="Watches" watches={data.watches ?? []} />
      </Section>
      <div class="columns">
        <Section title="Audit log">
          {data.audit?.length ? <PlainTable label="Audit log" titles={["When", "User", "Action", "Object", "Outcome"]} rows={data.audit.map((one) => [<Age time={one.at} suffix=" ago" />, one.user, one.action, one.object, one.outcome])} /> : <p class="dim">Nothing was changed from this console yet.</p>}
        </Section>
        <Section title="Configuration">
          <PlainTable label="Configuration" titles={["Variable", "Value"]} rows={(data.configuration ?? []).map((one) => [<code>{one.name}</code>, one.value ? <code>{one.value}</code> : <span class="dim">not set</span>])} />
        </Section>
      </div>
    </>
  );
}

// Longer than this without a word, bookmarks included, and the watch is opened anew.
const kSilence = 125;

// Watches with how far their objects are behind the API server.
function Watches({ label, watches }: { label: string; watches: Watch[] }) {
  const state = (one: Watch) => (one.error ? "error" : one.watching ? "watching" : one.listed ? "listed" : "starting");
  const lag = (one: Watch) => {
    if (one.lagSeconds === undefined) return "";
    const text = one.lagSeconds < 1 ? "< 1s" : seconds(one.lagSeconds);
    return <span class={one.lagSeconds >= (one.watching ? 5 : 1) ? "bad-text" : ""}>{text}</span>;
  };
  const heard = (one: Watch) => one.quietSeconds !== undefined && <span class={one.quietSeconds > kSilence ? "warn-text" : ""}>{seconds(one.quietSeconds)} ago</span>;
  const counted = watches.some((one) => one.objects !== undefined);
  return (
    <PlainTable
      label={label}
      titles={["Kind", "State", "Lag", "Heard", ...(counted ? ["Objects"] : []), "Events", "Lists", "Error"]}
      right={counted ? [2, 3, 4, 5, 6] : [2, 3, 4, 5]}
      rows={watches.map((one) => [
        <>
          {one.kind}
          {one.ns && <span class="dim"> in {one.ns}</span>}
        </>,
        <Badge state={state(one)} tone={one.error ? "bad" : one.watching ? "good" : "wait"} />,
        lag(one),
        heard(one),
        ...(counted ? [one.objects] : []),
        one.events,
        one.lists,
        one.error && <span class="bad-text">{one.error}</span>,
      ])}
    />
  );
}

const kTones: Record<string, Tone> = { healthy: "good", failing: "warn", waiting: "wait", stuck: "bad" };

// Health, queues and leader of the controllers.
function ControllersSection({ controllers }: { controllers: Controllers | undefined }) {
  if (!controllers) return null;
  const { leader } = controllers;
  const checks = controllers.ready ?? [];
  const failed = checks.filter((one) => !one.ok);
  return (
    <Section title="Controllers" note={controllers.source && `from ${controllers.source}`} testid="controllers">
      {controllers.errors?.map((text) => (
        <p class="notice bad" role="alert">
          ✕ {text}
        </p>
      ))}
      {controllers.absent && <p class="dim">{controllers.absent}</p>}
      {(controllers.source || leader) && (
        <Facts
          facts={[
            ["Ready", controllers.source && <Badge state={failed.length ? "not ready" : checks.length ? "ready" : "unknown"} tone={failed.length ? "bad" : checks.length ? "good" : "idle"} />],
            ["Failed checks", failed.length > 0 && <span class="bad-text">{failed.map((one) => one.check).join("; ")}</span>],
            ["This replica", controllers.source && (controllers.leads === undefined ? "takes part in no election" : controllers.leads ? "leads" : "does not lead")],
            ["Leader", leader && <><Badge state={leader.held ? "held" : "not held"} tone={leader.held ? "good" : "bad"} /> {leader.holder ?? "nobody"}</>],
            ["Lease", leader?.name],
            ["Leads since", leader?.since && <Age time={leader.since} suffix=" ago" />],
            ["Renewed", leader?.renewed && <Age time={leader.renewed} suffix=" ago" />],
          ]}
        />
      )}
      {(controllers.items?.length ?? 0) > 0 && (
        <PlainTable
          label="Controllers"
          titles={["Controller", "State", "Queue", "Active", "Errors", "Why", "Last error"]}
          right={[2, 3, 4]}
          rows={controllers.items!.map((one) => [one.name, <Badge state={one.state} tone={kTones[one.state] ?? "idle"} />, one.queue, one.active, one.errors, one.why, one.lastError && <span class="bad-text">{one.lastError}</span>])}
        />
      )}
      {(controllers.watches?.length ?? 0) > 0 && (
        <>
          <h3 class="apart">Watches of the controllers</h3>
          <Watches label="Watches of the controllers" watches={controllers.watches!} />
        </>
      )}
    </Section>
  );
}
