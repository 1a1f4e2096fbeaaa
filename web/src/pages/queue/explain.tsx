// SPDX-License-Identifier: Apache-2.0
// Why a Workload waits: the obstacles with what ends them, who is ahead, who holds the quota, and an estimate.
import { useData } from "../../core/data";
import { absolute, span, useNow, millis } from "../../core/time";
import { Age, Badge, Bar, Left, Section, To } from "../../ui/basics";
import { ObjectLink } from "../../ui/object";
import { PlainTable } from "../../ui/table";

export interface Explanation {
  workload?: string;
  owner?: string;
  localQueue?: string;
  clusterQueue?: string;
  state: string;
  text?: string;
  position?: number;
  causes?: Cause[];
  ahead?: { workload: string; position: number; priority?: number }[];
  quotas?: QuotaLine[];
  preempts?: { workload: string; clusterQueue?: string; why?: string; frees?: { flavor: string; resource: string; amount: string }[] }[];
  hidden?: number;
  missing?: string[];
  estimate?: { runs: number; earliest?: string; latest?: string };
  lock?: { cluster: string; holder?: string; expires?: string; state?: string };
}

interface Cause {
  kind?: string; // "QuotaInUse"
  object: string;
  text: string;
  unblockedBy?: string;
  details?: { namespaceSelector?: unknown; labels?: unknown };
}

interface QuotaLine {
  flavor: string;
  resource: string;
  nominal: string;
  used: string;
  available: string;
  borrowable?: string;
  capacity?: string;
  wanted: string;
  holders?: { workload: string; owner?: string; person?: string; since?: string; clusterQueue?: string; priority?: number; holds: string; notPreempted?: string }[];
}

