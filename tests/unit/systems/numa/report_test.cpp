// SPDX-License-Identifier: Apache-2.0
// Texts about zones.
#include "systems/numa/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::report_test {
namespace {

using testing::make_pod;
using testing::PodText;

const Object kTopology(*yaml::parse(R"({metadata: {name: w}, attributes: [{name:
  topologyManagerPolicy, value: single-numa-node}], zones: [
  {name: node-0, type: Node, resources: [{name: cpu, capacity: 8, allocatable: 8, available: 2},
   {name: memory, capacity: 8Gi, allocatable: 8Gi, available: 8Gi}]},
  {name: node-1, type: Node, resources: [{name: cpu, capacity: 8, allocatable: 8, available: 8},
   {name: memory, capacity: 8Gi, allocatable: 8Gi, available: 1Gi}]}]})"));
const Object kNode(*yaml::parse(
    "{metadata: {name: w}, status: {allocatable: {cpu: '16', memory: 16Gi, vendor.io/gpu: 2}}}"));

TEST(NumaReport, Overview) {
  const std::vector<Row> rows = overview({&kTopology, 1});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], (Row{"w", "node-0", "cpu", "2", "8", "[########..]"}));
  EXPECT_EQ(rows[3], (Row{"w", "node-1", "memory", "1Gi", "8Gi", "[#########.]"}));
  EXPECT_EQ(bar(0, 10), "[..........]");
  EXPECT_EQ(bar(1, 1000), "[#.........]");
  EXPECT_EQ(bar(5, 0), "[..........]");
  EXPECT_EQ(bar(-3, 10), "[..........]");
  EXPECT_EQ(bar(20, 10), "[##########]");
}

NodeFacts facts(std::size_t residents = 0, std::size_t accounted = 0) {
  return {.believed = {.topology = read_topology(kTopology.body())},
          .residents = residents,
          .accounted = accounted};
}

TEST(NumaReport, ExplainsEveryDecision) {  // docs/spec/numa.md 17, row 10
  const Profile profile{.name = "zones"};
  EXPECT_EQ(explain(make_pod({.containers = {"4/4Gi gpu=1"}}), kNode, facts(2, 2), profile),
            (std::vector<std::string>{
                "pod ns/pod: Guaranteed", "node w: policy single-numa-node, scope container",
                "data: the zones count 2 of 2 pods that have CPUs or devices of their own",
                "container c0: cpu 4: node-1", "container c0: memory 4Gi: node-0",
                "verdict: cannot align container", "container c0: scores node-0 16 node-1 16",
                "score: 16"}));
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi gpu=1"}}), kNode, facts(), profile)[5],
            "container c0: vendor.io/gpu 1: no zone lists it: the node as a whole serves it");
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi"}}), kNode, facts(3, 1), profile)[2],
            "data: the zones count 1 of 3 pods that have CPUs or devices of their own, the others "
            "are taken from every zone");
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi"}}), kNode, facts(3, 1),
                    {.name = "zones", .cache = Cache::Passthrough})[2],
            "data: the zones count 1 of 3 pods that have CPUs or devices of their own, the others "
            "are ignored");
  const Profile least{.name = "zones", .scoring = {.strategy = Strategy::LeastNumaNodes}};
  EXPECT_EQ(explain(make_pod({.containers = {"9/1Gi"}}), kNode, facts(), least)[5],
            "container c0: needs node-0 node-1");
}

using Lines = std::vector<std::string>;

// Returns the lines after the pod's own.
Lines explained(const Object& pod, const NodeFacts& known, const Profile& profile) {
  Lines lines = explain(pod, kNode, known, profile);
  lines.erase(lines.begin());
  return lines;
}

TEST(NumaReport, ExplainsWhyNoZoneIsLookedAt) {
  const Object pod = make_pod({.containers = {"1/1Gi"}});
  EXPECT_EQ(explained(pod, {}, {.name = "zones"}),
            (Lines{"node w: no NodeResourceTopology, zones are not checked", "verdict: fits",
                   "score: 0"}));
  EXPECT_EQ(explained(pod, {.believed = {.fresh = false}}, {.name = "zones"}),
            (Lines{"node w: a pod of another scheduler is not accounted yet",
                   "verdict: invalid node topology data", "score: 0"}));
  EXPECT_EQ(explained(pod, {.believed = {.fresh = false}},
                      {.name = "zones", .cache = Cache::DiscardReserved}),
            (Lines{"node w: the binding of another pod is under way",
                   "verdict: invalid node topology data", "score: 0"}));
  const Profile strict{.name = "zones", .require_topology = true};
  EXPECT_EQ(explained(pod, {}, strict),
            (Lines{"node w: no NodeResourceTopology, which the scheduler requires",
                   "verdict: no topology data", "score: 0"}));
}

TEST(NumaReport, ExplainsThatAPodWithoutRequestsPasses) {  // docs/spec/numa.md 12, F16
  const Object pod = make_pod({.containers = {""}});
  const Profile strict{.name = "zones", .require_topology = true};
  EXPECT_EQ(explained(pod, {.believed = {.fresh = false}}, strict),
            (Lines{"node w: a pod of another scheduler is not accounted yet", "verdict: fits",
                   "score: 100"}));
  EXPECT_EQ(explained(pod, {}, strict)[1], "verdict: fits");
}

