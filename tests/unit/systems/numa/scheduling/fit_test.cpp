// SPDX-License-Identifier: Apache-2.0
// The filter's table of docs/spec/numa.md section 12, F1 to F20.
#include "systems/numa/scheduling/fit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::fit_test {
namespace {

using testing::make_amounts;
using testing::make_request;
using testing::make_topology;
using testing::PodText;

// Node W of the specification.
NodeTopology node_w(const std::string& scope = "container",
                    const std::string& policy = "single-numa-node") {
  return make_topology({"8/16Gi hugepages-1Gi=4Gi nic=2", "12/12Gi hugepages-1Gi=0 nic=0"}, scope,
                       policy);
}
Amounts allocatable_w(const std::string& more = "") {
  return make_amounts("32/64Gi ephemeral-storage=100Gi hugepages-1Gi=4Gi nic=2 gpu=4 " + more);
}

struct Row {
  const char* id = "";
  PodText pod{};
  std::string refusal{};     // empty: passes
  std::vector<int> zones{};  // of the containers that were placed, in order
  std::string scope = "container";
  std::string policy = "single-numa-node";
  std::string more_allocatable{};
};

TEST(NumaFilter, Table) {
  const std::vector<Row> rows{
      {"F1", {.containers = {"10/8Gi"}}, "", {1}},
      {"F2", {.containers = {"10/14Gi"}}, "cannot align container"},
      {"F3", {.containers = {"6/6Gi", "9/6Gi"}}, "", {0, 1}},
      {"F3p", {.containers = {"6/6Gi", "9/6Gi"}}, "cannot align pod", {}, "pod"},
      {"F4", {.containers = {"6/6Gi", "6/6Gi", "8/1Gi"}}, "cannot align container", {0, 1}},
      {"F5", {.init = {"12/12Gi"}, .containers = {"8/2Gi"}}, "", {1, 0}},
      {"F5b", {.init = {"13/1Gi"}, .containers = {"1/1Gi"}}, "cannot align init container"},
      {"F6", {.containers = {"20/20Gi"}, .burstable = true}, "", {0}},
      {"F7", {.containers = {"nic=2"}}, "", {0}},
      {"F7b", {.containers = {"nic=2", "nic=1"}}, "cannot align container", {0}},
      {"F8", {.containers = {"10/1Gi nic=1"}}, "cannot align container"},
      {"F9", {.containers = {"4/1Gi gpu=3"}}, "", {0}},
      {"F10", {.containers = {"4/1Gi fpga=1"}}, "cannot align container"},
      {"F11", {.containers = {"4/1Gi hugepages-2Mi=64Mi"}}, "cannot align container"},
      {"F11 listed by the node",
       {.containers = {"4/1Gi hugepages-2Mi=64Mi"}},
       "cannot align container",
       {},
       "container",
       "single-numa-node",
       "hugepages-2Mi=1Gi"},
      {"F12",
       {.containers = {"4/1Gi hugepages-1Gi=2Gi", "4/1Gi hugepages-1Gi=3Gi"}},
       "cannot align container",
       {0}},
      {"F13", {.containers = {"4/1Gi ephemeral-storage=1Gi"}}, "", {0}},
      {"F14", {.containers = {"20/20Gi"}}, "", {}, "container", "restricted"},
      {"F15", {.containers = {"7/7Gi"}, .overhead = "250m/160Mi"}, "", {0}, "pod"},
      {"F15b", {.containers = {"12/8Gi"}, .overhead = "250m/160Mi"}, "cannot align pod", {}, "pod"},
      {"F15c", {.containers = {"12/8Gi"}, .overhead = "250m/160Mi"}, "", {1}},
      {"F17", {.containers = {"7500m/1Gi", "500m/1Gi", "250m/1Gi"}}, "", {0, 0, 1}},
      {"F18", {.containers = {"0/1Gi nic=3"}, .burstable = true}, "cannot align container"},
      {"sidecar",
       {.containers = {"1/1Gi"}, .sidecars = {"13/1Gi"}},
       "cannot align sidecar container"},
      // 17.4: what a sidecar takes stays taken.
      {"sidecar counts",
       {.containers = {"8/1Gi", "5/1Gi"}, .sidecars = {"8/1Gi"}},
       "cannot align container",
       {0, 1}},
  };
  for (const Row& row : rows) {
    FitTrace trace;
    const auto verdict = filter(make_request(row.pod), node_w(row.scope, row.policy),
                                allocatable_w(row.more_allocatable), &trace);
    EXPECT_EQ(verdict.ok() ? "" : verdict.error().message, row.refusal) << row.id;
    std::vector<int> zones;
    for (const auto& [container, zone] : trace.chosen) {
      zones.push_back(zone);
    }
    EXPECT_EQ(zones, row.zones) << row.id;
  }
}

TEST(NumaFilter, PodsWithoutRequestsNeedNoData) {  // F16
  EXPECT_TRUE(passes_unseen(make_request({.containers = {""}})));
  EXPECT_FALSE(passes_unseen(make_request({.containers = {"nic=1"}})));
  EXPECT_FALSE(passes_unseen(make_request({.containers = {"1/1Gi"}, .burstable = true})));
}

TEST(NumaFilter, MemoryThatNoZoneListsRefuses) {  // F19
  NodeTopology topology = make_topology({"8/16Gi", "8/16Gi"});
  for (Zone& zone : topology.zones) {
    zone.available.erase("memory");
  }
  const auto verdict =
      filter(make_request({.containers = {"1/1Gi"}}), topology, make_amounts("32/64Gi"));
  EXPECT_EQ(verdict.error().message, "cannot align container");
}

TEST(NumaFilter, SparseZonesKeepTheirIds) {
  NodeTopology topology = make_topology({"2/4Gi", "8/16Gi"});
  topology.zones[0].id = 3;
  topology.zones[1].id = 700;
  FitTrace trace;
  EXPECT_TRUE(filter(make_request({.containers = {"4/4Gi", "2/1Gi"}}), topology,
                     make_amounts("32/64Gi"), &trace)
                  .ok());
  EXPECT_EQ(trace.chosen, (std::vector<std::pair<std::string, int>>{{"c0", 700}, {"c1", 3}}));
}

// docs/spec/numa.md 11.9
TEST(NumaFilter, RestrictedByOption) {
  NodeTopology topology = make_topology({"8/16Gi", "8/16Gi"}, "container", "restricted");
  topology.zones[0].available = make_amounts("4/16Gi");
  topology.zones[1].available = make_amounts("4/16Gi");
  const FilterOptions options{.restricted = true};
  const auto verdict = [&](const char* container) {
    return filter(make_request({.containers = {container}}), topology, make_amounts("16/32Gi"),
                  nullptr, options);
  };
  EXPECT_TRUE(verdict("4/1Gi").ok());
  EXPECT_EQ(verdict("6/1Gi").error().message, "cannot align container");  // one zone is preferred
  EXPECT_EQ(verdict("12/1Gi").error().message, "cannot align container");
  topology.zones[0].available = topology.zones[1].available = make_amounts("8/16Gi");
  EXPECT_TRUE(verdict("12/1Gi").ok());  // two zones are the fewest there are
}

// docs/spec/numa.md 17, row 4.
TEST(NumaFilter, SidecarsCountUnlessSwitchedOff) {
  const Object pod = testing::make_pod({.containers = {"6/1Gi", "6/1Gi"}, .sidecars = {"4/1Gi"}});
  const auto verdict = [&](const char* scope, Sidecars sidecars) {
    const auto done = filter(request_of(pod, sidecars), make_topology({"8/16Gi", "8/16Gi"}, scope),
                             make_amounts("16/32Gi"));
    return done.ok() ? std::string("fits") : done.error().message;
  };
  EXPECT_EQ(verdict("container", Sidecars::Counted), "cannot align container");
  EXPECT_EQ(verdict("container", Sidecars::LikeInit), "fits");
  EXPECT_EQ(amount_of(request_of(pod).effective, "cpu"), 16 * kUnit);
  EXPECT_EQ(amount_of(request_of(pod, Sidecars::LikeInit).effective, "cpu"), 12 * kUnit);
  const Object large = testing::make_pod({.containers = {"1/1Gi"}, .sidecars = {"9/1Gi"}});
  for (const Sidecars sidecars : {Sidecars::Counted, Sidecars::LikeInit}) {
    EXPECT_EQ(filter(request_of(large, sidecars), make_topology({"8/16Gi", "8/16Gi"}),
                     make_amounts("16/32Gi"))
                  .error()
                  .message,
              "cannot align sidecar container");
  }
}

TEST(NumaAmounts, AreAMapByName) {
  Amounts amounts{{"memory", 2}, {"cpu", 1}};
  EXPECT_EQ(amounts.begin()->first, "cpu");
  amounts["hugepages-1Gi"] += 3;
  amounts.insert_or_assign("cpu", 5);
  EXPECT_EQ(amounts.size(), 3U);
  EXPECT_EQ(amount_of(amounts, "cpu"), 5);
  EXPECT_EQ(amount_of(amounts, "nic"), 0);
  EXPECT_FALSE(amounts.contains("nic"));
  amounts.erase("memory");
  amounts.erase("nic");
  EXPECT_EQ(amounts, (Amounts{{"cpu", 5}, {"hugepages-1Gi", 3}}));
}

TEST(NumaTopology, ReadsAttributesOverLegacyPolicies) {
  const auto read = [](const char* legacy, const char* name, const char* value) {
    return read_topology(Value::object(
        {{"topologyPolicies", Value::list({legacy})},
         {"attributes", Value::list({Value::object({{"name", name}, {"value", value}})})},
         {"zones", Value::list()}}));
  };
  NodeTopology topology = read("SingleNUMANodePodLevel", "topologyManagerScope", "container");
  EXPECT_EQ(topology.policy, "single-numa-node");
  EXPECT_EQ(topology.scope, "container");
  topology = read("Restricted", "topologyManagerPolicy", "wrong");
  EXPECT_EQ(topology.policy, "none");
  EXPECT_EQ(read("", "topologyManagerMaxNUMANodes", "5000").max_numa_nodes, 1024);
  EXPECT_EQ(read("", "topologyManagerMaxNUMANodes", "1").max_numa_nodes, 8);
  EXPECT_EQ(zone_id("node-12"), 12);
  for (const char* name : {"node-", "node--1", "node-x", "node-1024", "socket-0", "node-+1"}) {
    EXPECT_EQ(zone_id(name), -1) << name;
  }
}

}  // namespace
}  // namespace athanor::numa::fit_test
