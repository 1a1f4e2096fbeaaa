// SPDX-License-Identifier: Apache-2.0
// Simulated evictions: P1 to P5 of docs/spec/numa.md section 12.
#include "systems/numa/scheduling/eviction.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "systems/numa/scheduling/fit.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::eviction_test {
namespace {

using testing::make_amounts;
using testing::make_request;
using testing::make_topology;

PodRequest guaranteed(const std::string& cpu) {
  return make_request({.containers = {cpu + "/1Gi"}});
}

// Two zones of 8 cpus, of which 2 and 1 are free.
NodeTopology full_node() {
  NodeTopology topology = make_topology({"8/64Gi", "8/64Gi"});
  topology.zones[0].available = make_amounts("2/32Gi");
  topology.zones[1].available = make_amounts("1/32Gi");
  return topology;
}
struct Placed {
  std::string cpu{};
  int node = 0;
  bool burstable = false;
};
// The preemptor asks for `cpu`; returns the refusal, empty: it fits.
std::string preempt(const std::string& cpu, const std::vector<Placed>& victims) {
  std::vector<Victim> gone;
  std::map<ContainerName, int> placement{{{"other", "pod", "c"}, 0}};
  for (const Placed& victim : victims) {
    const Key key{"ns", "victim-" + std::to_string(gone.size())};
    PodRequest request =
        make_request({.containers = {victim.cpu + "/1Gi"}, .burstable = victim.burstable});
    if (!victim.burstable) {
      placement.emplace(ContainerName{key.ns, key.name, "c0"}, victim.node);
    }
    gone.push_back({key, std::move(request)});
  }
  const auto simulated = simulate_eviction(full_node(), gone, placement);
  if (!simulated.ok()) {
    return simulated.error().message;
  }
  const auto verdict = filter(guaranteed(cpu), *simulated, make_amounts("16/128Gi"));
  return verdict.ok() ? "" : verdict.error().message;
}

TEST(NumaEviction, Table) {
  EXPECT_EQ(preempt("5", {{"4", 0}}), "");                                  // P1
  EXPECT_EQ(preempt("5", {{"4", 1}}), "");                                  // P2
  EXPECT_EQ(preempt("7", {{"3", 0}, {"4", 1}}), "cannot align container");  // P3
  EXPECT_EQ(preempt("7", {{"7", 0}}),                                       // P4
            "eviction simulation in NRT is not possible:resource release request exceeds NUMA "
            "allocatable");
  EXPECT_EQ(preempt("5", {{"4", 0, true}}),  // P5
            "eviction simulation in NRT is not possible:no resources to add, cannot process "
            "eviction simulation");
  EXPECT_EQ(preempt("5", {}), "cannot align container");
}

}  // namespace
}  // namespace athanor::numa::eviction_test
