// SPDX-License-Identifier: Apache-2.0
// What charts, maps and forms compute before they draw.
import { describe, expect, it } from "vitest";
import { placeTasks } from "../src/charts/dag";
import { timeTicks } from "../src/charts/scale";
import { barsOfJobs, stackBars } from "../src/charts/timeline";
import { blocksOf, holdersAt, placesOf, type Gpu } from "../src/pages/devices/slots";
import { amount } from "../src/pages/devices/numa";
import { goDuration } from "../src/pages/fleet/locks";
import { findPage } from "../src/pages";
import { parseCsv } from "../src/pages/jobs/artifacts";
import { ganttRows } from "../src/pages/jobs/pipeline";
import { objectOf, quantity } from "../src/pages/queue/explain";
import { shortRequests } from "../src/pages/queue/queue";
import { copyOf, enginePath, moveEngine, readLines, setAt, writeLines } from "../src/pages/submit/manifest";
import { isWebAddress } from "../src/ui/basics";
import { splitLine } from "../src/ui/yamlview";

const task = (name: string, after: string[] = [], more = {}) => ({ name, state: "Succeeded", after, ...more });

describe("Dag", () => {
  it("places a task behind the longest path to it", () => {
    const placed = placeTasks([task("a"), task("b", ["a"]), task("c", ["a", "b"]), task("end", [], { finally: true })]);
    expect(placed.map((one) => one.column)).toEqual([0, 1, 2, 3]);
  });
  it("ends on a circle", () => expect(placeTasks([task("a", ["b"]), task("b", ["a"])])).toHaveLength(2));
  it("ignores names that do not exist", () => expect(placeTasks([task("a", ["ghost"])])[0]!.column).toBe(0));
});

describe("Gantt", () => {
  it("separates finally tasks and lists steps that began", () => {
    const rows = ganttRows([task("end", [], { finally: true, started: "2026-01-01T00:02:00Z" }), task("a", [], { started: "2026-01-01T00:00:00Z", steps: [{ name: "s", state: "Running", started: "2026-01-01T00:00:00Z" }, { name: "t", state: "Pending" }] })]);
    expect(rows.map((row) => row.name)).toEqual(["a", "s", "end"]);
    expect(rows[2]!.separated).toBe(true);
  });
});

