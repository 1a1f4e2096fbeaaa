// SPDX-License-Identifier: Apache-2.0
// All AppWrappers.
import { useRows } from "../../core/data";
import type { Fields } from "../../core/filter";
import { millis } from "../../core/time";
import type { AppWrapper } from "../../core/types";
import { Age, Badge, Empty, To } from "../../ui/basics";
import { DataTable, type Column } from "../../ui/table";

export const kAppWrapperPhases = ["Suspended", "Resuming", "Running", "Resetting", "Suspending", "Succeeded", "Failed", "Terminating"];

export const appwrapperFields: Fields<AppWrapper> = {
  phase: { text: (row) => row.phase },
  name: { text: (row) => row.name },
  ns: { text: (row) => row.ns },
  user: { text: (row) => row.user },
  queue: { text: (row) => row.queue },
  retries: { number: (row) => row.retries },
  age: { span: (row, now) => now - millis(row.created) },
};
const words = (row: AppWrapper) => [row.name, row.ns, row.user, row.queue, row.text];

function podText(row: AppWrapper): string {
  const { running = 0, succeeded = 0, failed = 0, expected = 0 } = row.pods ?? {};
  return `${running + succeeded}/${expected}${failed ? `, ${failed} failed` : ""}`;
}

// Conditions of docs/spec/dashboard.md B4.6, each with a column of its own.
export const kAppWrapperConditions = ["QuotaReserved", "ResourcesDeployed", "PodsReady", "Unhealthy", "DeletingResources"];

const conditionColumns = kAppWrapperConditions.map((type): Column<AppWrapper> => {
  const of = (row: AppWrapper) => row.conditions?.find((one) => one.type === type);
  return {
    id: type,
    title: type.replace(/([a-z])([A-Z])/g, "$1 $2"),
    width: 96,
    sort: (row) => of(row)?.status,
    text: (row) => of(row)?.status ?? "",
    cell: (row) => {
      const one = of(row);
      return one ? <span title={[one.reason, one.message].filter(Boolean).join(": ")}>{one.status}</span> : <span class="dim">–</span>;
    },
  };
});

const columns: Column<AppWrapper>[] = [
  { id: "phase", title: "Phase", width: 110, sort: (row) => kAppWrapperPhases.indexOf(row.phase), text: (row) => row.phase, cell: (row) => <Badge state={row.phase} testid="phase-badge" /> },
  { id: "name", title: "AppWrapper", width: 200, grow: true, sort: (row) => row.name, text: (row) => row.name, cell: (row) => <To path={`/appwrappers/${encodeURIComponent(row.ns ?? "")}/${encodeURIComponent(row.name)}`} class="name">{row.name}</To> },
  { id: "ns", title: "Namespace", width: 110, sort: (row) => row.ns, text: (row) => row.ns ?? "" },
  { id: "user", title: "User", width: 110, sort: (row) => row.user, text: (row) => row.user ?? "" },
  { id: "queue", title: "Queue", width: 110, sort: (row) => row.queue, text: (row) => row.queue ?? "" },
  { id: "components", title: "Components", width: 92, right: true, sort: (row) => row.components?.ready, text: (row) => (row.components ? `${row.components.ready}/${row.components.total}` : "") },
  { id: "pods", title: "Pods", width: 100, right: true, sort: (row) => row.pods?.running, text: podText },
  { id: "retries", title: "Retries", width: 62, right: true, sort: (row) => row.retries, text: (row) => String(row.retries ?? 0) },
  ...conditionColumns,
  { id: "text", title: "State", width: 220, grow: true, text: (row) => row.text ?? "" },
  { id: "created", title: "Age", width: 66, right: true, sort: (row) => millis(row.created), cell: (row) => <Age time={row.created} /> },
];

// The page.
export function AppWrappersPage() {
  const source = useRows<AppWrapper>("/appwrappers", "appwrappers");
  return (
    <DataTable<AppWrapper> page="appwrappers" kind="appwrapper" label="AppWrappers" fill source={source} columns={columns} fields={appwrapperFields} words={words} sort="-created" chips={{ key: "phase", values: kAppWrapperPhases, of: (row) => row.phase }} empty={<Empty title="No AppWrappers" hint="An AppWrapper queues a group of objects as one." command="kubectl apply -f examples/appwrapper/appwrapper.yaml" />} />
  );
}
