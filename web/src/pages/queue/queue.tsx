// SPDX-License-Identifier: Apache-2.0
// The queue: quota of the ClusterQueues, clusters by type of GPU, and the Workloads in their order.
import { useData, useRows } from "../../core/data";
import type { Fields } from "../../core/filter";
import { setQuery, useParam } from "../../core/router";
import { millis } from "../../core/time";
import type { QueueView, Quota, Workload } from "../../core/types";
import { Age, Badge, Bar, Empty, Partial, Section, To, type Tone } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { DataTable, PlainTable, type Column } from "../../ui/table";
import { ExplainPanel } from "./explain";
import { route } from "../../core/api";

export const workloadStates = ["waits", "inactive", "has quota", "runs", "finished"];
const kTones: Record<string, Tone> = { waits: "wait", inactive: "warn", "has quota": "busy", runs: "busy", finished: "good" };

// The state of a Workload.
export function WorkloadState({ state }: { state: string }) {
  return <Badge state={state} tone={kTones[state] ?? "idle"} />;
}

export const workloadFields: Fields<Workload> = {
  state: { text: (row) => row.state },
  name: { text: (row) => row.name },
  ns: { text: (row) => row.ns },
  queue: { text: (row) => row.queue },
  clusterqueue: { text: (row) => row.clusterQueue },
  owner: { text: (row) => row.owner },
  job: { text: (row) => row.job },
  priority: { number: (row) => row.priority },
  age: { span: (row, now) => now - millis(row.created) },
};
const words = (row: Workload) => [row.name, row.owner, row.queue, row.clusterQueue, row.requests, row.reason, row.says];

function columns(explain: (row: Workload) => void): Column<Workload>[] {
  return [
    { id: "state", title: "State", width: 92, sort: (row) => workloadStates.indexOf(row.state) * 1e6 + (row.position ?? 0), text: (row) => row.state, cell: (row) => <WorkloadState state={row.state} /> },
    { id: "position", title: "Place", width: 60, right: true, sort: (row) => row.position || null, text: (row) => (row.position ? `#${row.position}` : "") },
    { id: "owner", title: "Owner", width: 200, grow: true, sort: (row) => row.owner, text: (row) => row.owner ?? "", cell: (row) => <To path={`/workloads${route(row.ns, row.name)}`} class="name">{row.owner || row.name}</To> },
    { id: "reason", title: "Why", width: 260, grow: true, sort: (row) => row.reason, text: (row) => row.reason || row.says || "", cell: (row) => (row.state === "waits" || row.state === "inactive" ? <button type="button" class="link" onClick={() => explain(row)}>{row.reason || row.says || "explain"}</button> : row.says || row.reason || "") },
    { id: "requests", title: "Requests", width: 220, text: (row) => shortRequests(row.requests) },
    { id: "queue", title: "LocalQueue", width: 120, sort: (row) => row.queue, text: (row) => row.queue ?? "" },
    { id: "clusterQueue", title: "ClusterQueue", width: 120, optional: true, sort: (row) => row.clusterQueue, text: (row) => row.clusterQueue ?? "" },
    { id: "priority", title: "Priority", width: 68, right: true, sort: (row) => row.priority, text: (row) => String(row.priority ?? 0) },
    { id: "created", title: "Age", width: 66, right: true, sort: (row) => millis(row.created), cell: (row) => <Age time={row.created} /> },
    { id: "finished", title: "Finished", width: 76, right: true, optional: true, sort: (row) => (row.finished ? millis(row.finished) : null), cell: (row) => (row.finished ? <Age time={row.finished} /> : "") },
  ];
}