describe("Timeline", () => {
  it("stacks jobs that overlap and reuses rows", () => {
    const at = (m: number) => new Date(m * 6e4).toISOString();
    const rows = stackBars([{ from: at(0), to: at(10) }, { from: at(5) }, { from: at(12), to: at(13) }], 20 * 6e4);
    expect(rows.map((one) => one.row)).toEqual([0, 1, 0]);
  });
  it("joins the phases of a job", () => {
    const [job] = barsOfJobs([{ job: "a", phase: "Pending", from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:01:00Z" }, { job: "a", phase: "Running", from: "2026-01-01T00:01:00Z" }]);
    expect(job!.parts).toHaveLength(2);
    expect(job!.to).toBeUndefined();
  });
  it("makes no more ticks than asked", () => expect(timeTicks(0, 864e5, 8).length).toBeLessThanOrEqual(9));
});

describe("Slots", () => {
  const gpu: Gpu = { node: "n", uuid: "g", total: 8, free: 3, holders: [{ profile: "1g.5gb", start: 0, size: 1 }, { profile: "3g.20gb", start: 4, size: 4 }], placements: { "1g.5gb": [{ start: 0, size: 1 }, { start: 1, size: 1 }], "3g.20gb": [{ start: 0, size: 4 }, { start: 4, size: 4 }], "2g.10gb": [{ start: 0, size: 2 }, { start: 2, size: 2 }] } };
  it("covers all slots once", () => {
    expect(blocksOf(gpu).map((one) => [one.start, one.size, one.kind])).toEqual([[0, 1, "held"], [1, 1, "free"], [2, 1, "free"], [3, 1, "free"], [4, 4, "held"]]);
    expect(blocksOf({ ...gpu, holders: [...gpu.holders!, { start: 5, size: 2 }] }).reduce((sum, one) => sum + one.size, 0)).toBe(8);
  });
  it("takes later changes back", () => {
    const changes = [{ at: "2026-01-01T02:00:00Z", type: "ADDED" as const, gpu: "g", start: 4, size: 4 }, { at: "2026-01-01T03:00:00Z", type: "DELETED" as const, gpu: "g", profile: "1g.5gb", start: 2, size: 1 }];
    expect(holdersAt(gpu, changes, Date.parse("2026-01-01T01:00:00Z")).map((one) => one.start)).toEqual([0, 2]);
    expect(holdersAt(gpu, changes, Date.parse("2026-01-01T04:00:00Z"))).toEqual(gpu.holders);
  });
  it("marks only places that are wholly free", () => {
    expect([...placesOf(gpu, "1g.5gb")]).toEqual([1]);
    expect([...placesOf(gpu, "2g.10gb")]).toEqual([2, 3]);
    expect([...placesOf(gpu, "3g.20gb")]).toEqual([]);
  });
});

describe("Texts", () => {
  it("reads quantities", () => {
    expect(quantity("500m")).toBe(0.5);
    expect(quantity("8Gi")).toBe(8 * 1024 ** 3);
    expect(quantity("x")).toBeNaN();
  });
  it("shortens requests", () => expect(shortRequests("fournos/cluster-slot=1,fournos/gpu-a100=2")).toBe("1 cluster-slot, 2 gpu-a100"));
  it("splits objects", () => expect(objectOf("LocalQueue/ns/a")).toEqual({ kind: "LocalQueue", ns: "ns", name: "a" }));
  it("formats amounts", () => expect([amount(7.5, "cores"), amount(1024 ** 3, "bytes")]).toEqual(["7.5", "1.0 GiB"]));
  it("formats times of locks", () => expect([goDuration(72e5), goDuration(54e5), goDuration(6e5)]).toEqual(["2h", "1h30m", "10m"]));
  it("reads quoted CSV", () => expect(parseCsv('a,"b ""c"""\r\n1,"2\n3"\n')).toEqual([["a", 'b "c"'], ["1", "2\n3"]]));
  it("links only web addresses", () => expect(["https://a.b", "http://a", "javascript:alert(1)", "data:x", "/a"].map(isWebAddress)).toEqual([true, true, false, false, false]));
  it("splits keys of YAML", () => {
    expect(splitLine("  - name: x")).toEqual({ lead: "  - ", key: "name:", rest: " x" });
    expect(splitLine("just a text")).toEqual({ lead: "", key: "", rest: "just a text" });
  });
});

describe("Manifest", () => {
  it("removes empty members and what held them", () => expect(setAt({ spec: { a: { b: 1 }, c: 2 } }, ["spec", "a", "b"], undefined)).toEqual({ spec: { c: 2 } }));
  it("reads overrides as scalars and lists, or as text", () => {
    expect(readLines("a: 1\nb: true\nc: [x, 2]\nd: 007\ne: '5'", false).values).toEqual({ a: 1, b: true, c: ["x", 2], d: "007", e: "5" });
    expect(readLines("a: 1", true).values).toEqual({ a: "1" });
    expect(readLines("nothing", false).problems).toEqual(["nothing"]);
  });
  it("writes lines that read the same", () => {
    const values = { a: 1, b: "5", c: ["x", 2], d: "text: more", e: true };
    expect(readLines(writeLines(values), false).values).toEqual(values);
  });
  it("finds the work for Forge and moves it", () => {
    const schema = { properties: { forge: {} } };
    expect([enginePath({ spec: {} }, schema), enginePath({ spec: {} }, {}), enginePath({ spec: { executionEngine: { forge: {} } } }, schema)]).toEqual(["forge", "executionEngine.forge", "executionEngine.forge"]);
    expect(moveEngine({ spec: { owner: "o", executionEngine: { forge: { project: "p", args: [] } } } }, "executionEngine.forge", "forge")).toEqual({ spec: { owner: "o", forge: { project: "p", args: [] } } });
  });
  it("copies a job without what belongs to its run", () =>
    expect(copyOf({ kind: "FournosJob", metadata: { name: "a-x7k2p", namespace: "n", uid: "u" }, spec: { owner: "o", shutdown: "Stop" }, status: { phase: "Failed" } })).toEqual({ apiVersion: "fournos.dev/v1", kind: "FournosJob", metadata: { generateName: "a-", namespace: "n" }, spec: { owner: "o" } }));
});

describe("Pages", () => {
  it("finds pages with their names", () => {
    expect(findPage("/jobs/a%2Fb")).toMatchObject({ page: { id: "job" }, args: ["a/b"] });
    expect(findPage("/appwrappers/ns/x")).toMatchObject({ page: { id: "appwrapper" }, args: ["ns", "x"] });
    expect(findPage("/nowhere")).toBeUndefined();
    expect(findPage("/jobs/%zz")).toBeUndefined();
  });
});
