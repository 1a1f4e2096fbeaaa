// SPDX-License-Identifier: Apache-2.0
// Parts of every object's page: events, conditions, pods, the owner tree, YAML, and the kubectl command of it.
import type { ComponentChildren } from "preact";
import { useData } from "../core/data";
import { href } from "../core/router";
import type { Condition, EventRow, Manifest, Pod, Related, Tree } from "../core/types";
import { Age, Badge, Command, Empty, Lasted, To } from "./basics";
import { PlainTable } from "./table";
import { YamlView } from "./yamlview";

// Returns the page of an object, if it has one of its own; else the page that shows any object's YAML does not exist and it stays a text.
export function objectPath(object: { kind: string; ns?: string; name: string }): { path: string; query?: Record<string, string | undefined> } | undefined {
  const name = encodeURIComponent(object.name);
  const ns = encodeURIComponent(object.ns ?? "");
  switch (object.kind) {
    case "FournosJob":
      return { path: `/jobs/${name}`, query: { ns: object.ns } };
    case "FournosCluster":
      return { path: `/clusters/${name}` };
    case "AppWrapper":
      return { path: `/appwrappers/${ns}/${name}` };
    case "Workload":
      return { path: `/workloads/${ns}/${name}` };
    case "Node":
      return { path: `/nodes/${name}` };
    case "ClusterQueue":
      return { path: "/queue", query: { filter: `clusterqueue:${object.name}` } };
    case "LocalQueue":
      return { path: "/queue", query: { filter: `${object.ns ? `ns:${object.ns} ` : ""}queue:${object.name}` } };
    default:
      return undefined;
  }
}

// An object's kind and name, as a link if it has a page.
export function ObjectLink({ object }: { object: { kind: string; ns?: string; name: string } }) {
  const to = objectPath(object);
  const text = `${object.kind}/${object.name}`;
  return to ? <To {...to}>{text}</To> : <span>{text}</span>;
}

// Events, the newest first.
export function Events({ events }: { events: EventRow[] | undefined }) {
  if (!events?.length) return <Empty title="No events" hint="The API server keeps events for an hour." />;
  const sorted = [...events].sort((a, b) => (b.last ?? "").localeCompare(a.last ?? ""));
  return (
    <PlainTable
      label="Events"
      titles={["Last", "Count", "Type", "Reason", "Object", "Message"]}
      rows={sorted.map((one) => [<Age time={one.last} />, one.count ?? 1, one.type === "Warning" ? <Badge state="Warning" /> : one.type, one.reason, one.object, one.message])}
    />
  );
}

// The events of an object that the page reads for itself.
export function ObjectEvents({ apiVersion, kind, ns, name, topics }: { apiVersion: string; kind: string; ns?: string; name: string; topics: string[] }) {
  const query = new URLSearchParams({ apiVersion, kind, ns: ns ?? "", name });
  const { data, error } = useData<{ events?: EventRow[] }>(`/objects?${query}`, topics);
  if (error) return <Trouble error={error} back={["/", "Overview"]} />;
  return data ? <Events events={data.events} /> : <p class="loading">Loading…</p>;
}

// Conditions with the time of their last change.
export function Conditions({ conditions }: { conditions: Condition[] | undefined }) {
  if (!conditions?.length) return <p class="dim">No conditions.</p>;
  return <PlainTable label="Conditions" titles={["Condition", "Status", "Reason", "Message", "Since"]} rows={conditions.map((one) => [one.type, one.status, one.reason, one.message, <Age time={one.at} />])} />;
}

