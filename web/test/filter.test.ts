// SPDX-License-Identifier: Apache-2.0
// One grammar of filters: the cases are those of the JSON API (tests/unit/console/model/list_filter_test.cpp) and of athanor top.
import { describe, expect, it } from "vitest";
import text from "./filter_cases.json?raw";
import { parseFilter } from "../src/core/filter";
import type { Job } from "../src/core/types";
import { appwrapperFields } from "../src/pages/devices/appwrappers";
import { clusterFields } from "../src/pages/fleet/clusters";
import { nodeFields } from "../src/pages/fleet/nodes";
import { jobFields, jobWords } from "../src/pages/jobs/model";
import { workloadFields } from "../src/pages/queue/queue";
import { scheduleFields } from "../src/pages/submit/schedules";

interface Fixture {
  now: string;
  rows: Job[];
  cases: { filter: string; names?: string[]; wrong?: string }[];
  keys: Record<string, string[]>;
}

const fixture = JSON.parse(text) as Fixture;

describe("Grammar of filters", () => {
  it.each(fixture.cases.map((one) => [one.filter, one] as const))("takes %s as the server does", (wanted, one) => {
    const filter = parseFilter(wanted, jobFields, jobWords);
    if (one.wrong) return expect(filter.problems.map((problem) => problem.split(": ")[0])).toEqual([one.wrong]);
    expect(filter.problems).toEqual([]);
    expect(fixture.rows.filter((row) => filter.accepts(row, Date.parse(fixture.now))).map((row) => row.name)).toEqual(one.names);
  });
  it.each([
    ["jobs", jobFields],
    ["clusters", clusterFields],
    ["nodes", nodeFields],
    ["schedules", scheduleFields],
    ["workloads", workloadFields],
    ["appwrappers", appwrapperFields],
  ])("has the keys of %s that the server knows", (name, fields) => expect(Object.keys(fields).sort()).toEqual([...fixture.keys[name]!].sort()));
});
