// SPDX-License-Identifier: Apache-2.0
// The scores' tables of docs/spec/numa.md section 12: S1 to S20, L1 to L12, the reference set.
#include "systems/numa/scheduling/score.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::score_test {
namespace {

using testing::make_amounts;
using testing::make_request;
using testing::make_topology;
using testing::PodText;

constexpr Strategy kLeast = Strategy::LeastAllocated;
constexpr Strategy kMost = Strategy::MostAllocated;
constexpr Strategy kBalanced = Strategy::BalancedAllocation;

struct Row {
  const char* id = "";
  PodText pod{};
  Strategy strategy = kLeast;
  std::int64_t node_score = 0;
  std::vector<std::int64_t> zone_scores{};  // of the first container; empty: not given
  std::string scope = "container";
  std::map<std::string, std::int64_t, std::less<>> weights{};
};

TEST(NumaScore, Table) {
  const std::vector<Row> rows{
      {"S1", {.containers = {"4/4Gi"}}, kLeast, 55, {81, 55}},
      {"S2", {.containers = {"4/4Gi"}}, kMost, 18, {18, 45}},
      {"S3", {.containers = {"4/4Gi"}}, kBalanced, 99, {99, 99}},
      {"S4", {.containers = {"4/4Gi"}}, kLeast, 57, {78, 57}, "container", {{"cpu", 3}}},
      {"S5", {.containers = {"12/4Gi"}}, kLeast, 25, {56, 25}},
      {"S6", {.containers = {"12/4Gi"}}, kBalanced, 80, {80, 0}},
      {"S7", {.containers = {"12/16Gi"}}, kLeast, 37, {37, 0}},
      {"S8", {.containers = {"4/4Gi", "2/2Gi"}}, kLeast, 66},
      {"S9", {.containers = {"4/4Gi", "2/2Gi"}}, kLeast, 32, {}, "pod"},
      {"S10", {.init = {"8/1Gi"}, .containers = {"4/4Gi", "2/2Gi"}}, kLeast, 22, {}, "pod"},
      {"S11", {.init = {"8/1Gi"}, .containers = {"4/4Gi", "2/2Gi"}}, kLeast, 61},
      {"S12", {.containers = {"1500m/1536Mi"}}, kMost, 8, {8, 19}},
      {"S13", {.containers = {"1500m/1536Mi"}}, kLeast, 80, {91, 80}},
      {"S14", {.containers = {"4/4Gi gpu=1"}}, kLeast, 36, {54, 36}},
      {"S15", {.containers = {"4/4Gi gpu=1"}}, kMost, 12, {12, 30}},
      {"S16", {.containers = {"4/4Gi gpu=1"}}, kBalanced, 77, {77, 89}},
      {"S17", {.containers = {"10/8Gi"}}, kMost, 43, {43, 100}},
      {"S18", {.containers = {"10/8Gi"}}, kLeast, 56, {56, 0}},
      {"S19", {.containers = {"4/4Gi"}, .burstable = true}, kMost, 100},
  };
  for (const Row& row : rows) {
    const NodeTopology topology = make_topology({"16/32Gi", "10/8Gi"}, row.scope);
    const PodRequest pod = make_request(row.pod);
    const Scoring scoring{.strategy = row.strategy, .weights = row.weights};
    EXPECT_EQ(score(pod, &topology, scoring), row.node_score) << row.id;
    for (std::size_t i = 0; i < row.zone_scores.size(); ++i) {
      EXPECT_EQ(zone_score(pod.containers[0].requests, topology.zones[i], scoring),
                row.zone_scores[i])
          << row.id << " zone " << i;
    }
  }
}

TEST(NumaScore, OtherPoliciesAndUnknownNodes) {  // S20
  const PodRequest pod = make_request({.containers = {"4/4Gi"}});
  const NodeTopology restricted = make_topology({"16/32Gi", "10/8Gi"}, "container", "restricted");
  for (const Strategy strategy : {kLeast, kMost, kBalanced}) {
    EXPECT_EQ(score(pod, &restricted, {.strategy = strategy}), 0);
    EXPECT_EQ(score(pod, nullptr, {.strategy = strategy}), 0);
  }
  EXPECT_EQ(score(pod, &restricted, {.strategy = Strategy::LeastNumaNodes}), 94);
}

TEST(NumaScore, ReferenceSet) {
  struct Reference {
    const char* zone = "";
    std::int64_t most = 0, balanced = 0, least = 0;
  };
  const PodRequest pod = make_request({.containers = {"2/20Mi"}});
  for (const Reference& row : {Reference{"4/500Mi", 27, 89, 73}, Reference{"2/50Mi", 70, 82, 30},
                               Reference{"6/60Mi", 33, 100, 66}}) {
    const NodeTopology topology = make_topology({row.zone, row.zone});
    EXPECT_EQ(score(pod, &topology, {.strategy = kMost}), row.most) << row.zone;
    EXPECT_EQ(score(pod, &topology, {.strategy = kBalanced}), row.balanced) << row.zone;
    EXPECT_EQ(score(pod, &topology, {.strategy = kLeast}), row.least) << row.zone;
  }
}

TEST(NumaScore, RepairedQuirks) {
  const NodeTopology topology = make_topology({"nic=4", "nic=4"});
  EXPECT_EQ(zone_score(make_amounts("nic=1"), topology.zones[0], {.strategy = kBalanced}), 100);
  EXPECT_EQ(lowest_score({}, topology.zones, {.strategy = kLeast}), 0);
  EXPECT_FALSE(parse_strategy("Wrong").ok());
  EXPECT_NE(parse_strategy("Wrong").error().message.find("invalid ScoringStrategyType"),
            std::string::npos);
}

// Zones Q of the specification.
NodeTopology zones_q(const std::string& scope = "container", int most = 8) {
  NodeTopology topology =
      make_topology({"4/8Gi gpu=1", "4/8Gi gpu=0", "6/8Gi gpu=1", "2/8Gi gpu=1"}, scope);
  topology.max_numa_nodes = most;
  for (Zone& zone : topology.zones) {
    for (int other = 0; other < 4; ++other) {
      zone.costs[other] = other == zone.id ? 10 : other / 2 == zone.id / 2 ? 11 : 21;
    }
  }
  return topology;
}

TEST(NumaScore, LeastNumaNodes) {
  struct Sets {
    const char* id = "";
    PodText pod{};
    std::int64_t points = 0;
    std::vector<std::size_t> need{};  // of the first container
    std::string scope = "container";
    int most = 8;
  };
  const std::vector<Sets> rows{
      {"L1", {.containers = {"4/1Gi"}}, 94, {0}},
      {"L2", {.containers = {"7/1Gi"}}, 82, {0, 1}},
      {"L3", {.containers = {"2/1Gi gpu=2"}}, 82, {2, 3}},
      {"L4", {.containers = {"9/1Gi"}}, 76, {0, 2}},
      {"L4b", {.containers = {"10/1Gi"}}, 76, {0, 2}},
      {"L5", {.containers = {"4/1Gi", "7/1Gi"}}, 82, {0}},
      {"L6", {.containers = {"16/1Gi"}}, 58, {0, 1, 2, 3}},
      {"L7", {.containers = {"17/1Gi"}}, 0},
      {"L9", {.containers = {"1/1Gi ephemeral-storage=1Gi"}}, 0},
      {"L10", {.containers = {"7/1Gi"}}, 62, {0, 1}, "container", 4},
      {"L11", {.containers = {"4/1Gi", "7/1Gi"}}, 70, {0}, "pod"},
      {"L12", {.containers = {"2/1Gi gpu=3"}}, 70, {0, 2, 3}},
  };
  for (const Sets& row : rows) {
    const NodeTopology topology = zones_q(row.scope, row.most);
    const PodRequest pod = make_request(row.pod);
    EXPECT_EQ(score(pod, &topology, {.strategy = Strategy::LeastNumaNodes}), row.points) << row.id;
    const auto need = zones_needed(pod.containers[0].requests, topology.zones);
    ASSERT_EQ(need.has_value(), !row.need.empty()) << row.id;
    if (need) {
      EXPECT_EQ(need->positions, row.need) << row.id;
    }
  }
  // L8: nothing of what is asked for is listed by a zone.
  const NodeTopology others = make_topology({"nic=1", "nic=1"});
  PodRequest fpga;
  fpga.guaranteed = true;
  fpga.containers = {{.name = "c", .requests = make_amounts("fpga=1")}};
  EXPECT_EQ(score(fpga, &others, {.strategy = Strategy::LeastNumaNodes}), 100);
}

TEST(NumaScore, IgnoresUnlistedResourcesWithLeastNumaNodes) {  // 11.5: L9 by option
  const PodRequest pod = make_request({.containers = {"1/1Gi ephemeral-storage=1Gi"}});
  for (const char* scope : {"container", "pod"}) {
    const NodeTopology topology = zones_q(scope);
    EXPECT_EQ(score(pod, &topology, {.strategy = Strategy::LeastNumaNodes}), 0) << scope;
    EXPECT_EQ(
        score(pod, &topology, {.strategy = Strategy::LeastNumaNodes, .ignore_unlisted = true}), 94)
        << scope;
  }
}

TEST(NumaScore, SetScores) {
  struct Scores {
    int most = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> points{};  // not optimal, optimal
  };
  const std::vector<Scores> rows{
      {8, {{88, 94}, {76, 82}, {64, 70}, {52, 58}, {40, 46}, {28, 34}, {16, 22}, {4, 10}}},
      {4, {{75, 87}, {50, 62}, {25, 37}, {0, 12}, {0, 0}}},
      {16, {{94, 97}, {88, 91}, {82, 85}, {76, 79}, {70, 73}, {64, 67}, {58, 61}, {52, 55}}}};
  for (const Scores& row : rows) {
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      EXPECT_EQ(set_score(i + 1, false, row.most), row.points[i].first) << row.most << " " << i;
      EXPECT_EQ(set_score(i + 1, true, row.most), row.points[i].second) << row.most << " " << i;
    }
  }
}

}  // namespace
}  // namespace athanor::numa::score_test
