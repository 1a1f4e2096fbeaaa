// SPDX-License-Identifier: Apache-2.0
// One AppWrapper: its components down to their pods, its conditions, and the timers that run.
import { act, route } from "../../core/api";
import { useData } from "../../core/data";
import { href, navigate } from "../../core/router";
import { useSession } from "../../core/session";
import { absolute } from "../../core/time";
import type { AppWrapper, Manifest, Tree } from "../../core/types";
import { Age, Badge, Command, Facts, Lasted, Left, Section, To } from "../../ui/basics";
import { confirm } from "../../ui/dialog";
import { Conditions, ObjectEvents, RelatedTab, TreeView, Trouble, YamlTab } from "../../ui/object";
import { PlainTable } from "../../ui/table";
import { Tabs } from "../../ui/tabs";

interface Detail {
  appwrapper: AppWrapper;
  object?: Manifest;
  page?: string;
  tree?: Tree;
  transitions?: Transition[];
  transitionsError?: string;
  timers?: { name: string; ends?: string; annotation?: string }[];
}

interface Transition {
  at: string;
  phase: string;
  retries: number;
  condition?: string;
  reason?: string;
  message?: string;
}

// The page.
export function AppWrapperPage({ args }: { args: string[] }) {
  const [ns, name] = args as [string, string];
  const session = useSession();
  const path = `/appwrappers${route(ns, name)}`;
  const { data, error } = useData<Detail>(`${path}/tree`, ["appwrappers"]);
  if (!data) return error ? <Trouble error={error} back={["/appwrappers", "All AppWrappers"]} /> : <p class="loading">Loading…</p>;
  const { appwrapper: row } = data;
  return (
    <>
      <div class="pagehead">
        <span class="crumb">
          <To path="/appwrappers">AppWrappers</To> / {ns} /
        </span>
        <b class="object-name">{name}</b>
        <Badge state={row.phase} testid="phase-badge" />
        <span class="grow" />
        {!session.readOnly && (
          <span class="buttons">
            {row.suspended ? (
              <button type="button" onClick={() => confirm({ title: `Resume ${name}?`, effect: `${name} goes on as soon as its queue admits it.`, action: "Resume", run: () => act("POST", `${path}/resume`) })}>Resume</button>
            ) : (
              <button type="button" onClick={() => confirm({ title: `Suspend ${name}?`, effect: `All objects of ${name} are deleted and its quota is given back; it can be resumed.`, action: "Suspend", danger: true, run: () => act("POST", `${path}/suspend`) })}>Suspend</button>
            )}
            <button type="button" onClick={() => confirm({ title: `Delete ${name}?`, effect: `${name} and all its objects are deleted.`, action: "Delete", danger: true, run: async () => { const message = await act("DELETE", path); navigate(href("/appwrappers")); return message; } })}>Delete</button>
          </span>
        )}
      </div>
      <Trouble error={error} back={["/appwrappers", "All AppWrappers"]} />
      {row.text && <p class="notice warn">! {row.text}</p>}
      <Tabs
        label="Parts of the AppWrapper"
        tabs={[
          {
            id: "overview",
            name: "Overview",
            body: () => (
              <>
                <div class="columns">
                  <Section title="Facts">
                    <Facts
                      facts={[
                        ["User", row.user],
                        ["Queue", row.queue],
                        ["Components", row.components && `${row.components.ready} of ${row.components.total} deployed`],
                        ["Pods", row.pods && `${row.pods.running ?? 0} running, ${row.pods.succeeded ?? 0} succeeded, ${row.pods.failed ?? 0} failed of ${row.pods.expected ?? 0}`],
                        ["Retries", String(row.retries ?? 0)],
                        ["Created", <Age time={row.created} suffix=" ago" />],
                      ]}
                    />
                  </Section>
                  <Section title="Timers">
                    {data.timers?.length ? <PlainTable label="Timers" titles={["Timer", "Ends", "Set by"]} rows={data.timers.map((one) => [one.name, <span title={absolute(one.ends)}><Left until={one.ends} /></span>, one.annotation && <code>{one.annotation}</code>])} /> : <p class="dim">No timer runs.</p>}
                  </Section>
                </div>
                <Section title="Objects">
                  {data.tree && <TreeView tree={data.tree} testid={(node) => `aw-node-${node.uid || `${node.kind}-${node.name}`}`} note={(node) => <Note node={node} />} />}
                </Section>
                <Section title="Transitions" testid="transitions" note="as the console saw them, the newest first">
                  <Transitions transitions={data.transitions ?? []} error={data.transitionsError} />
                </Section>
                <Section title="Conditions">
                  <Conditions conditions={row.conditions} />
                </Section>
                <Command text={`athanor appwrappers ${name} -n ${ns}`} />
              </>
            ),
          },
          { id: "events", name: "Events", body: () => <ObjectEvents apiVersion="workload.codeflare.dev/v1beta2" kind="AppWrapper" ns={ns} name={name} topics={["appwrappers"]} /> },
          { id: "related", name: "Related", body: () => <RelatedTab apiVersion="workload.codeflare.dev/v1beta2" kind="AppWrapper" ns={ns} name={name} topics={["appwrappers"]} /> },
          { id: "yaml", name: "YAML", body: () => <YamlTab object={data.object} command={`kubectl get appwrapper ${name} -n ${ns} -o yaml`} /> },
        ]}
      />
    </>
  );
}

// Phases with the time in each; a reset is marked.
function Transitions({ transitions, error }: { transitions: Transition[]; error?: string | undefined }) {
  const rows = transitions.map((one, i) => {
    const next = transitions[i + 1];
    const resets = one.retries - (transitions[i - 1]?.retries ?? 0);
    return [
      <Badge state={one.phase} />,
      <Age time={one.at} suffix=" ago" />,
      next || one.phase !== "Succeeded" ? <Lasted from={one.at} to={next?.at} /> : "",
      <>
        {one.retries}
        {resets > 0 && <span class="warn-text"> reset</span>}
      </>,
      [one.condition, one.reason].filter(Boolean).join(": "),
      one.message,
    ];
  });
  return (
    <>
      {error && <p class="notice warn">! The history cannot be read: {error}</p>}
      {rows.length ? <PlainTable label="Transitions" titles={["Phase", "Entered", "Lasted", "Retries", "Why", "Message"]} rows={rows.reverse()} /> : <p class="dim">No transition was seen yet.</p>}
    </>
  );
}

function Note({ node }: { node: Tree }) {
  return (
    <>
      {node.deployed === false && <Badge state="not deployed" tone="warn" />}
      {(node.podSets ?? []).map((one, i) => (
        <span class={one.expected === one.seen ? "dim" : "warn-text"} key={i}>
          {one.name && `${one.name}: `}
          {one.seen ?? 0} of {one.expected ?? 0} pods{" "}
        </span>
      ))}
    </>
  );
}
