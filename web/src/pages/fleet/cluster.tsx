// SPDX-License-Identifier: Apache-2.0
// One cluster: its state, hardware, quota, nodes, jobs, and what can be done with it.
import { useMemo, useState } from "preact/hooks";
import { act, route } from "../../core/api";
import { useData } from "../../core/data";
import { useSession } from "../../core/session";
import { millis } from "../../core/time";
import type { ClusterDetail } from "../../core/types";
import { Plot } from "../../charts/plot";
import { Age, Badge, Empty, Facts, Left, Partial, Phase, Section, To } from "../../ui/basics";
import { confirm, Dialog } from "../../ui/dialog";
import { Conditions, Events, RelatedTab, Trouble, YamlTab } from "../../ui/object";
import { PlainTable } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { jobQuery } from "../jobs/model";
import { FleetTimeline } from "../jobs/timeline";
import { ClusterState, GpuBars } from "./clusters";
import { LockBadge, LockButtons, LockDialog } from "./locks";

// The page.
export function ClusterPage({ args }: { args: string[] }) {
  const name = args[0]!;
  const session = useSession();
  const { data, error } = useData<ClusterDetail>(`/clusters${route(name)}`, ["clusters", "jobs", "locks"]);
  const [locking, setLocking] = useState(false);
  if (!data) return error ? <Trouble error={error} back={["/clusters", "All clusters"]} /> : <p class="loading">Loading…</p>;
  const { cluster } = data;
  const locked = cluster.lock && cluster.lock.state !== "Unlocked";
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/clusters">Clusters</To> /
        </span>
        <b class="object-name">{name}</b>
        <ClusterState cluster={cluster} />
        <LockBadge cluster={name} lock={cluster.lock} />
        {locked && (
          <span>
            {cluster.lock!.holder} · <Left until={cluster.lock!.expires} />
          </span>
        )}
        <span class="grow" />
        <To path="/whatif" query={{ change: locked ? "unlock" : "node", cluster: name }} class="button">
          What if…
        </To>
        {!session.readOnly && (
          <>
            {locked ? (
              <LockButtons lock={cluster.lock!} onChange={() => setLocking(true)} />
            ) : cluster.managed === false ? null : (
              <button type="button" class="primary" onClick={() => setLocking(true)} data-testid="lock-cluster">
                Lock…
              </button>
            )}
            <ClusterActions detail={data} />
          </>
        )}
      </div>
      <Trouble error={error} back={["/clusters", "All clusters"]} />
      <Partial of={data} />
      <Drain detail={data} />
      {(cluster.troubles ?? []).map((trouble) => (
        <p class="notice warn">! {trouble}</p>
      ))}
      <Tabs
        label="Parts of the cluster"
        tabs={[
          { id: "overview", name: "Overview", body: () => <Overview detail={data} /> },
          { id: "jobs", name: "Jobs", count: data.jobs?.length, body: () => <Jobs detail={data} /> },
          { id: "nodes", name: "Nodes", count: data.nodes?.length, body: () => <Nodes detail={data} /> },
          { id: "events", name: "Events", count: data.description?.events?.length, body: () => <Events events={data.description?.events} /> },
          // A cluster that the queue alone knows has no object, so nothing belongs to it.
          ...(cluster.managed === false ? [] : [{ id: "related", name: "Related", body: () => <RelatedTab apiVersion="fournos.dev/v1" kind="FournosCluster" ns={cluster.ns ?? ""} name={name} topics={["clusters"]} /> }]),
          { id: "yaml", name: "YAML", body: () => <YamlTab object={data.object} command={`kubectl get fournoscluster ${name}${cluster.ns ? ` -n ${cluster.ns}` : ""} -o yaml`} /> },
        ]}
      />
      {locking && <LockDialog cluster={name} lock={cluster.lock} onClose={() => setLocking(false)} />}
    </>
  );
}

// How far a cluster that leaves has come.
function Drain({ detail }: { detail: ClusterDetail }) {
  const leaving = (detail.object?.metadata as { deletionTimestamp?: string } | undefined)?.deletionTimestamp;
  if (!leaving) return null;
  const step = detail.conditions?.find((one) => one.type === "Offboarding");
  const running = detail.cluster.runningJobs ?? 0;
  return (
    <p class="notice warn" data-testid="drain">
      ! This cluster leaves since <Age time={leaving} />: {step?.message || step?.reason || "no step is known yet"}. {running ? `${running} jobs still run.` : "No job runs."}
    </p>
  );
}

function ClusterActions({ detail }: { detail: ClusterDetail }) {
  const { cluster, actions = {} } = detail;
  const path = `/clusters${route(cluster.name)}`;
  const [offboard, setOffboard] = useState(false);
  const button = (name: string, text: string, run: () => void) => {
    const may = actions[name] ?? { allowed: true };
    return (
      <button type="button" aria-disabled={!may.allowed} title={may.allowed ? undefined : may.why} onClick={() => may.allowed && run()}>
        {text}
      </button>
    );
  };
  const ask = (name: string, text: string, effect: string) => () => confirm({ title: `${text} ${cluster.name}?`, effect, action: text, danger: name !== "uncordon" && name !== "rediscover", run: () => act("POST", `${path}/${name}`) });
  return (
    <span class="buttons">
      {cluster.cordoned ? button("uncordon", "Uncordon", ask("uncordon", "Uncordon", `${cluster.name} takes new jobs again.`)) : button("cordon", "Cordon", ask("cordon", "Cordon", `No new job starts on ${cluster.name}; those that run go on.`))}
      {button("rediscover", "Rediscover", ask("rediscover", "Rediscover", `The hardware of ${cluster.name} is read again now, and its quota is set by it.`))}
      {button("offboard", "Offboard…", () => setOffboard(true))}
      {offboard && <Offboard detail={detail} onClose={() => setOffboard(false)} />}
    </span>
  );
}

