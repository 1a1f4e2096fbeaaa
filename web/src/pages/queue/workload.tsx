// SPDX-License-Identifier: Apache-2.0
// One Workload: why it waits, its events, and its YAML.
import { route } from "../../core/api";
import { useData, useRows } from "../../core/data";
import type { EventRow, Manifest, Workload } from "../../core/types";
import { Command, To } from "../../ui/basics";
import { Events, RelatedTab, Trouble, YamlTab } from "../../ui/object";
import { Tabs } from "../../ui/tabs";
import { ExplainPanel } from "./explain";
import { WorkloadState } from "./queue";

// The page.
export function WorkloadPage({ args }: { args: string[] }) {
  const [ns, name] = args as [string, string];
  const rows = useRows<Workload>(`/workloads?filter=${encodeURIComponent(`name:${name} ns:${ns}`)}`, "");
  const object = useData<{ object?: Manifest; events?: EventRow[] }>(`/objects?apiVersion=${encodeURIComponent("kueue.x-k8s.io/v1beta2")}&kind=Workload&ns=${encodeURIComponent(ns)}&name=${encodeURIComponent(name)}`, ["workloads"]);
  const row = rows.rows[0];
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/queue">Queue</To> / {ns} /
        </span>
        <b class="object-name">{name}</b>
        {row && <WorkloadState state={row.state} />}
        {row?.job && (
          <To path={`/jobs/${encodeURIComponent(row.job)}`} query={{ ns }}>
            job {row.job}
          </To>
        )}
      </div>
      <Trouble error={object.error} back={["/queue", "The queue"]} />
      <Tabs
        label="Parts of the Workload"
        tabs={[
          {
            id: "overview",
            name: "Overview",
            body: () => (
              <>
                <ExplainPanel path={`/workloads${route(ns, name)}/explain`} />
                <Command text={`athanor queue --explain ${name} -n ${ns}`} />
              </>
            ),
          },
          { id: "events", name: "Events", count: object.data?.events?.length, body: () => <Events events={object.data?.events} /> },
          { id: "related", name: "Related", body: () => <RelatedTab apiVersion="kueue.x-k8s.io/v1beta2" kind="Workload" ns={ns} name={name} topics={["workloads"]} /> },
          { id: "yaml", name: "YAML", body: () => <YamlTab object={object.data?.object} command={`kubectl get workload ${name} -n ${ns} -o yaml`} /> },
        ]}
      />
    </>
  );
}
