// SPDX-License-Identifier: Apache-2.0
// One node: its GPUs, its pods, its YAML.
import { route } from "../../core/api";
import { useData } from "../../core/data";
import type { Manifest, NodeRow, Pod } from "../../core/types";
import { Age, Bar, Facts, Section, To } from "../../ui/basics";
import { ObjectEvents, Pods, RelatedTab, Trouble, YamlTab } from "../../ui/object";
import { Tabs } from "../../ui/tabs";
import { NodeActions, NodeState } from "./nodes";

interface NodeDetail {
  node: NodeRow;
  object?: Manifest;
  pods?: Pod[];
}

// The page.
export function NodePage({ args }: { args: string[] }) {
  const name = args[0]!;
  const { data, error } = useData<NodeDetail>(`/nodes${route(name)}`, ["nodes"]);
  if (!data) return error ? <Trouble error={error} back={["/nodes", "All nodes"]} /> : <p class="loading">Loading…</p>;
  const { node } = data;
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/nodes">Nodes</To> /
        </span>
        <b class="object-name">{name}</b>
        <NodeState state={node.state} />
        {node.emulated && <span class="badge idle">emulated{node.failed ? ", failed" : ""}</span>}
        <span class="grow" />
        <NodeActions node={node} />
      </div>
      <Tabs
        label="Parts of the node"
        tabs={[
          { id: "overview", name: "Overview", body: () => <Overview node={node} /> },
          { id: "pods", name: "Pods", count: data.pods?.length, body: () => <Pods pods={data.pods} /> },
          { id: "events", name: "Events", body: () => <ObjectEvents apiVersion="v1" kind="Node" name={name} topics={["nodes"]} /> },
          { id: "related", name: "Related", body: () => <RelatedTab apiVersion="v1" kind="Node" name={name} topics={["nodes"]} /> },
          { id: "yaml", name: "YAML", body: () => <YamlTab object={data.object} command={`kubectl get node ${name} -o yaml`} /> },
        ]}
      />
    </>
  );
}

function Overview({ node }: { node: NodeRow }) {
  return (
    <div class="columns">
      <Section title="Facts">
        <Facts
          facts={[
            ["Roles", (node.roles ?? []).join(", ")],
            ["NUMA policy", node.numaPolicy],
            ["Pods", String(node.pods ?? 0)],
            ["Pressure", (node.pressure ?? []).join(", ") || "none"],
            ["Taints", (node.taints ?? []).join(", ") || "none"],
            ["Created", <Age time={node.created} suffix=" ago" />],
          ]}
        />
      </Section>
      <Section title="GPUs">
        {(node.gpuList ?? []).map((one) => (
          <div class="quota" key={one.resource + (one.type ?? "")}>
            <span>
              {one.type ?? one.resource} {one.shared && <span class="dim">shared</span>}
            </span>
            <span class="right">
              {one.used}/{one.total}
            </span>
            <Bar total={one.total} label={`${one.type ?? one.resource}: ${one.used} of ${one.total} used`} parts={[{ value: one.used, tone: "used", name: "used" }]} />
          </div>
        ))}
        {!node.gpuList?.length && <p class="dim">This node has no GPUs.</p>}
      </Section>
    </div>
  );
}
