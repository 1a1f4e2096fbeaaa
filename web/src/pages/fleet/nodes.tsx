// SPDX-License-Identifier: Apache-2.0
// Nodes of the cluster that the console looks at.
import { useRows } from "../../core/data";
import { act, route } from "../../core/api";
import type { Fields } from "../../core/filter";
import { useSession } from "../../core/session";
import { millis } from "../../core/time";
import type { NodeRow } from "../../core/types";
import { Age, Badge, Empty, To, type Tone } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { DataTable, type Column } from "../../ui/table";

const kTones: Record<string, Tone> = { Ready: "good", NotReady: "bad", SchedulingDisabled: "warn" };

// The state of a node.
export function NodeState({ state }: { state: string }) {
  return <Badge state={state} tone={kTones[state] ?? "idle"} />;
}

const fields: Fields<NodeRow> = {
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

function columns(readOnly: boolean): Column<NodeRow>[] {
  return [
    { id: "state", title: "State", width: 136, sort: (row) => row.state, text: (row) => row.state, cell: (row) => <NodeState state={row.state} /> },
    { id: "name", title: "Node", width: 180, grow: true, sort: (row) => row.name, text: (row) => row.name, cell: (row) => <><To path={`/nodes/${encodeURIComponent(row.name)}`} class="name">{row.name}</To>{row.emulated && <span class="dim"> emulated</span>}</> },
    { id: "roles", title: "Roles", width: 100, sort: (row) => row.roles?.join(), text: (row) => (row.roles ?? []).join(", ") },
    { id: "gpus", title: "GPUs used/total", width: 190, sort: (row) => row.gpuList?.reduce((sum, one) => sum + one.total, 0), text: gpuText },
    { id: "numa", title: "NUMA policy", width: 140, sort: (row) => row.numaPolicy, text: (row) => row.numaPolicy ?? "" },
    { id: "pods", title: "Pods", width: 56, right: true, sort: (row) => row.pods, text: (row) => String(row.pods ?? 0) },
    { id: "pressure", title: "Pressure", width: 110, text: (row) => (row.pressure ?? []).join(", "), cell: (row) => (row.pressure?.length ? <span class="bad-text">{row.pressure.join(", ")}</span> : <span class="dim">none</span>) },
    { id: "taints", title: "Taints", width: 200, grow: true, text: (row) => (row.taints ?? []).join(", ") },
    { id: "created", title: "Age", width: 66, right: true, sort: (row) => millis(row.created), cell: (row) => <Age time={row.created} /> },
    ...(readOnly ? [] : [{ id: "action", title: "Action", width: 92, cell: (row: NodeRow) => <button type="button" class="small" aria-label={`${row.state === "SchedulingDisabled" ? "Uncordon" : "Cordon"} ${row.name}`} onClick={() => confirm(cordonQuestion(row))}>{row.state === "SchedulingDisabled" ? "Uncordon" : "Cordon"}</button> }]),
  ];
}

// The page.
export function NodesPage() {
  const session = useSession();
  const source = useRows<NodeRow>("/nodes", "nodes");
  return (
    <DataTable<NodeRow> page="nodes" kind="node" label="Nodes" fill source={source} columns={columns(session.readOnly)} fields={fields} words={words} sort="name" chips={{ key: "state", values: ["Ready", "NotReady", "SchedulingDisabled"], of: (row) => row.state }} empty={<Empty title="No nodes" hint="A lab has the nodes of its lab file." command="athanor up --lab examples/numa/lab.yaml" />} />
  );
}
