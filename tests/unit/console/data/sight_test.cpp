// SPDX-License-Identifier: Apache-2.0
// Rows of the whole cluster name jobs and pods: viewers see those of their namespaces alone
// (docs/spec/dashboard.md B9 X2).
#include "console/data/sight.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::console::sight_test {
namespace {

const Sight kOurs{.jobs = {.namespaces = {"ours"}}, .pods = {.namespaces = {"ours"}}};

TEST(Sight, LeavesOutJobsOfHiddenNamespaces) {
  const Value row = *yaml::parse(
      "{name: c1, nextJob: theirs-1, nextJobNs: theirs, lock: {holder: bob, waitsFor: [theirs/a], "
      "blocks: [ours/b, theirs/c]}}");
  const Value seen = in_sight("clusters", row, kOurs);
  EXPECT_FALSE(seen.contains("nextJob"));
  EXPECT_FALSE(seen.contains("nextJobNs"));
  EXPECT_EQ(seen["lock"], *yaml::parse("{holder: bob, waitsFor: [], blocks: [ours/b]}"));
  EXPECT_EQ(in_sight("locks", row["lock"], kOurs), seen["lock"]);
  EXPECT_EQ(in_sight("clusters", row, {}), row) << "a viewer of all namespaces";
}

TEST(Sight, KeepsSlotsOfHiddenPods) {
  const Value row = *yaml::parse(
      "{node: n, gpus: [{index: 0, holders: [{claim: x, profile: 1g.5gb, namespace: theirs, "
      "pod: p, container: c, start: 0, size: 1, reservedFor: theirs/q}, {claim: y, profile: "
      "2g.10gb, namespace: ours, pod: p, container: c, start: 2, size: 2}]}]}");
  const Value holders = in_sight("mig", row, kOurs)["gpus"][0]["holders"];
  EXPECT_EQ(holders[0], *yaml::parse("{claim: '', profile: 1g.5gb, namespace: '', pod: '', "
                                     "container: '', start: 0, size: 1}"));
  EXPECT_EQ(holders[1], row["gpus"][0]["holders"][1]);
}

TEST(Sight, LeavesOutPodsAndProblemsOfOthers) {
  const Value zone = *yaml::parse("{node: n, pods: [{ns: theirs, name: a}, {ns: ours, name: b}]}");
  EXPECT_EQ(in_sight("numa", zone, kOurs)["pods"], *yaml::parse("[{ns: ours, name: b}]"));
  const Value problems = *yaml::parse(
      "[{object: o, text: t}, {object: o, ns: theirs}, {object: o, ns: ours}, "
      "{object: o, ns: ours, otherNs: theirs}]");
  EXPECT_EQ(problems_in_sight(problems, kOurs.pods),
            *yaml::parse("[{object: o, text: t}, {object: o, ns: ours}]"));
  const Value change = *yaml::parse("{claim: x, ns: theirs, pod: p, start: 0}");
  EXPECT_EQ(slice_change_in_sight(change, kOurs.pods),
            *yaml::parse("{claim: '', ns: '', pod: '', start: 0}"));
}

}  // namespace
}  // namespace athanor::console::sight_test
