// SPDX-License-Identifier: Apache-2.0
// Logs: colours, escapes, levels, sections, searches.
import { describe, expect, it } from "vitest";
import { parseAnsi, plainText } from "../src/logs/ansi";
import { kAll, levelOf, LogModel } from "../src/logs/model";
import { rowsOf } from "../src/logs/viewer";

describe("Ansi", () => {
  it("makes runs of the 16 colours", () => expect(parseAnsi("a\u001b[1;31mb\u001b[0mc")).toEqual([{ text: "a", classes: "" }, { text: "b", classes: "a-1 bold" }, { text: "c", classes: "" }]));
  it("knows 256 colours and RGB", () => {
    expect(parseAnsi("\u001b[38;5;208mx")[0]).toMatchObject({ colour: "rgb(255,135,0)" });
    expect(parseAnsi("\u001b[48;2;1;2;999mx")[0]).toMatchObject({ background: "rgb(1,2,255)" });
  });
  it("shows control and direction bytes escaped", () => expect(plainText("a\u0007b\u202ec")).toBe("a\\x07b\\u202ec"));
  it("leaves cursor moves and titles out", () => expect(plainText("\u001b[2K\u001b]0;title\u0007x\u001b[1A")).toBe("x"));
  it("keeps HTML as text", () => expect(plainText("<script>alert(1)</script>")).toBe("<script>alert(1)</script>"));
});

describe("LogModel", () => {
  const texts = ["==== prepare", "INFO: a", "~~ TASK: run", "WARN: b", "ERROR: c", "Error in text", "last"];
  const model = () => {
    const one = new LogModel();
    one.add(texts.map((text, i) => ({ n: i + 1, text, source: i % 2 ? "x" : "y" })));
    return one;
  };
  it("takes each line once", () => {
    const one = model();
    one.add([{ n: 2, text: "other" }]);
    expect(one.count).toBe(7);
    expect(one.textOf(2)).toBe("INFO: a");
  });
  it("appends only what is newer than the last line of a source", () => {
    const one = new LogModel();
    one.add([{ n: 1, at: "2026-01-01T00:00:01.25Z", text: "a", source: "x" }, { n: 2, at: "2026-01-01T00:00:03Z", text: "b", source: "y" }]);
    one.append([
      { n: 1, at: "2026-01-01T00:00:01.250Z", text: "a", source: "x" },
      { n: 2, at: "2026-01-01T00:00:01.3Z", text: "c", source: "x" },
      { n: 3, at: "2026-01-01T00:00:03Z", text: "b", source: "y" },
    ]);
    expect([one.textOf(3), one.last]).toEqual(["c", 3]);
    expect(one.since()).toBe("1767225603000000000");
  });
  it("leaves room for skipped lines until they are loaded", () => {
    const one = model();
    one.skip(2);
    one.append([{ n: 3, text: "after the gap" }, { n: 10, text: "next" }]);
    expect([one.last, one.count, one.missing(1, one.last)]).toEqual([10, 8, 8]);
    one.add([{ n: 8, text: "skipped" }, { n: 9, text: "ERROR: skipped" }]);
    expect(one.missing(1, one.last)).toBe(0);
    expect(one.show(kAll).shown).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
  it("shows new lines as a model that is read at once does", () => {
    const one = new LogModel();
    const asked = { ...kAll, query: "e" };
    one.folded.add(3);
    for (const [i, text] of texts.entries()) {
      one.add([{ n: i + 1, text }]);
      one.show(asked);
    }
    const whole = new LogModel();
    whole.folded.add(3);
    whole.add(texts.map((text, i) => ({ n: i + 1, text })));
    expect(one.show(asked)).toEqual(whole.show(asked));
    one.folded.delete(3);
    expect(one.show(asked).shown).toHaveLength(texts.length);
  });
  it("finds the first missing line", () => {
    const one = new LogModel();
    one.add([{ n: 1, text: "a" }, { n: 4, text: "d" }]);
    expect(one.missing(1, 4)).toBe(2);
    expect(one.missing(4, 4)).toBe(0);
  });
  it("searches text and expressions over all lines", () => {
    expect(model().show({ ...kAll, query: "error" }).hits).toEqual([5, 6]);
    expect(model().show({ ...kAll, query: "ERROR", caseful: true }).hits).toEqual([5]);
    expect(model().show({ ...kAll, query: "^(INFO|WARN):", regex: true, onlyHits: true }).shown).toEqual([2, 4]);
  });
  it("names a bad expression and shows all lines", () => {
    const result = model().show({ ...kAll, query: "(", regex: true });
    expect(result.problem).not.toBe("");
    expect(result.shown).toHaveLength(7);
  });
  it("filters by level and keeps headings", () => expect(model().show({ ...kAll, level: "warn" }).shown).toEqual([1, 3, 4, 5]));
  it("filters by source", () => expect(model().show({ ...kAll, source: "x" }).shown).toEqual([2, 4, 6]));
  it("folds a section but shows hits in it", () => {
    const one = model();
    one.folded.add(3);
    expect(one.show(kAll).shown).toEqual([1, 2, 3]);
    expect(one.show({ ...kAll, query: "last" }).shown).toEqual([1, 2, 3, 7]);
  });
  it("finds the first error", () => expect(model().firstError()).toBe(5));
  it("searches 100,000 lines in a moment", () => {
    const one = new LogModel();
    one.add(Array.from({ length: 100_000 }, (_, i) => ({ n: i + 1, text: `INFO: iteration ${i}` })));
    one.show(kAll);
    const before = performance.now();
    expect(one.show({ ...kAll, query: "99999" }).hits).toEqual([100_000]);
    expect(performance.now() - before).toBeLessThan(1500);
  });
});

describe("Level", () => {
  it.each([
    ["ERROR: x", "error"],
    ["2026-01-01 ERROR x", "error"],
    ["Traceback (most recent call last):", "error"],
    ["WARNING: x", "warn"],
    ["INFO: x", "info"],
    ["INFORMATION", "other"],
    ["E1128 12:00 x", "error"],
  ])("reads %s", (text, level) => expect(levelOf(text)).toBe(level));
});

describe("Wrapping", () => {
  it("counts rows", () => {
    expect(rowsOf("", 80)).toBe(1);
    expect(rowsOf("x".repeat(161), 80)).toBe(3);
    expect(rowsOf("漢".repeat(41), 80)).toBe(2);
  });
});
