// SPDX-License-Identifier: Apache-2.0
// The map of MIG slices (docs/spec/dashboard.md B4.7).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/overview.hpp"
#include "kube/text/yaml.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"

namespace athanor::console::slice_map_test {
namespace {

Object claim(const std::string& name, const std::string& profile, const std::string& placement,
             const std::string& state) {
  return Object(
      yaml::parse("{metadata: {name: " + name +
                  ", creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {profile: " + profile +
                  ", gpuUUID: " + das::emulated_uuid("a", 0) + ", nodename: a, migPlacement: {" +
                  placement + "}, podRef: {namespace: ns, name: " + name +
                  ", uid: u}}, status: {state: " + state + "}}")
          .value());
}

Object pod(const std::string& name, const std::string& resource) {
  return Object(yaml::parse("{metadata: {name: " + name +
                            ", namespace: ns}, spec: {containers: [{resources: {limits: {" +
                            resource + ": 1}}}]}, status: {phase: Pending}}")
                    .value());
}

// A node with one A100, a claim of 1g.5gb at slot 0 and one of 3g.20gb at slot 4 (T8).
Facts facts(std::vector<Object> pods) {
  Value node = yaml::parse("{kind: NodeAccelerator, metadata: {name: a}}").value();
  node.set_path(
      {"status", "nodeResources"},
      das::emulated_resources("a", {.model = das::find_model("A100-PCIE-40GB"), .count = 1}));
  const auto shared = [](std::vector<Object> objects) {
    return std::make_shared<const KindObjects>(
        KindObjects{.objects = std::move(objects), .synced = true});
  };
  return Facts({{&das::kNodeAccelerator, shared({Object(std::move(node))})},
                {&das::kAllocationClaim,
                 shared({claim("small", "1g.5gb", "start: 0, size: 1", "inUse"),
                         claim("large", "3g.20gb", "start: 4, size: 4", "created")})},
                {&api::kPod, shared(std::move(pods))}},
               1);
}

// Counts the legal places that nothing stands in, as the table of the node has them.
std::int64_t places_left(const Value& gpu, const std::string& profile) {
  std::int64_t left = 0;
  std::int64_t next = 0;
  for (const Value& place : gpu["placements"][profile].items()) {
    const std::int64_t start = place["start"].as_int();
    const std::int64_t end = start + place["size"].as_int();
    bool free = start >= next;
    for (const Value& holder : gpu["holders"].items()) {
      const std::int64_t from = holder["start"].as_int();
      free = free && (end <= from || start >= from + holder["size"].as_int());
    }
    left += free ? 1 : 0;
    next = free ? end : next;
  }
  return left;
}

TEST(SliceMap, CountsRoomAsThePlacementsDo) {
  const Value map = slice_map(facts({}));
  const Value& node = map["nodes"][0];
  const Value& gpu = node["gpus"][0];
  ASSERT_EQ(gpu["holders"].size(), 2U);
  EXPECT_EQ(gpu["holders"][0]["start"].as_int(), 0);
  EXPECT_EQ(gpu["holders"][1]["start"].as_int(), 4);
  EXPECT_EQ(gpu["holders"][1]["size"].as_int(), 4);
  EXPECT_EQ(gpu["holders"][1]["created"].str(), "2026-01-01T00:00:00Z");
  for (const char* profile : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    EXPECT_EQ(gpu["room"][std::string_view(profile)].as_int(), places_left(gpu, profile))
        << profile;
  }
  EXPECT_EQ(gpu["largestFree"].str(), "2g.10gb");
  EXPECT_EQ(gpu["memory"].str(), "40Gi");
  EXPECT_EQ(node["totals"], map["totals"]) << "of the only node";
}

TEST(SliceMap, CountsPodsThatFitNowhere) {
  const Facts state = facts({pod("fits", "mig.das.com/1g.5gb"), pod("big", "mig.das.com/7g.40gb"),
                             pod("other", "nvidia.com/gpu")});
  const Value map = slice_map(state);
  ASSERT_EQ(map["waiting"].size(), 2U);
  EXPECT_TRUE(map["waiting"][0]["fits"].as_bool());
  EXPECT_FALSE(map["waiting"][1]["fits"].as_bool());
  EXPECT_EQ(overview(state, {.slices = &map}, {})["mig"]["unplaceable"].as_int(), 1);
}

}  // namespace
}  // namespace athanor::console::slice_map_test
