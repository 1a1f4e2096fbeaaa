// SPDX-License-Identifier: Apache-2.0
// All clusters: state, GPUs, lock, and what runs there.
import { useState } from "preact/hooks";
import { useRows } from "../../core/data";
import type { Fields } from "../../core/filter";
import { useSession } from "../../core/session";
import { millis } from "../../core/time";
import type { Cluster } from "../../core/types";
import { Age, Badge, Bar, Empty, Left, To, type Tone } from "../../ui/basics";
import { DataTable, type Column } from "../../ui/table";
import { LockBadge, LockDialog } from "./locks";

const kTones: Record<string, Tone> = { Valid: "good", Cordoned: "warn", Missing: "bad", Invalid: "bad", Expired: "bad", DiscoveryFailed: "bad", Unreachable: "bad" };

// The state of a cluster.
export function ClusterState({ cluster }: { cluster: Cluster }) {
  return <Badge state={cluster.cordoned && cluster.state === "Valid" ? "Cordoned" : cluster.state} tone={cluster.cordoned ? "warn" : (kTones[cluster.state] ?? "idle")} />;
}

export const clusterFields: Fields<Cluster> = {
  state: { text: (row) => row.state },
  name: { text: (row) => row.name },
  gpu: { text: (row) => (row.gpus ?? []).map((one) => one.type) },
  lock: { text: (row) => row.lock?.state },
  holder: { text: (row) => row.lock?.holder },
  owner: { text: (row) => row.owner },
  cordoned: { text: (row) => String(!!row.cordoned) },
  age: { span: (row, now) => now - millis(row.created) },
};
const words = (row: Cluster) => [row.name, row.details, row.lock?.holder, row.owner, row.nextJob, row.serverVersion, ...(row.troubles ?? [])];

// GPUs of a cluster as bars.
export function GpuBars({ gpus }: { gpus: Cluster["gpus"] }) {
  const shown = (gpus ?? []).filter((one) => one.total > 0 || one.used > 0);
  if (!shown.length) return <span class="dim">none</span>;
  return (
    <span class="gpubars">
      {shown.slice(0, 2).map((one) => (
        <span class="usage" key={one.type}>
          <span class="nowrap">
            {one.used}/{one.total} {one.type}
          </span>
          <Bar total={one.total} label={`${one.type}: ${one.used} of ${one.total} used`} parts={[{ value: one.used, tone: "used", name: "used" }]} />
        </span>
      ))}
    </span>
  );
}

function columns(lock: ((cluster: Cluster) => void) | undefined): Column<Cluster>[] {
  return [
    { id: "state", title: "State", width: 130, sort: (row) => row.state, text: (row) => row.state, cell: (row) => <ClusterState cluster={row} /> },
    { id: "name", title: "Cluster", width: 110, grow: true, sort: (row) => row.name, text: (row) => row.name, cell: (row) => <To path={`/clusters/${encodeURIComponent(row.name)}`} class="name">{row.name}</To> },
    { id: "gpus", title: "GPUs used/total", width: 150, sort: (row) => (row.gpus ?? []).reduce((sum, one) => sum + one.total, 0), text: (row) => (row.gpus ?? []).filter((one) => one.total > 0 || one.used > 0).map((one) => `${one.used}/${one.total} ${one.type}`).join(", "), cell: (row) => <GpuBars gpus={row.gpus} /> },
    { id: "slots", title: "Slots", width: 60, right: true, sort: (row) => row.slots?.used, text: (row) => (row.slots ? `${row.slots.used}/${row.slots.total}` : "") },
    { id: "lock", title: "Lock", width: 106, sort: (row) => (row.lock ? row.lock.state : ""), text: (row) => row.lock?.state ?? "", cell: (row) => <LockBadge cluster={row.name} lock={row.lock} /> },
    { id: "holder", title: "Holder", width: 70, sort: (row) => row.lock?.holder, text: (row) => row.lock?.holder ?? "" },
    { id: "left", title: "Time left", width: 78, sort: (row) => millis(row.lock?.expires), cell: (row) => (row.lock?.expires ? <Left until={row.lock.expires} /> : <span class="dim">–</span>) },
    { id: "runningJobs", title: "Jobs", width: 50, right: true, sort: (row) => row.runningJobs, text: (row) => String(row.runningJobs ?? 0), cell: (row) => <To path="/jobs" query={{ filter: `cluster:${row.name} archived:false` }}>{row.runningJobs ?? 0}</To> },
    { id: "nextJob", title: "Next job", width: 90, text: (row) => row.nextJob ?? "", cell: (row) => (row.nextJob ? <To path={`/jobs/${encodeURIComponent(row.nextJob)}`} query={{ ns: row.nextJobNs }}>{row.nextJob}</To> : <span class="dim">–</span>) },
    { id: "nodes", title: "Nodes", width: 56, right: true, optional: true, sort: (row) => row.nodes, text: (row) => String(row.nodes ?? "") },
    { id: "lastProbe", title: "Last probe", width: 80, right: true, sort: (row) => millis(row.lastProbe), cell: (row) => row.failures ? <span class="bad-text" title={`${row.failures} probes failed one after another`}>{row.failures} failed</span> : <Age time={row.lastProbe} /> },
    { id: "serverVersion", title: "Version", width: 80, optional: true, sort: (row) => row.serverVersion, text: (row) => row.serverVersion ?? "" },
    { id: "troubles", title: "Troubles", width: 110, grow: true, text: (row) => (row.troubles ?? []).join("; "), cell: (row) => (row.troubles?.length ? <span class="warn-text">{row.troubles.join("; ")}</span> : <span class="dim">–</span>) },
    ...(lock ? [{ id: "action", title: "Action", width: 70, cell: (row: Cluster) => row.managed === false ? <span class="dim" title="Only clusters that Hearth manages can be locked">–</span> : <button type="button" class="small" aria-label={`Lock ${row.name}`} onClick={() => lock(row)}>{row.lock && row.lock.state !== "Unlocked" ? "Change" : "Lock"}</button> }] : []),
  ];
}

// The page.
export function ClustersPage() {
  const session = useSession();
  const source = useRows<Cluster>("/clusters", "clusters");
  const [asked, setAsked] = useState<Cluster | undefined>();
  return (
    <>
      <DataTable<Cluster>
        page="clusters"
        kind="cluster"
        label="Clusters"
        fill
        source={source}
        columns={columns(session.readOnly ? undefined : setAsked)}
        fields={clusterFields}
        words={words}
        sort="name"
        chips={{ key: "state", values: [], of: (row) => row.state }}
        empty={<Empty title="No clusters" hint="A cluster appears when a Secret with its kubeconfig is labelled, or a FournosCluster is created." command="athanor clusters add NAME --kubeconfig FILE" />}
      />
      {asked && <LockDialog cluster={asked.name} lock={asked.lock} onClose={() => setAsked(undefined)} />}
    </>
  );
}
