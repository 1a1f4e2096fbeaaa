// SPDX-License-Identifier: Apache-2.0
// NUMA zones: resources of each zone as bars, and whether a container or pod would fit in one.
import { useState } from "preact/hooks";
import { problemOf, send } from "../../core/api";
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import { Age, Badge, Bar, Command, Empty, Partial, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { bytes } from "../jobs/artifacts";

interface ZoneResource {
  name: string;
  unit?: string;
  capacity: number;
  allocatable: number;
  available: number;
  used: number;
  reserved: number;
  text?: string;
}

interface NumaNode {
  node: string;
  policy?: string;
  scope?: string;
  updated?: string;
  stale?: boolean;
  fingerprint?: string;
  zones?: { name: string; id?: number; resources?: ZoneResource[]; distances?: { zone: string; value: number }[] }[];
  pods?: { ns?: string; name: string; requests?: string; zone?: string }[];
}

interface NumaView {
  nodes?: NumaNode[];
  problems?: { object: string; text: string }[];
  partial?: boolean;
}

// The page.
export function NumaPage() {
  const { data, error } = useData<NumaView>("/numa", ["numa"]);
  const [filter, setFilter] = useParam("filter");
  const [fit, setFit] = useState<Fit[] | undefined>();
  if (!data) return error ? <p class="notice bad">✕ {error.message}</p> : <p class="loading">Loading…</p>;
  const nodes = (data.nodes ?? []).filter((one) => !filter || one.node.toLowerCase().includes(filter.toLowerCase()) || one.policy?.toLowerCase().includes(filter.toLowerCase()));
  if (!data.nodes?.length) return <Empty title="No NUMA zones" hint="Nodes publish their zones as NodeResourceTopology objects; a lab has emulated ones." command="athanor up --lab examples/numa/lab.yaml" />;
  return (
    <>
      {error && <p class="notice bad">✕ {error.message}</p>}
      <Partial of={data} />
      <div class="toolbar">
        <div class="filterbox">
          <input type="search" aria-label="Filter" placeholder="Filter: node or policy" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} data-testid="filter-input" />
        </div>
        <span class="dim count-of">
          {nodes.length} of {data.nodes.length} nodes
        </span>
        <Legend />
      </div>
      {(data.problems?.length ?? 0) > 0 && (
        <Section title="Problems">
          <PlainTable label="Problems" titles={["Object", "Problem"]} rows={data.problems!.map((one) => [one.object, <span class="warn-text">{one.text}</span>])} />
        </Section>
      )}
      <FitForm onFit={setFit} />
      <div class="numa-grid">
        {nodes.map((node) => (
          <NodeZones key={node.node} node={node} fit={fit?.find((one) => one.node === node.node)} />
        ))}
      </div>
      <Command text="athanor numa" />
    </>
  );
}

function Legend() {
  return (
    <span class="legend count-of">
      <span><i class="used" />used</span>
      <span><i class="reserved" />reserved for the system</span>
      <span><i class="free" />available</span>
    </span>
  );
}

// Formats an amount in its unit.
export function amount(value: number, unit: string | undefined): string {
  if (unit === "bytes") return bytes(Math.max(0, value));
  return String(Math.round(value * 100) / 100);
}

