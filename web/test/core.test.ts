// SPDX-License-Identifier: Apache-2.0
// Filter, times, order of rows, changes of the stream: the parts without a page.
import { describe, expect, it } from "vitest";
import { applyChanges, keyOf, pause } from "../src/core/data";
import { filterRows, parseFilter, splitTerms, toggleTerm, type Fields } from "../src/core/filter";
import { changesOf } from "../src/core/stream";
import { parseSpan, span } from "../src/core/time";
import { readAmounts } from "../src/pages/fleet/addnode";
import { holdRows, sortRows } from "../src/ui/order";
import { windowOf } from "../src/ui/virtual";

interface Row {
  ns: string;
  name: string;
  phase: string;
  labels: string[];
  age: number;
  n?: number;
}

const fields: Fields<Row> = { phase: { text: (row) => row.phase }, label: { text: (row) => row.labels }, age: { span: (row) => row.age }, n: { number: (row) => row.n } };
const rows: Row[] = [
  { ns: "a", name: "one", phase: "Failed", labels: ["team=x"], age: 36e5, n: 3 },
  { ns: "a", name: "two", phase: "Running", labels: ["team=y"], age: 6e4 },
  { ns: "b", name: "three words", phase: "Pending", labels: [], age: 9e6 },
];
const names = (text: string) => rows.filter((row) => parseFilter(text, fields, (one) => [one.name]).accepts(row, 0)).map((row) => row.name);

describe("Filter", () => {
  it("matches free words anywhere", () => expect(names("wo")).toEqual(["two", "three words"]));
  it("takes values of one key as alternatives", () => expect(names("phase:failed phase:Running")).toEqual(["one", "two"]));
  it("excludes terms with a minus", () => expect(names("-phase:Failed")).toEqual(["two", "three words"]));
  it("reads labels with their equals sign", () => expect(names("label:team=x")).toEqual(["one"]));
  it("orders spans", () => expect(names("age:<2h")).toEqual(["one", "two"]));
  it("leaves rows without a number out of comparisons", () => expect(names("n:>2")).toEqual(["one"]));
  it("counts values of a key without its own terms", () => {
    const filter = parseFilter("phase:Failed age:<2h", fields, (row) => [row.name]);
    const { accepted, counts } = filterRows(rows, filter, 0, { key: "phase", values: ["Failed", "Stopped"], of: (row) => row.phase });
    expect(accepted.map((row) => row.name)).toEqual(["one"]);
    expect(counts).toEqual([["Failed", 1], ["Stopped", 0], ["Running", 1]]);
  });
  it("searches the new words of a replaced row", () => {
    const words = (row: Row) => [row.name];
    const accepts = (row: Row) => parseFilter("new", fields, words).accepts(row, 0);
    expect([accepts(rows[0]!), accepts({ ...rows[0]!, name: "renewed" })]).toEqual([false, true]);
  });
  it("keeps quoted texts together", () => expect(names('"three words"')).toEqual(["three words"]));
  it("knows wildcards", () => expect(names("label:team=*")).toEqual(["one", "two"]));
  it.each([
    ["foo:bar", /unknown key/],
    ["age:2h", /write age:</],
    ["age:<soon", /write age:</],
    ["phase:", /takes a text/],
    ["constructor:x", /unknown key/],
  ])("names the bad term %s and drops no row", (text, message) => {
    const filter = parseFilter(text, fields, () => []);
    expect(filter.problems.join()).toMatch(message);
    expect(rows.every((row) => filter.accepts(row, 0))).toBe(true);
  });
  it("toggles a term", () => {
    expect(toggleTerm("x", "state", "has quota")).toBe('x state:"has quota"');
    expect(toggleTerm('x state:"has quota"', "state", "has quota")).toBe("x");
    expect(splitTerms('a "b c" k:"d e"')).toEqual(["a", '"b c"', 'k:"d e"']);
  });
});

describe("Span", () => {
  it.each([
    [12e3, "12s"],
    [3e5, "5m"],
    [11040e3, "3h 4m"],
    [190800e3, "2d 5h"],
    [-5, "0s"],
    [NaN, "?"],
  ])("formats %d", (ms, text) => expect(span(ms)).toBe(text));
  it("reads what it can and no more", () => {
    expect(parseSpan("1h30m")).toBe(54e5);
    expect(parseSpan("1.5h")).toBe(54e5);
    expect(parseSpan("soon")).toBeNaN();
    expect(parseSpan("")).toBeNaN();
  });
});