// Shortens "fournos/gpu-a100=2,fournos/cluster-slot=1" to "2 gpu-a100, 1 cluster-slot".
export function shortRequests(text: string | undefined): string {
  return (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((one) => {
      const at = one.lastIndexOf("=");
      return at < 0 ? one : `${one.slice(at + 1)} ${one.slice(0, at).split("/").at(-1)}`;
    })
    .join(", ");
}

// The page.
export function QueuePage() {
  const queue = useData<QueueView>("/queue", ["queue"]);
  const source = useRows<Workload>("/workloads", "workloads");
  const [explained, setExplained] = useParam("explain");
  const [ns, name] = explained.split("/");
  const row = source.rows.find((one) => `${one.ns}/${one.name}` === explained);
  return (
    <>
      {queue.error && <p class="notice bad">✕ {queue.error.message}</p>}
      <Partial of={queue.data} />
      {queue.data && <Queues view={queue.data} />}
      <DataTable<Workload>
        page="queue"
        kind="workload"
        label="Workloads"
        fill
        source={source}
        columns={columns((one) => setExplained(`${one.ns}/${one.name}`))}
        fields={workloadFields}
        words={words}
        sort="state"
        chips={{ key: "state", values: workloadStates, of: (one) => one.state }}
        empty={<Empty title="Nothing in the queue" hint="Jobs, pods and AppWrappers with a queue's label appear here while they wait or hold quota." command="athanor submit -f examples/fournos/sample-job.yaml" />}
      />
      {explained && (
        <Dialog title={`Why does ${row?.owner || name} wait?`} onClose={() => setExplained("")} wide>
          <ExplainPanel path={`/workloads${route(ns, name)}/explain`} />
          <div class="dialog-actions">
            <To path={`/workloads${route(ns, name)}`} class="button">Open its page</To>
            <button type="button" onClick={() => setExplained("")}>Close</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Queues({ view }: { view: QueueView }) {
  const queues = view.clusterQueues ?? [];
  const matrix = view.matrix;
  return (
    <div class="columns">
      <Section title="ClusterQueues" note={<QuotaLegend />} actions={<To path="/whatif" class="button">What if…</To>}>
        {queues.length === 0 && <Empty title="No ClusterQueue" hint="A ClusterQueue gives quota to LocalQueues." />}
        {queues.map((one) => (
          <div class="queue" key={one.name}>
          <span class="queue-counts">
            <button type="button" class="link" onClick={() => setQuery({ filter: `state:waits clusterqueue:${one.name}` })}>{one.waiting} waiting</button>, {one.admitted} admitted
          </span>
          <details open={queues.length <= 3}>
            <summary>
              <b>{one.name}</b> {one.active ? <Badge state="Active" /> : <Badge state="Inactive" />} <span class="dim">{one.cohort && `cohort ${one.cohort} · `}{one.strategy}</span>
            </summary>
            {!one.active && one.inactiveReason && <p class="notice warn">! {one.inactiveReason}</p>}
            <div class="quota-grid">
              {(one.quotas ?? []).filter((quota) => Number(quota.nominalNumber ?? quota.nominal) > 0 || Number(quota.usedNumber ?? quota.used) > 0).filter((quota) => quota.resource !== "fournos/cluster-slot" || Number(quota.usedNumber) > 0 || (one.quotas ?? []).length < 6).map((quota) => (
                <QuotaBar key={quota.flavor + quota.resource} quota={quota} />
              ))}
            </div>
          </details>
          </div>
        ))}
      </Section>
      <div class="stack">
        {matrix && (matrix.rows?.length ?? 0) > 0 && (
          <Section title="Clusters by type of GPU" note="used of quota">
            <div class="plaintable" tabIndex={0} role="group" aria-label="Clusters by type of GPU">
              <table class="matrix">
                <thead>
                  <tr>
                    <td />
                    {(matrix.columns ?? []).map((column) => <th scope="col">{column}</th>)}
                  </tr>
                </thead>
                <tbody>
                  {(matrix.rows ?? []).map((cluster) => (
                    <tr key={cluster}>
                      <th scope="row"><To path={`/clusters/${encodeURIComponent(cluster)}`}>{cluster}</To></th>
                      {(matrix.columns ?? []).map((column) => {
                        const cell = matrix.cells?.find((one) => one.row === cluster && one.column === column);
                        if (!cell || !cell.total) return <td class="none" />;
                        return (
                          <td>
                            {cell.used}/{cell.total} {cell.locked && <span class="warn-text">locked</span>}
                            <Bar total={cell.total} label={`${cluster} ${column}: ${cell.used} of ${cell.total} used`} parts={[{ value: cell.used, tone: cell.locked ? "borrowed" : "used", name: "used" }]} />
                          </td>
                        );
                      })}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Section>
        )}
        {(view.localQueues?.length ?? 0) > 0 && (
          <Section title="LocalQueues">
            <PlainTable label="LocalQueues" titles={["LocalQueue", "Namespace", "ClusterQueue", "Waiting", "Admitted"]} right={[3, 4]} rows={view.localQueues!.map((one) => [<To path="/queue" query={{ filter: `ns:${one.ns} queue:${one.name}` }}>{one.name}</To>, one.ns, <>{one.clusterQueue} {!one.active && <Badge state="Inactive" />}</>, one.waiting, one.admitted])} />
          </Section>
        )}
      </div>
    </div>
  );
}

function QuotaLegend() {
  return (
    <span class="legend">
      <span><i class="used" />used</span>
      <span><i class="reserved" />reserved</span>
      <span><i class="borrowed" />borrowed</span>
      <span><i class="free" />free</span>
    </span>
  );
}

function QuotaBar({ quota }: { quota: Quota }) {
  const nominal = quota.nominalNumber ?? Number(quota.nominal);
  const used = quota.usedNumber ?? Number(quota.used);
  const reserved = Math.max(0, (quota.reservedNumber ?? Number(quota.reserved)) - used);
  const borrowed = Math.max(0, used - nominal);
  const text = `${quota.used}${reserved ? `+${reserved}` : ""}/${quota.nominal}`;
  return (
    <div class="quota" title={`${quota.resource} of flavor ${quota.flavor}: used ${quota.used}, reserved ${quota.reserved}, nominal ${quota.nominal}, borrowed ${quota.borrowed}, lent ${quota.lent}`}>
      <span>{quota.flavor} <span class="dim">{quota.shortResource ?? quota.resource}</span></span>
      <span class="right">{text}{Number(quota.borrowed) > 0 && <span class="warn-text"> borrows {quota.borrowed}</span>}{Number(quota.lent) > 0 && <span class="dim"> lends {quota.lent}</span>}</span>
      <Bar
        total={Math.max(nominal, used + reserved) || 1}
        {...(borrowed ? { mark: nominal } : {})}
        label={`${quota.flavor} ${quota.shortResource ?? quota.resource}: used ${quota.used}, reserved ${quota.reserved} of ${quota.nominal}`}
        parts={[
          { value: used - borrowed, tone: "used", name: "used" },
          { value: borrowed, tone: "borrowed", name: "borrowed" },
          { value: reserved, tone: "reserved", name: "reserved" },
        ]}
      />
    </div>
  );
}