function NodeZones({ node, fit }: { node: NumaNode; fit: Fit | undefined }) {
  const zones = node.zones ?? [];
  const pods = node.pods ?? [];
  return (
    <section class="section" aria-label={node.node}>
      <div class="section-head">
        <h2>
          <To path={`/nodes/${encodeURIComponent(node.node)}`}>{node.node}</To>
        </h2>
        <span class="dim" title={node.fingerprint ? `fingerprint ${node.fingerprint}` : undefined}>
          {[node.policy, node.scope && `scope ${node.scope}`].filter(Boolean).join(" · ")}
          {node.updated && (
            <span data-testid={`numa-age-${node.node}`}>
              {" · "}
              <Age time={node.updated} suffix=" old" />
            </span>
          )}
        </span>
        {node.stale && <Badge state="Stale" />}
        {fit && <Badge state={fit.verdict} tone={fit.verdict === "one zone" ? "good" : fit.verdict === "no" ? "bad" : "warn"} title={fit.reason} />}
      </div>
      {fit && (
        <p class="dim">
          {fit.zone && `would get ${fit.zone}`} {fit.reason}
        </p>
      )}
      <div class="zones">
        {zones.map((zone) => (
          <div class={`zone${fit?.zone === zone.name ? " fits" : ""}`} data-testid={`numa-zone-${node.node}-${zone.name}`} title={`Distances: ${(zone.distances ?? []).map((one) => `${one.zone} ${one.value}`).join(", ") || "unknown"}`}>
            <h3>{zone.name}</h3>
            {(zone.resources ?? []).map((one) => (
              <ZoneBar key={one.name} resource={one} zone={zone.name} />
            ))}
          </div>
        ))}
      </div>
      {pods.length > 0 && (
        <details>
          <summary>
            {pods.length} guaranteed {pods.length === 1 ? "pod" : "pods"}
          </summary>
          <PlainTable label={`Pods of ${node.node}`} titles={["Pod", "Requests", "Zone"]} rows={pods.map((pod) => [`${pod.ns}/${pod.name}`, pod.requests, pod.zone || "unknown"])} />
        </details>
      )}
    </section>
  );
}

function ZoneBar({ resource, zone }: { resource: ZoneResource; zone: string }) {
  const device = resource.unit === "count" && resource.capacity <= 16 && resource.name.includes("/");
  const full = resource.allocatable > 0 && resource.used / resource.allocatable > 0.9;
  const label = `${resource.name} of ${zone}: ${amount(resource.available, resource.unit)} of ${amount(resource.allocatable, resource.unit)} available, ${amount(resource.reserved, resource.unit)} reserved`;
  return (
    <div class="quota" title={label}>
      <span>{resource.name}</span>
      <span class={`right${full ? " warn-text" : ""}`}>
        {amount(resource.used, resource.unit)}/{amount(resource.allocatable, resource.unit)}
      </span>
      {device ? (
        <span class="devices" role="img" aria-label={label}>
          {Array.from({ length: resource.capacity }, (_, i) => (
            <i class={i < resource.used ? "used" : i < resource.allocatable ? "free" : "reserved"} key={i} />
          ))}
        </span>
      ) : (
        <Bar
          total={resource.capacity}
          label={label}
          parts={[
            { value: Math.max(0, resource.used), tone: full ? "borrowed" : "used", name: "used" },
            { value: Math.max(0, resource.reserved), tone: "reserved", name: "reserved" },
          ]}
        />
      )}
    </div>
  );
}

interface Fit {
  node: string;
  fits: boolean;
  zone?: string;
  verdict: string;
  reason?: string;
}

function FitForm({ onFit }: { onFit: (fit: Fit[] | undefined) => void }) {
  const [text, setText] = useParam("fit");
  const [problem, setProblem] = useState("");
  const [count, setCount] = useState<string>("");
  const ask = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    const requests: Record<string, string> = {};
    for (const part of text.split(/[\s,]+/).filter(Boolean)) {
      const [name, value] = part.split("=");
      if (!name || !value) return setProblem(`${part}: write it as cpu=4`);
      requests[name] = value;
    }
    try {
      const answer = await send<{ nodes?: Fit[] }>("POST", "/numa/fit", { requests });
      const nodes = answer.nodes ?? [];
      onFit(nodes);
      setCount(`${nodes.filter((one) => one.verdict === "one zone").length} of ${nodes.length} nodes have one zone for it`);
    } catch (error) {
      onFit(undefined);
      setCount("");
      setProblem(problemOf(error));
    }
  };
  return (
    <form class="section inline-form" onSubmit={(event) => void ask(event)}>
      <label>
        Would{" "}
        <input value={text} size={36} placeholder="cpu=4 memory=8Gi nvidia.com/gpu=1" aria-label="Requests" onInput={(event) => setText(event.currentTarget.value)} data-testid="fit-requests" />
      </label>
      <button type="submit" disabled={!text} data-testid="fit">
        fit in one zone?
      </button>
      {problem ? <span class="bad-text" role="alert">{problem}</span> : <span role="status">{count}</span>}
    </form>
  );
}
