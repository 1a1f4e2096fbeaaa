// SPDX-License-Identifier: Apache-2.0
// Zones of nodes for the console, and which of them are out of date (docs/spec/dashboard.md B4.8).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/overview.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::console::zone_map_test {
namespace {

Facts facts() {
  const auto shared = [](const std::string& yaml) {
    return std::make_shared<const KindObjects>(
        KindObjects{.objects = {Object(yaml::parse(yaml).value())}, .synced = true});
  };
  return Facts(
      {{&api::kNode, shared("{metadata: {name: n1}}")},
       {&numa::kTopologyKind,
        shared("{metadata: {name: n1, creationTimestamp: \"2026-01-31T08:00:00Z\", "
               "annotations: {k8stopoawareschedwg/update-interval: 1m}}, zones: [{name: "
               "node-0, type: Node, resources: [{name: cpu, capacity: \"10\", allocatable: "
               "\"10\", available: \"0\"}]}]}")}},
      1);
}

TEST(ZoneMap, MarksNodesThatAreOutOfDate) {
  const Value map = zone_map(facts());
  EXPECT_EQ(map["nodes"][0]["staleAt"].str(), "2026-01-31T08:02:00Z");
  const Value fresh = zones_at(map, *parse_time("2026-01-31T08:02:00Z"));
  EXPECT_FALSE(fresh["nodes"][0]["stale"].as_bool(true));
  EXPECT_EQ(fresh["problems"].size(), 1U) << "the full zone";
  const Value stale = zones_at(map, *parse_time("2026-01-31T08:02:01Z"));
  EXPECT_TRUE(stale["nodes"][0]["stale"].as_bool());
  EXPECT_EQ(stale["problems"][1]["text"].str(), "its zones are out of date");
}

TEST(ZoneMap, MissesZonesInPoolsWithZonesOnly) {
  const auto shared = [](const std::vector<std::string>& yamls) {
    KindObjects objects{.synced = true};
    for (const std::string& yaml : yamls) {
      objects.objects.emplace_back(yaml::parse(yaml).value());
    }
    return std::make_shared<const KindObjects>(std::move(objects));
  };
  const Facts state(
      {{&api::kNode,
        shared({"{metadata: {name: control, labels: {node-role.kubernetes.io/control-plane: ''}}}",
                "{metadata: {name: n1, labels: {node-role.kubernetes.io/worker: ''}}}",
                "{metadata: {name: n2, labels: {node-role.kubernetes.io/worker: ''}}}",
                "{metadata: {name: other}}"})},
       {&numa::kTopologyKind, shared({"{metadata: {name: n1}, zones: []}"})}},
      1);
  const Value map = zone_map(state);
  ASSERT_EQ(map["problems"].size(), 1U);
  EXPECT_EQ(map["problems"][0]["object"].str(), "Node/n2");
}

TEST(ZoneMap, IsCountedByTheOverview) {
  const Facts state = facts();
  const Value map = zone_map(state);
  const Instant now = *parse_time("2026-01-31T09:00:00Z");
  EXPECT_EQ(overview(state, {.zones = &map}, now)["numa"]["over90"].as_int(), 1);
  EXPECT_EQ(problems(state, {.zones = &map}, now).size(), 2U);
  EXPECT_FALSE(overview(state, {}, now).contains("numa"));
}

}  // namespace
}  // namespace athanor::console::zone_map_test
