// SPDX-License-Identifier: Apache-2.0
// The console itself: its connection, watches, history, features, audit log and settings.
import { useData } from "../../core/data";
import type { Feature } from "../../core/types";
import { Age, Badge, Bar, Facts, Section } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { bytes } from "../jobs/artifacts";

interface System {
  version?: string;
  api?: { server?: string; version?: string; connected: boolean; since?: string; error?: string; latencySeconds?: number };
  watches?: { kind: string; listed: boolean; watching: boolean; events: number; objects: number; lists: number; error?: string }[];
  controllers?: { name: string; healthy?: boolean; queue?: number; lastError?: string; leader?: string }[];
  features?: Feature[];
  history?: { backend?: string; connected: boolean; jobs?: number; queued?: number; error?: string };
  logs?: { bytes: number; limitBytes: number };
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
              ["Since", <Age time={api?.since} />],
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
              ["Error", history?.error && <span class="bad-text">{history.error}</span>],
              ["Log archive", logs && <span class="usage"><span class="nowrap">{bytes(logs.bytes)} of {bytes(logs.limitBytes)}</span><Bar total={logs.limitBytes} label={`${bytes(logs.bytes)} of ${bytes(logs.limitBytes)}`} parts={[{ value: logs.bytes, tone: "used", name: "used" }]} /></span>],
            ]}
          />
        </Section>
      </div>
      <Section title="Features" testid="features">
        <PlainTable label="Features" titles={["Feature", "State", "Why"]} rows={(data.features ?? []).map((one) => [one.name, <Badge state={one.present ? "present" : "absent"} tone={one.present ? "good" : "idle"} />, one.reason])} />
      </Section>
      {(data.controllers?.length ?? 0) > 0 && (
        <Section title="Controllers">
          <PlainTable label="Controllers" titles={["Controller", "State", "Queue", "Leader", "Last error"]} right={[2]} rows={data.controllers!.map((one) => [one.name, <Badge state={one.healthy === false ? "unhealthy" : "healthy"} tone={one.healthy === false ? "bad" : "good"} />, one.queue ?? 0, one.leader, one.lastError])} />
        </Section>
      )}
      <Section title="Watches" note="one for each kind, whatever the number of viewers">
        <PlainTable
          label="Watches"
          titles={["Kind", "State", "Objects", "Events", "Lists", "Error"]}
          right={[2, 3, 4]}
          rows={(data.watches ?? []).map((one) => [one.kind, <Badge state={one.error ? "error" : one.watching ? "watching" : one.listed ? "listed" : "starting"} tone={one.error ? "bad" : one.watching ? "good" : "wait"} />, one.objects, one.events, one.lists, one.error && <span class="bad-text">{one.error}</span>])}
        />
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
