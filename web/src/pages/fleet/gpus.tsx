// SPDX-License-Identifier: Apache-2.0
// Hours of GPUs by owner, project or namespace.
import { api } from "../../core/api";
import { useData } from "../../core/data";
import { useParam } from "../../core/router";
import { Bar, Empty, Partial, Section, To } from "../../ui/basics";
import { PlainTable } from "../../ui/table";
import { Ranges } from "../jobs/timeline";

interface Use {
  partial?: boolean;
  items?: { key: string; gpuHours: number; jobs: number; byType?: Record<string, number>; now?: number }[];
}

const kFilter: Record<string, string> = { owner: "owner", project: "project", namespace: "ns" };

// The page.
export function GpusPage() {
  const [by, setBy] = useParam("by", "owner");
  const [range] = useParam("range", "7d");
  const query = `by=${encodeURIComponent(by)}&range=${encodeURIComponent(range)}`;
  const { data, error } = useData<Use>(`/gpus?${query}`, ["jobs"]);
  const items = data?.items ?? [];
  const most = Math.max(1, ...items.map((one) => one.gpuHours));
  const types = [...new Set(items.flatMap((one) => Object.keys(one.byType ?? {})))].sort();
  return (
    <>
      <div class="pagehead">
        <span class="segments" role="group" aria-label="By">
          {["owner", "project", "namespace"].map((one) => (
            <button type="button" aria-pressed={by === one} onClick={() => setBy(one)}>
              by {one}
            </button>
          ))}
        </span>
        <Ranges initial="7d" ranges={[["24h", 864e5], ["7d", 6048e5], ["30d", 2592e6]]} />
        <span class="grow" />
        <a class="button" href={api(`/gpus?${query}&format=csv`)} download={`gpu-hours-${by}-${range}.csv`} data-native>
          CSV
        </a>
      </div>
      {error && <p class="notice bad">✕ {error.message}</p>}
      <Partial of={data} />
      {data && items.length === 0 && <Empty title="No GPU was used in this time" />}
      {items.length > 0 && (
        <Section title={`GPU hours by ${by}, last ${range}`} testid="table-gpus">
          <PlainTable
            label="GPU hours"
            titles={[by, "GPU hours", "", ...types, "Jobs", "GPUs now"]}
            right={[1, ...types.map((_, i) => i + 3), types.length + 3, types.length + 4]}
            rows={items.map((one) => [
              <To path="/jobs" query={{ filter: `${kFilter[by]}:${/\s/.test(one.key) ? `"${one.key}"` : one.key}` }}>
                {one.key || "none"}
              </To>,
              one.gpuHours.toFixed(1),
              <span class="usage">
                <Bar total={most} label={`${one.key}: ${one.gpuHours.toFixed(1)} GPU hours`} parts={[{ value: one.gpuHours, tone: "used", name: "hours" }]} />
              </span>,
              ...types.map((type) => (one.byType?.[type] ? one.byType[type]!.toFixed(1) : <span class="dim">–</span>)),
              one.jobs,
              one.now ?? 0,
            ])}
          />
        </Section>
      )}
    </>
  );
}
