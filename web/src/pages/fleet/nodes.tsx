// SPDX-License-Identifier: Apache-2.0
// Nodes of the cluster that the console looks at.
import { useState } from "preact/hooks";
import { useRows } from "../../core/data";
import { act, route } from "../../core/api";
import type { Fields } from "../../core/filter";
import { useSession } from "../../core/session";
import { millis } from "../../core/time";
import type { NodeRow } from "../../core/types";
import { Age, Badge, Empty, To, type Tone } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { DataTable, type Column } from "../../ui/table";
import { AddNode } from "./addnode";

const kTones: Record<string, Tone> = { Ready: "good", NotReady: "bad", SchedulingDisabled: "warn" };

// The state of a node.
export function NodeState({ state }: { state: string }) {
  return <Badge state={state} tone={kTones[state] ?? "idle"} />;
}

export const nodeFields: Fields<NodeRow> = {
  state: { text: (row) => row.state },
  name: { text: (row) => row.name },
  role: { text: (row) => row.roles },
  gpu: { text: (row) => (row.gpuList ?? []).map((one) => one.type ?? one.resource) },
  emulated: { text: (row) => String(!!row.emulated) },
  policy: { text: (row) => row.numaPolicy },
  pods: { number: (row) => row.pods },
};
const words = (row: NodeRow) => [row.name, row.gpus, row.numaPolicy, ...(row.taints ?? []), ...(row.pressure ?? []), ...(row.roles ?? [])];

function gpuText(row: NodeRow): string {
  const list = row.gpuList ?? [];
  return list.length ? list.map((one) => `${one.used}/${one.total} ${one.type ?? one.resource}${one.shared ? " shared" : ""}`).join(", ") : (row.gpus ?? "");
}

// Returns the question before a node is cordoned or uncordoned.
export function cordonQuestion(node: NodeRow) {
  const off = node.state === "SchedulingDisabled";
  return {
    title: `${off ? "Uncordon" : "Cordon"} ${node.name}?`,
    effect: off ? `${node.name} takes new pods again.` : `No new pod starts on ${node.name}; those that run stay.`,
    action: off ? "Uncordon" : "Cordon",
    danger: !off,
    run: () => act("POST", `/nodes${route(node.name)}/${off ? "uncordon" : "cordon"}`),
  };
}

// Returns the question before an emulated node fails or recovers.
export function failureQuestion(node: NodeRow) {
  return {
    title: `${node.failed ? "Recover" : "Fail"} ${node.name}?`,
    effect: node.failed ? `The kubelet of ${node.name} reports again; the node becomes ready.` : `The kubelet of ${node.name} falls silent, as when its network is cut: the node becomes not ready, and its pods are evicted after the time that they tolerate.`,
    action: node.failed ? "Recover" : "Fail",
    danger: !node.failed,
    run: () => act("POST", `/nodes${route(node.name)}/${node.failed ? "recover" : "fail"}`),
  };
}

// Buttons of what can be done with a node; failures are for the emulated nodes of a lab.
export function NodeActions({ node, small }: { node: NodeRow; small?: boolean }) {
  const session = useSession();
  if (session.readOnly) return null;
  const questions = [cordonQuestion(node), ...(session.embedded && node.emulated ? [failureQuestion(node)] : [])];
  return (
    <span class="buttons">
      {questions.map((question) => (
        <button type="button" class={small ? "small" : ""} key={question.action} aria-label={`${question.action} ${node.name}`} onClick={() => confirm(question)}>
          {question.action}
        </button>
      ))}
    </span>
  );
}

function columns(readOnly: boolean, embedded: boolean): Column<NodeRow>[] {
  return [
    { id: "state", title: "State", width: 170, sort: (row) => row.state, text: (row) => row.state, cell: (row) => <NodeState state={row.state} /> },
    { id: "name", title: "Node", width: 180, grow: true, sort: (row) => row.name, text: (row) => row.name, cell: (row) => <><To path={`/nodes/${encodeURIComponent(row.name)}`} class="name">{row.name}</To>{row.emulated && <span class="dim"> emulated</span>}</> },
    ...(readOnly ? [] : [{ id: "action", title: "Action", width: embedded ? 164 : 92, cell: (row: NodeRow) => <NodeActions node={row} small /> }]),
    { id: "roles", title: "Roles", width: 100, sort: (row) => row.roles?.join(), text: (row) => (row.roles ?? []).join(", ") },
    { id: "gpus", title: "GPUs used/total", width: 190, sort: (row) => row.gpuList?.reduce((sum, one) => sum + one.total, 0), text: gpuText },
    { id: "numa", title: "NUMA policy", width: 140, sort: (row) => row.numaPolicy, text: (row) => row.numaPolicy ?? "" },
    { id: "pods", title: "Pods", width: 56, right: true, sort: (row) => row.pods, text: (row) => String(row.pods ?? 0) },
    { id: "pressure", title: "Pressure", width: 110, text: (row) => (row.pressure ?? []).join(", "), cell: (row) => (row.pressure?.length ? <span class="bad-text">{row.pressure.join(", ")}</span> : <span class="dim">none</span>) },
    { id: "taints", title: "Taints", width: 200, grow: true, text: (row) => (row.taints ?? []).join(", ") },
    { id: "created", title: "Age", width: 66, right: true, sort: (row) => millis(row.created), cell: (row) => <Age time={row.created} /> },
  ];
}

// The page.
export function NodesPage() {
  const session = useSession();
  const source = useRows<NodeRow>("/nodes", "nodes");
  const [adds, setAdds] = useState(false);
  const lab = !!session.embedded && !session.readOnly;
  return (
    <>
      <DataTable<NodeRow>
        page="nodes"
        kind="node"
        label="Nodes"
        fill
        source={source}
        columns={columns(session.readOnly, !!session.embedded)}
        fields={nodeFields}
        words={words}
        sort="name"
        chips={{ key: "state", values: ["Ready", "NotReady", "SchedulingDisabled"], of: (row) => row.state }}
        tools={lab ? <button type="button" class="primary" onClick={() => setAdds(true)} data-testid="add-node">Add node</button> : undefined}
        empty={<Empty title="No nodes" hint="A lab has the nodes of its lab file." command="athanor up --lab examples/numa/lab.yaml" />}
      />
      {adds && <AddNode models={source.rows.filter((row) => row.emulated)} onClose={() => setAdds(false)} />}
    </>
  );
}