// The pods of an object with their containers. `logs` makes the link to the log of a container.
export function Pods({ pods, logs }: { pods: Pod[] | undefined; logs?: (pod: Pod, container: string) => string }) {
  if (!pods?.length) return <Empty title="No pods" hint="Pods appear when the pipeline starts; they go with the job." />;
  return (
    <PlainTable
      label="Pods"
      titles={["Phase", "Pod", "Node", "Placement", "Containers", "Age"]}
      rows={pods.map((pod) => [
        <Badge state={pod.phase} />,
        <>
          {pod.name}
          {pod.task && <span class="dim"> {pod.task}</span>}
          {pod.reason && <p class="bad-text">{pod.reason}</p>}
        </>,
        pod.node ? <To path={`/nodes/${encodeURIComponent(pod.node)}`}>{pod.node}</To> : "",
        placement(pod),
        <ul class="plain">
          {(pod.containers ?? []).map((one) => (
            <li key={one.name}>
              {logs && one.logs !== false ? <a href={logs(pod, one.name)}>{one.name}</a> : one.name}
              {one.init && <span class="dim"> init</span>} <span class={one.exitCode ? "bad-text" : "dim"}>{containerState(one)}</span> {one.started && <Lasted from={one.started} to={one.finished} />}
              {one.restarts ? <span class="warn-text"> {one.restarts} restarts</span> : null}
            </li>
          ))}
        </ul>,
        <Age time={pod.created} />,
      ])}
    />
  );
}

function containerState(one: { state: string; reason?: string; exitCode?: number }): string {
  if (one.state === "terminated") return `${one.reason || "ended"}, exit code ${one.exitCode ?? 0}`;
  return one.reason ? `${one.state}: ${one.reason}` : one.state;
}

function placement(pod: Pod): ComponentChildren {
  const parts = [...Object.entries(pod.resources ?? {}).map(([name, value]) => `${value} ${name}`), ...(pod.mig ?? []).map((profile) => `slice ${profile}`), ...(pod.zone ? [`zone ${pod.zone}`] : [])];
  return parts.join(", ");
}

// An owner tree. `note` adds to a node.
export function TreeView({ tree, note, testid }: { tree: Tree; note?: (node: Tree) => ComponentChildren; testid?: (node: Tree) => string | undefined }) {
  return (
    <ul class="tree">
      <TreeNode node={tree} note={note} testid={testid} />
    </ul>
  );
}

function TreeNode({ node, note, testid }: { node: Tree; note: ((node: Tree) => ComponentChildren) | undefined; testid: ((node: Tree) => string | undefined) | undefined }) {
  return (
    <li data-testid={testid?.(node)}>
      {node.current ? <b>{`${node.kind}/${node.name}`}</b> : <ObjectLink object={node} />} {node.state && <Badge state={node.state} />} <span class="dim">{node.created && <Age time={node.created} />}</span> {note?.(node)}
      {node.message && <p class="dim">{node.message}</p>}
      {node.children?.length ? (
        <ul>
          {node.children.map((child) => (
            <TreeNode key={`${child.kind}/${child.ns}/${child.name}`} node={child} note={note} testid={testid} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}

// Related objects in a list.
export function RelatedList({ related }: { related: Related[] | undefined }) {
  if (!related?.length) return <p class="dim">No related objects.</p>;
  return <PlainTable label="Related objects" titles={["Object", "State", "Namespace"]} rows={related.map((one) => [<ObjectLink object={one} />, one.state && <Badge state={one.state} />, one.ns])} />;
}

// The YAML of an object with the command that prints it.
export function YamlTab({ object, command }: { object: Manifest | undefined; command: string }) {
  return (
    <>
      <Command text={command} />
      {object ? <YamlView value={object} label="YAML" /> : <p class="dim">The object is not here any more.</p>}
    </>
  );
}

// The tree of a route.
export function TreeTab({ path, topics, related }: { path: string; topics: string[]; related?: Related[] | undefined }) {
  const { data, error } = useData<Tree>(path, topics);
  if (error) return related?.length ? <RelatedList related={related} /> : <p class="notice warn">! {error.message}</p>;
  return data?.kind ? <TreeView tree={data} /> : <p class="loading">Loading…</p>;
}

// The tree of any object that the console follows.
export function RelatedTab({ apiVersion, kind, ns, name, topics }: { apiVersion: string; kind: string; ns?: string; name: string; topics: string[] }) {
  return <TreeTab path={`/objects/tree?${new URLSearchParams({ apiVersion, kind, ns: ns ?? "", name })}`} topics={topics} />;
}

// A problem of loading a page, with the data of before below it.
export function Trouble({ error, back }: { error: { code: number; message: string } | undefined; back: [string, string] }) {
  if (!error) return null;
  return (
    <div class="notice bad" role="alert">
      ✕ {error.message}{" "}
      {error.code === 404 && <a href={href(back[0])}>{back[1]}</a>}
    </div>
  );
}
