// SPDX-License-Identifier: Apache-2.0
// Caches and simulated evictions: C1 to C7 and P1 to P5 of docs/spec/numa.md section 12.
#include "systems/numa/scheduling/cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "systems/numa/scheduling/eviction.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/fit.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa {
namespace {

using testing::make_amounts;
using testing::make_request;
using testing::make_topology;

constexpr const char* kNode = "w";
const Key kFive{"ns", "five"};
const Key kFour{"ns", "four"};

PodRequest guaranteed(const std::string& cpu) {
  return make_request({.containers = {cpu + "/1Gi"}});
}

class NumaCache : public ::testing::Test {
 protected:
  void SetUp() override {
    cache.put(make_topology({"8/64Gi", "12/64Gi"}));
    cache.reserve(kNode, kFive, guaranteed("5"));
  }
  std::pair<std::int64_t, std::int64_t> cpus() const {
    const NodeView view = cache.view(kNode);
    return {amount_of(view.topology->zones[0].available, "cpu") / kUnit,
            amount_of(view.topology->zones[1].available, "cpu") / kUnit};
  }
  void resync(const std::string& first, const std::string& second, std::vector<Key> covered) {
    NodeTopology live = make_topology({first + "/64Gi", second + "/64Gi"});
    live.fingerprint = fingerprint_of(std::span<const Key>(covered));
    live.method = kMethodExclusive;
    cache.resync(
        [&](const std::string&) { return std::optional(live); },
        [&](const std::string&) {
          return std::vector<ResidentPod>{{kFive, guaranteed("5")}, {kFour, guaranteed("4")}};
        });
  }
  using Cpus = std::pair<std::int64_t, std::int64_t>;
  OverReserve cache{{.foreign = ForeignPods::OnlyExclusiveResources}};
};

TEST_F(NumaCache, ReservedPodsCountInEveryZone) {  // C1, C2
  EXPECT_EQ(cpus(), Cpus(3, 7));
  cache.reserve(kNode, kFour, guaranteed("4"));
  EXPECT_EQ(cpus(), Cpus(0, 3));
  cache.unreserve(kNode, kFive);
  EXPECT_EQ(cpus(), Cpus(4, 8));
}

TEST_F(NumaCache, AFingerprintOfOtherPodsChangesNothing) {  // C3
  cache.reserve(kNode, kFour, guaranteed("4"));
  cache.filter_failed(kNode);
  resync("3", "12", {kFive});
  EXPECT_EQ(cpus(), Cpus(0, 3));
  EXPECT_TRUE(cache.dirty(kNode));
  EXPECT_EQ(cache.generation(), 0U);
}

TEST_F(NumaCache, AMatchingFingerprintReplacesTheData) {  // C4
  cache.reserve(kNode, kFour, guaranteed("4"));
  cache.filter_failed(kNode);
  resync("3", "8", {kFive, kFour});
  EXPECT_EQ(cpus(), Cpus(3, 8));
  EXPECT_FALSE(cache.dirty(kNode));
  EXPECT_EQ(cache.generation(), 1U);
}

TEST_F(NumaCache, ACleanNodeIsNotLookedAt) {  // C4b
  cache.reserve(kNode, kFour, guaranteed("4"));
  resync("3", "8", {kFive, kFour});
  EXPECT_EQ(cpus(), Cpus(0, 3));
  EXPECT_EQ(cache.generation(), 0U);
}

TEST_F(NumaCache, AForeignPodBlocksTheNode) {  // C5, F20
  cache.foreign_pod(kNode, guaranteed("2"));
  EXPECT_FALSE(cache.view(kNode).fresh);
  resync("3", "8", {kFive, kFour});
  EXPECT_TRUE(cache.view(kNode).fresh);
  cache.foreign_pod(kNode, make_request({.containers = {"500m/1Gi"}}));
  EXPECT_FALSE(cache.view(kNode).fresh);
}

TEST_F(NumaCache, ForeignPodsWithoutExclusiveResources) {  // C6
  const PodRequest burstable = make_request({.containers = {"2/1Gi"}, .burstable = true});
  cache.foreign_pod(kNode, burstable);
  EXPECT_TRUE(cache.view(kNode).fresh);
  OverReserve all{{.foreign = ForeignPods::All}};
  all.put(make_topology({"8/64Gi"}));
  all.foreign_pod(kNode, burstable);
  EXPECT_FALSE(all.view(kNode).fresh);
  all.foreign_pod("unknown", burstable);
  EXPECT_TRUE(all.view("unknown").fresh);
}

TEST_F(NumaCache, ChangedAttributesAreTakenWithoutAFingerprint) {
  NodeTopology changed = make_topology({"8/64Gi", "12/64Gi"}, "container", "restricted");
  cache.put(changed);
  EXPECT_EQ(cache.view(kNode).topology->policy, "single-numa-node");
  cache.resync([&](const std::string&) { return std::optional(changed); },
               [](const std::string&) { return std::vector<ResidentPod>{}; });
  EXPECT_EQ(cache.view(kNode).topology->policy, "restricted");
  EXPECT_EQ(cpus(), Cpus(8, 12));
  cache.remove(kNode);
  EXPECT_FALSE(cache.view(kNode).topology);
  EXPECT_TRUE(cache.view(kNode).fresh);
}

TEST(NumaDiscardReserved, BlocksUntilBound) {  // C7
  DiscardReserved cache;
  const auto live = std::optional(make_topology({"8/64Gi"}));
  cache.reserve(kNode, kFive);
  EXPECT_FALSE(cache.view(kNode, live).fresh);
  cache.bound(kNode, kFive);
  EXPECT_TRUE(cache.view(kNode, live).fresh);
  EXPECT_TRUE(cache.view(kNode, live).topology.has_value());
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
}  // namespace athanor::numa