describe("Order", () => {
  it("breaks ties by namespace and name", () => expect(sortRows([...rows].reverse(), () => 1, false).map((row) => row.name)).toEqual(["one", "two", "three words"]));
  it("puts absent values last in both directions", () => {
    expect(sortRows(rows, (row) => row.n, true).at(0)!.name).toBe("one");
    expect(sortRows(rows, (row) => row.n, false).at(0)!.name).toBe("one");
  });
  it("holds rows still and counts what waits", () => {
    const newer = { ...rows[1]!, phase: "Failed" };
    const held = holdRows(["a/two", "a/one"], [{ ...rows[0]!, name: "zero" }, newer]);
    expect(held.rows).toEqual([newer]);
    expect(held.updates).toBe(2);
  });
  it("counts nothing when only cells changed", () => expect(holdRows(["a/one", "a/two"], [{ ...rows[0]!, phase: "x" }, rows[1]!]).updates).toBe(0));
});

describe("Changes", () => {
  const live = { ns: "n", name: "a", uid: "u1" };
  it("adds, changes and removes rows without touching the old list", () => {
    const before = new Map([["n/a", live]]);
    const after = applyChanges(before, [
      { type: "MODIFIED", object: { ...live, phase: "Failed" } },
      { type: "ADDED", object: { ns: "n", name: "b", uid: "u2" } },
      { type: "DELETED", object: { ns: "n", name: "b", uid: "u2" } },
    ]);
    expect([...after.values()]).toEqual([{ ...live, phase: "Failed" }]);
    expect(before.get("n/a")).toBe(live);
  });
  it("keeps the archived row when its live row ends, in either order", () => {
    const archived = { type: "ADDED" as const, object: { ...live, archived: true } };
    const ended = { type: "DELETED" as const, object: { ...live } };
    for (const changes of [[archived, ended], [ended, archived]]) expect([...applyChanges(new Map([["n/a", live]]), changes).values()]).toEqual([archived.object]);
  });
  it("removes an archived row and leaves a newer job of its name", () => {
    const rows = new Map<string, { ns: string; name: string; uid: string; archived?: boolean }>([["n/a", { ...live, uid: "u9" }], ["u1", { ...live, archived: true }]]);
    expect([...applyChanges(rows, [{ type: "DELETED", object: { ...live } }]).keys()]).toEqual(["n/a"]);
  });
  it("replaces a job by one of the same name", () => expect([...applyChanges(new Map([["n/a", live]]), [{ type: "MODIFIED", object: { ...live, uid: "u5" } }]).values()]).toEqual([{ ...live, uid: "u5" }]));
  it("unfolds a batch and leaves bookmarks out", () => {
    expect(changesOf('{"type":"BATCH","changes":[{"type":"ADDED","object":{"name":"a"}}]}')).toHaveLength(1);
    expect(changesOf('{"type":"BOOKMARK","object":{}}')).toEqual([]);
  });
  it("identifies live rows by name, archived ones by uid", () => expect([keyOf({ ns: "a", name: "b", uid: "u" }), keyOf({ ns: "a", name: "b", uid: "u", archived: true })]).toEqual(["a/b", "u"]));
});

describe("Window", () => {
  it("renders only what is in sight", () => expect(windowOf(3000, 600, 30, 5000, 10)).toEqual({ first: 90, last: 130 }));
  it("stays inside of a short list", () => expect(windowOf(9000, 600, 30, 3)).toEqual({ first: 3, last: 3 }));
});

describe("Amounts of a node", () => {
  it("are read from a text", () => expect(readAmounts(" cpu=8, nvidia.com/gpu = 4,, memory=8Gi")).toEqual({ cpu: "8", "nvidia.com/gpu": "4", memory: "8Gi" }));
  it("keep what has no value, so that the server names it", () => expect(readAmounts("cpu")).toEqual({ cpu: "" }));
});

describe("pause", () => {
  const change = (object: object) => [{ type: "MODIFIED", object }] as unknown as Parameters<typeof pause>[0];
  const about = { ns: "a", name: "x" };
  it("is short after changes of the page's object, and of topics without objects", () => {
    expect(pause(change({ ns: "a", name: "x" }), about)).toBe(500);
    expect(pause(change({ cluster: "c" }), about)).toBe(500);
    expect(pause(change({ ns: "a", name: "y" }), undefined)).toBe(500);
  });
  it("is long after changes of other objects", () => {
    expect(pause(change({ ns: "a", name: "y" }), about)).toBe(15_000);
    expect(pause(change({ ns: "b", name: "x" }), about)).toBe(15_000);
  });
});