// Zones Q without devices (docs/spec/numa.md 12).
Object quarters() {
  constexpr int kCpus[] = {4, 4, 6, 2};
  Value zones = Value::list();
  for (int i = 0; i < 4; ++i) {
    Value costs = Value::list();
    for (int j = 0; j < 4; ++j) {
      costs.push_back(Value::object({{"name", "node-" + std::to_string(j)},
                                     {"value", i == j           ? 10
                                               : i / 2 == j / 2 ? 11
                                                                : 21}}));
    }
    zones.push_back(Value::object(
        {{"name", "node-" + std::to_string(i)},
         {"type", "Node"},
         {"costs", std::move(costs)},
         {"resources", Value::list({Value::object({{"name", "cpu"}, {"available", kCpus[i]}}),
                                    Value::object({{"name", "memory"}, {"available", "8Gi"}})})}}));
  }
  return Object(Value::object({{"metadata", Value::object({{"name", "w"}})}, {"zones", zones}}));
}

TEST(NumaReport, ExplainsSetsOfZonesLikeTheScore) {
  const NodeFacts known{.believed = {.topology = read_topology(quarters().body())}};
  const auto parts = [&](const PodText& pod, bool ignore_unlisted) {
    const Profile profile{
        .name = "zones",
        .scoring = {.strategy = Strategy::LeastNumaNodes, .ignore_unlisted = ignore_unlisted}};
    Lines lines = explained(make_pod(pod), known, profile);
    return Lines(std::ranges::find(lines, "verdict: fits") + 1, lines.end());
  };
  // L5: the second container finds node-0 taken by the first.
  EXPECT_EQ(
      parts({.containers = {"4/1Gi", "7/1Gi"}}, false),
      (Lines{"container c0: needs node-0", "container c1: needs node-2 node-3", "score: 82"}));
  // L9, and the option that leaves out what no zone lists.
  const PodText scratch{.containers = {"1/1Gi ephemeral-storage=1Gi"}};
  EXPECT_EQ(parts(scratch, false), (Lines{"container c0: needs more than there is", "score: 0"}));
  EXPECT_EQ(parts(scratch, true), (Lines{"container c0: needs node-0", "score: 94"}));
}

TEST(NumaReport, FitsAsTheDeployedSchedulerPlaces) {  // docs/numa.md, `athanor numa fit`
  const Profile profile{.name = "zones"};
  const auto answer = [&](const char* policy, const std::string& wanted, const Profile& options,
                          const Amounts& taken) {
    NodeView known{.topology = read_topology(kTopology.body())};
    known.topology->policy = policy;
    const FitAnswer found =
        fit_on(testing::make_request({.containers = {wanted}}), kNode, known, taken, options);
    return (found.fits ? found.zone + " fits" : found.reason);
  };
  EXPECT_EQ(answer("single-numa-node", "2/2Gi", profile, {}), "node-0 fits");
  EXPECT_EQ(answer("none", "9/9Gi", profile, {}), " fits");
  EXPECT_EQ(answer("none", "1000/1Gi", profile, {}), "Insufficient cpu");
  EXPECT_EQ(answer("none", "9/9Gi", profile, {{"cpu", 8 * kUnit}}), "Insufficient cpu");
  EXPECT_EQ(answer("single-numa-node", "1/1Gi gpu=2", profile, {}), "node-0 fits");
  EXPECT_EQ(answer("single-numa-node", "1/1Gi gpu=9", profile, {}), "Insufficient vendor.io/gpu");
  EXPECT_EQ(answer("single-numa-node", "1/1Gi gpu=2", profile, {{"vendor.io/gpu", kUnit}}),
            "Insufficient vendor.io/gpu");
}

TEST(NumaReport, FitsWithTheOptionsOfTheDeployedScheduler) {  // docs/spec/numa.md 11.9
  NodeView known{.topology = read_topology(kTopology.body())};
  known.topology->policy = kRestricted;
  const PodRequest request = testing::make_request({.containers = {"8/1Gi gpu=1"}});
  EXPECT_TRUE(fit_on(request, kNode, known, {}, {.name = "zones"}).fits);
  known.topology->zones[1].available["cpu"] = 7 * kUnit;
  EXPECT_TRUE(fit_on(request, kNode, known, {}, {.name = "zones"}).fits);
  EXPECT_EQ(
      fit_on(request, kNode, known, {}, {.name = "zones", .filter = {.restricted = true}}).reason,
      "cannot align container");
}

TEST(NumaReport, NoNodeWithoutZonesFits) {
  const PodRequest request = testing::make_request({.containers = {"1/1Gi"}});
  EXPECT_EQ(fit_on(request, kNode, {}, {}, {.name = "zones"}).reason,
            "zones unknown: no NodeResourceTopology");
  EXPECT_EQ(fit_on(request, kNode, {.fresh = false}, {}, {.name = "zones"}).reason,
            "invalid node topology data");
  const Profile strict{.name = "zones", .require_topology = true};
  EXPECT_EQ(fit_on(request, kNode, {}, {}, strict).reason, "no topology data");
  EXPECT_FALSE(fit_on(request, kNode, {}, {}, strict).fits);
}

}  // namespace
}  // namespace athanor::numa::report_test