// Says what offboarding will do before it is done (docs/spec/hearth.md 10).
function Offboard({ detail, onClose }: { detail: ClusterDetail; onClose: () => void }) {
  const { cluster } = detail;
  const running = cluster.runningJobs ?? 0;
  return (
    <Dialog title={`Offboard ${cluster.name}?`} onClose={onClose}>
      <p>These steps follow each other; each waits for the one before it:</p>
      <ol>
        <li>New jobs no longer start there.</li>
        <li>{running ? `${running} running jobs go on to their end.` : "No job runs there now."}</li>
        <li>{cluster.lock && cluster.lock.state !== "Unlocked" ? `The lock of ${cluster.lock.holder ?? "its holder"} is released.` : "There is no lock to release."}</li>
        <li>Its quota and its ResourceFlavor are deleted; its copied kubeconfigs, too.</li>
      </ol>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            onClose();
            confirm({ title: `Really offboard ${cluster.name}?`, effect: `${cluster.name} leaves the fleet when its jobs have ended.`, action: "Offboard", danger: true, run: () => act("POST", `/clusters${route(cluster.name)}/offboard`) });
          }}
        >
          Go on…
        </button>
      </div>
    </Dialog>
  );
}

function Overview({ detail }: { detail: ClusterDetail }) {
  const { cluster } = detail;
  const hardware = detail.hardware ?? [];
  // A queue names every resource of its group for every cluster: those without quota and hardware say nothing here.
  const quota = (detail.quota ?? []).filter((one) => one.quota !== "0" || one.discovered !== "0");
  // Kept while the numbers are the same: the picture is made anew for other arrays.
  const course = useMemo(() => {
    const types = [...new Set(hardware.flatMap((one) => Object.keys(one.byType ?? {})))].sort();
    const lines = types.length > 1 ? types.map((type) => ({ name: type, values: hardware.map((one) => one.byType?.[type] ?? 0) })) : [{ name: types[0] ?? "GPUs", values: hardware.map((one) => one.gpus) }];
    return { times: hardware.map((one) => millis(one.at) / 1000), lines };
  }, [JSON.stringify(hardware)]);
  return (
    <>
      <div class="columns">
        <Section title="Facts">
          <Facts
            facts={[
              ["GPUs", <GpuBars gpus={cluster.gpus} />],
              ["Slots", cluster.slots && `${cluster.slots.used} of ${cluster.slots.total} used`],
              ["Owner", cluster.owner],
              ["Managed", cluster.managed === undefined ? "" : cluster.managed ? "yes" : "no"],
              ["Running jobs", String(cluster.runningJobs ?? 0)],
              ["Next job", cluster.nextJob && <To path={`/jobs/${encodeURIComponent(cluster.nextJob)}`} query={{ ns: cluster.nextJobNs }}>{cluster.nextJob}</To>],
              ["Last probe", <Age time={cluster.lastProbe} suffix=" ago" />],
              ["Failures", cluster.failures ? <span class="bad-text">{cluster.failures} probes failed</span> : "none"],
              ["Server version", cluster.serverVersion],
              ["Created", <Age time={cluster.created} suffix=" ago" />],
            ]}
          />
        </Section>
        <Section title="Quota and discovered hardware">
          {quota.length ? <PlainTable label="Quota" titles={["Resource", "Quota", "Discovered", ""]} rows={quota.map((one) => [one.resource, one.quota, one.discovered, one.differs ? <Badge state="differs" tone="warn" /> : ""])} /> : <p class="dim">No quota yet.</p>}
        </Section>
      </div>
      {hardware.length > 1 && (
        <Section title="GPUs found over time" note="30 days">
          <Plot label="GPUs found over time" times={course.times} lines={course.lines} stepped />
        </Section>
      )}
      {detail.description?.why && (
        <Section title="Why">
          <pre class="block">{detail.description.why}</pre>
        </Section>
      )}
      <Section title="Conditions">
        <Conditions conditions={detail.conditions} />
      </Section>
    </>
  );
}

function Jobs({ detail }: { detail: ClusterDetail }) {
  const jobs = detail.jobs ?? [];
  return (
    <>
      <FleetTimeline title="Over time" cluster={detail.cluster.name} />
      <Section title="Jobs" note="not archived">
        {jobs.length ? (
          <PlainTable label="Jobs" titles={["Phase", "Job", "Owner", "Hardware", "Step", "Age"]} rows={jobs.map((job) => [<Phase phase={job.phase} />, <To {...jobQuery(job)}>{job.name}</To>, job.owner, job.hardware?.text, job.step ?? job.message, <Age time={job.created} />])} />
        ) : (
          <p class="dim">
            No job is here now. <To path="/jobs" query={{ filter: `cluster:${detail.cluster.name}` }}>All jobs of this cluster</To>
          </p>
        )}
      </Section>
    </>
  );
}

function Nodes({ detail }: { detail: ClusterDetail }) {
  const nodes = detail.nodes ?? [];
  const all = detail.cluster.nodes;
  if (!nodes.length) return <Empty title="No node with GPUs known" hint="Nodes are read when the cluster is probed: Rediscover asks it now." />;
  return (
    <Section title="Nodes with GPUs" note={all !== undefined && `${new Set(nodes.map((one) => one.name)).size} of ${all} nodes`}>
      <PlainTable
        label="Nodes"
        titles={["State", "Node", "GPU", "Allocatable"]}
        right={[3]}
        rows={nodes.map((one) => [<Badge state={!one.ready ? "NotReady" : one.schedulable === false ? "Cordoned" : "Ready"} />, one.name, one.gpu, one.allocatable])}
      />
    </Section>
  );
}
