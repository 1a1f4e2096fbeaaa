// SPDX-License-Identifier: Apache-2.0
// Texts about zones.
#include "systems/numa/report.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa {
namespace {

using testing::make_pod;

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
                "data: 2 of 2 pods with resources of their own are accounted",
                "container c0: cpu 4: node-1", "container c0: memory 4Gi: node-0",
                "verdict: cannot align container", "container c0: scores node-0 16 node-1 16",
                "score: 16"}));
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi gpu=1"}}), kNode, facts(), profile)[5],
            "container c0: vendor.io/gpu 1: no zone lists it: the node as a whole serves it");
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi"}}), kNode, facts(3, 1), profile)[2],
            "data: 1 of 3 pods with resources of their own are accounted, the others are taken "
            "from every zone");
  const Profile least{.name = "zones", .scoring = {.strategy = Strategy::LeastNumaNodes}};
  EXPECT_EQ(explain(make_pod({.containers = {"9/1Gi"}}), kNode, facts(), least)[5],
            "container c0: needs node-0 node-1");
}

TEST(NumaReport, ExplainsWhyNoZoneIsLookedAt) {
  const Object pod = make_pod({.containers = {"1/1Gi"}});
  EXPECT_EQ(explain(pod, kNode, {}, {.name = "zones"}).back(),
            "node w: no NodeResourceTopology, zones are not checked");
  EXPECT_EQ(explain(pod, kNode, {.believed = {.fresh = false}}, {.name = "zones"}).back(),
            "node w: a pod of another scheduler is not accounted yet: invalid node topology data");
}

}  // namespace
}  // namespace athanor::numa