// Reads a quantity of Kubernetes ("4", "500m", "8Gi") as a number; NaN if it is none.
export function quantity(text: string | undefined): number {
  const match = /^(-?\d+(?:\.\d+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/.exec(text ?? "");
  if (!match) return NaN;
  const units: Record<string, number> = { m: 1e-3, k: 1e3, Ki: 1024, M: 1e6, Mi: 1024 ** 2, G: 1e9, Gi: 1024 ** 3, T: 1e12, Ti: 1024 ** 4 };
  return Number(match[1]) * (match[2] ? units[match[2]]! : 1);
}

// Splits "Kind/name" or "Kind/ns/name".
export function objectOf(text: string): { kind: string; ns?: string; name: string } | undefined {
  const parts = text.split("/");
  if (parts.length === 2) return { kind: parts[0]!, name: parts[1]! };
  if (parts.length === 3) return { kind: parts[0]!, ns: parts[1]!, name: parts[2]! };
  return undefined;
}

function WorkloadLink({ name }: { name: string }) {
  const [ns, own] = name.split("/");
  return own ? <To path={`/workloads/${encodeURIComponent(ns!)}/${encodeURIComponent(own)}`}>{own}</To> : <>{name}</>;
}

// The panel of a route that explains.
export function ExplainPanel({ path }: { path: string }) {
  const { data, error } = useData<Explanation>(path, ["workloads", "queue", "locks"]);
  if (!data) return error ? <p class="notice warn">! {error.message}</p> : <p class="loading">Loading…</p>;
  return <ExplainView explanation={data} />;
}

// The explanation.
export function ExplainView({ explanation: it }: { explanation: Explanation }) {
  const causes = it.causes ?? [];
  if (it.state === "not queued") {
    return (
      <Section title="Not in a queue">
        <p>{it.text}</p>
      </Section>
    );
  }
  const waits = it.state === "waits" || it.state === "inactive";
  return (
    <>
      <Section
        title={waits ? "Why it waits" : "In the queue"}
        testid="explanation"
        note={
          <>
            {it.owner && <>{it.owner} · </>}
            LocalQueue {it.localQueue} · ClusterQueue {it.clusterQueue ? <To path="/queue" query={{ filter: `clusterqueue:${it.clusterQueue}` }}>{it.clusterQueue}</To> : "none"}
          </>
        }
      >
        {it.lock && (
          <p class="notice warn" data-testid="explain-lock">
            ! Cluster <To path={`/clusters/${encodeURIComponent(it.lock.cluster)}`}>{it.lock.cluster}</To> is locked by <b>{it.lock.holder ?? "an unknown holder"}</b> {it.lock.state && `(${it.lock.state})`}: <Left until={it.lock.expires} />
            {it.lock.expires && <span class="dim"> · until {absolute(it.lock.expires)}</span>}
          </p>
        )}
        {causes.length > 0 && (
          <ol class="causes">
            {causes.map((cause) => {
              const object = objectOf(cause.object);
              return (
                <li data-cause={cause.kind}>
                  <p>
                    {object ? <ObjectLink object={object} /> : cause.object}: {cause.text}
                  </p>
                  {cause.details && (
                    <p class="dim">
                      selector <code>{JSON.stringify(cause.details.namespaceSelector)}</code>, labels of the namespace <code>{JSON.stringify(cause.details.labels)}</code>
                    </p>
                  )}
                  {cause.unblockedBy && <p class="dim">ends when {cause.unblockedBy}</p>}
                </li>
              );
            })}
          </ol>
        )}
        {causes.length === 0 && !it.lock && <p>{waits ? "Nothing speaks against it: it is admitted in the next cycle." : <>It <Badge state={it.state === "runs" ? "Running" : it.state === "finished" ? "Finished" : "Admitted"} /> {it.state}.</>}</p>}
        {waits && <Estimate it={it} />}
        {it.missing?.length ? <p class="dim">Without {it.missing.join(", ")}, which the console cannot read: a cause may be missing.</p> : null}
        {it.hidden ? (
          <p class="dim" data-testid="hidden-workloads">
            {it.hidden} {it.hidden === 1 ? "Workload" : "Workloads"} of other namespaces that you may not see {it.hidden === 1 ? "is" : "are"} left out below.
          </p>
        ) : null}
      </Section>
      {(it.quotas?.length ?? 0) > 0 && (
        <Section title="Quota that it needs">
          {it.quotas!.map((line) => (
            <QuotaBlock key={line.flavor + line.resource} line={line} />
          ))}
        </Section>
      )}
      <div class="columns">
        {(it.ahead?.length ?? 0) > 0 && (
          <Section title="Ahead of it" note={it.position !== undefined ? `${it.position} in all` : ""}>
            <PlainTable label="Workloads ahead" titles={["Place", "Workload", "Priority"]} rows={it.ahead!.map((one) => [one.position + 1, <WorkloadLink name={one.workload} />, one.priority ?? 0])} />
          </Section>
        )}
        {(it.preempts?.length ?? 0) > 0 && (
          <Section title="It would preempt">
            <PlainTable label="Workloads that it would preempt" titles={["Workload", "ClusterQueue", "Why", "Frees"]} rows={it.preempts!.map((one) => [<WorkloadLink name={one.workload} />, one.clusterQueue, one.why, (one.frees ?? []).map((free) => `${free.amount} ${free.resource} of ${free.flavor}`).join(", ")])} />
          </Section>
        )}
      </div>
    </>
  );
}

function Estimate({ it }: { it: Explanation }) {
  const now = useNow();
  const place = it.position !== undefined ? (it.position === 0 ? "It is the first of its queue." : `${it.position} ahead of it.`) : "";
  const { earliest, latest, runs } = it.estimate ?? { runs: 0 };
  const moment = (time: string) => (millis(time) <= now ? "now" : `in ${span(millis(time) - now)}`);
  return (
    <p data-testid="estimate">
      <b>{place}</b>{" "}
      {earliest ? (
        <span title={absolute(earliest)}>
          Estimate: starts {moment(earliest)}
          {latest && latest !== earliest ? ` to ${moment(latest).replace(/^in /, "")}` : latest ? "" : " at the earliest"}
          <span class="dim"> (from {runs} earlier runs)</span>
        </span>
      ) : (
        <span class="dim">No estimate: too few earlier runs of this kind have ended.</span>
      )}
    </p>
  );
}

function QuotaBlock({ line }: { line: QuotaLine }) {
  const nominal = quantity(line.nominal);
  const used = quantity(line.used);
  const wanted = quantity(line.wanted);
  return (
    <div class="quota-block">
      <div class="quota-line">
        <b>{line.resource}</b> <span>of flavor {line.flavor}</span>
        <span>
          wants <b>{line.wanted}</b>, available <b class={wanted > quantity(line.available) ? "bad-text" : "good-text"}>{line.available}</b>
        </span>
        <span class="dim">
          used {line.used} of {line.nominal}
          {line.capacity && `, at most ${line.capacity}`}
        </span>
      </div>
      <Bar total={Math.max(nominal, used + wanted) || 1} mark={nominal} label={`${line.resource} of ${line.flavor}: used ${line.used} of ${line.nominal}, wants ${line.wanted}`} parts={[{ value: used || 0, tone: "used", name: "used" }, { value: wanted || 0, tone: "borrowed", name: "wanted" }]} />
      {line.holders?.length ? <PlainTable label={`Holders of ${line.resource}`} titles={["Held by", "Owner", "Holds", "Running", "ClusterQueue", "Priority", "Preempted?"]} rows={line.holders.map((one) => [<WorkloadLink name={one.workload} />, one.person ?? one.owner, one.holds, one.since && <Age time={one.since} />, one.clusterQueue, one.priority ?? 0, one.notPreempted ? `no, ${one.notPreempted}` : "would be preempted"])} /> : null}
    </div>
  );
}
