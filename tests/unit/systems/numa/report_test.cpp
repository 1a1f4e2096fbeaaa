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

TEST(NumaReport, ExplainsEveryDecision) {
  EXPECT_EQ(explain(make_pod({.containers = {"4/4Gi gpu=1"}}), kNode, &kTopology, {}),
            (std::vector<std::string>{
                "pod ns/pod: Guaranteed", "node w: policy single-numa-node, scope container",
                "container c0: cpu 4: node-1", "container c0: memory 4Gi: node-0",
                "verdict: cannot align container", "score: 16"}));
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi gpu=1"}}), kNode, &kTopology, {})[4],
            "container c0: vendor.io/gpu 1: no zone lists it: the node as a whole serves it");
  EXPECT_EQ(explain(make_pod({.containers = {"1/1Gi"}}), kNode, nullptr, {}).back(),
            "node w: no NodeResourceTopology, zones are not checked");
}

}  // namespace
}  // namespace athanor::numa
