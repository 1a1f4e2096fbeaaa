// SPDX-License-Identifier: Apache-2.0
// Admission on an emulated node: policies, scopes, what pods get (docs/spec/numa.md 16.5).
#include "systems/numa/emulation/kubelet_managers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "kube/text/yaml.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::kubelet_managers_test {
namespace {

using testing::make_request;
using testing::PodText;

NodeProfile profile(const std::string& policy, const std::string& scope = "container") {
  return *read_profile(*yaml::parse("{policy: " + policy + ", scope: " + scope + R"(, zones: [
    {cpus: 8, reservedCpus: 2, memory: 16Gi, reservedMemory: 1Gi, devices: {vendor.io/nic: 2}},
    {cpus: 8, memory: 16Gi}]})"));
}

bool admitted(const std::string& policy, const PodText& pod,
              const std::string& scope = "container") {
  const NodeProfile node = profile(policy, scope);
  return admit_pod(node, FreeZones(node), make_request(pod)).has_value();
}

TEST(NumaKubelet, Policies) {
  struct Row {
    const char* id = "";
    PodText pod{};
    bool single = true, restricted = true;
  };
  const std::vector<Row> rows{
      {"fits a zone", {.containers = {"8/1Gi"}}},
      {"more than a zone has", {.containers = {"9/1Gi"}}, false, true},
      {"two containers, a zone each", {.containers = {"6/1Gi", "8/1Gi"}}},
      {"device and cpus on different zones", {.containers = {"8/1Gi nic=1"}}, false, false},
      {"device and cpus on one zone", {.containers = {"6/1Gi nic=2"}}},
      {"device without zone", {.containers = {"8/1Gi gpu=1"}}},
      {"shared cpus", {.containers = {"20/1Gi"}, .burstable = true}},
      {"parts of a cpu", {.containers = {"7500m/1Gi"}}},
      {"no requests", {.containers = {""}}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(admitted("single-numa-node", row.pod), row.single) << row.id;
    EXPECT_EQ(admitted("restricted", row.pod), row.restricted) << row.id;
    EXPECT_TRUE(admitted("best-effort", row.pod)) << row.id;
    EXPECT_TRUE(admitted("none", row.pod)) << row.id;
  }
}

TEST(NumaKubelet, ScopePodIsOneDecision) {
  const PodText two{.containers = {"5/1Gi", "4/1Gi"}};
  EXPECT_TRUE(admitted("single-numa-node", two));
  EXPECT_FALSE(admitted("single-numa-node", two, "pod"));
}

TEST(NumaKubelet, AlignsOnEveryZoneOfALargeNode) {
  std::string zones;
  for (int i = 0; i < 64; ++i) {
    zones += "{cpus: 4, memory: 4Gi}, ";
  }
  for (const auto& [policy, cpus, pods] :
       {std::tuple{"single-numa-node", "4/4Gi", 64}, {"restricted", "8/8Gi", 32}}) {
    const NodeProfile node = *read_profile(
        *yaml::parse("{policy: " + std::string(policy) + ", zones: [" + zones + "]}"));
    FreeZones free(node);
    const PodRequest pod = make_request({.containers = {cpus}});
    for (int i = 0; i < pods; ++i) {
      const auto got = admit_pod(node, free, pod);
      ASSERT_TRUE(got) << policy << " " << i;
      const Allocation& allocation = got->at("c0");
      EXPECT_EQ(allocation.cpus.size() / 4, allocation.memory.size());
      EXPECT_EQ(allocation.cpus.back() - allocation.cpus.front() + 1, std::ssize(allocation.cpus));
      free.take(node, allocation);
    }
    EXPECT_FALSE(admit_pod(node, free, pod)) << policy;
  }
  const NodeProfile node =
      *read_profile(*yaml::parse("{policy: restricted, zones: [" + zones + "]}"));
  const auto wide = admit_pod(node, FreeZones(node), make_request({.containers = {"40/40Gi"}}));
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->at("c0").memory.size(), 10U);
}

TEST(NumaKubelet, OverheadIsNotAligned) {  // N7
  const NodeProfile node = profile("single-numa-node", "pod");
  const auto got = admit_pod(node, FreeZones(node),
                             make_request({.containers = {"7/1Gi"}, .overhead = "250m/160Mi"}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->at("c0").cpus, (std::vector<int>{8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(amount_of(got->at("c0").memory.at(1), "memory"), (std::int64_t{1} << 30U) * kUnit);
}

TEST(NumaKubelet, InitContainersHandOn) {
  EXPECT_TRUE(admitted("single-numa-node", {.init = {"8/1Gi"}, .containers = {"8/1Gi"}}));
  EXPECT_FALSE(admitted("single-numa-node", {.containers = {"8/1Gi"}, .sidecars = {"7/1Gi"}}));
}

TEST(NumaKubelet, AssignsLowestCpusOfZoneOnce) {
  const NodeProfile node = profile("single-numa-node");
  FreeZones free(node);
  const auto first = admit_pod(node, free, make_request({.containers = {"4/2Gi nic=1"}}));
  ASSERT_TRUE(first);
  const Allocation& got = first->at("c0");
  EXPECT_EQ(got.cpus, (std::vector<int>{2, 3, 4, 5}));  // 0 and 1 are reserved
  EXPECT_EQ(got.devices.at("vendor.io/nic"), (std::vector<std::string>{"nic-0-0"}));
  EXPECT_EQ(amount_of(got.memory.at(0), "memory"), (std::int64_t{2} << 30U) * kUnit);
  const Allocation again = Allocation::of(got.to_value());
  EXPECT_EQ(again.to_value(), got.to_value());
  free.take(node, again);
  const auto second = admit_pod(node, free, make_request({.containers = {"4/2Gi"}}));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->at("c0").cpus, (std::vector<int>{8, 9, 10, 11}));
  const auto third = admit_pod(node, free, make_request({.containers = {"1/1Gi nic=2"}}));
  EXPECT_FALSE(third);
}

TEST(NumaKubelet, ProfilesAreChecked) {
  const auto why = [](const char* text) {
    const auto read = read_profile(*yaml::parse(text));
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_EQ(why("{zones: [{cpus: 4}]}"), "");
  EXPECT_EQ(why("{zones: [{cpus: many}]}"), "numa.zones[0].cpus: \"many\" is no list of cpus");
  EXPECT_EQ(why("{zones: [{cores: 4}]}"), "numa.zones[0].cores: is no member");
  EXPECT_EQ(why("{zones: []}"), "numa.zones: must be a list of 1 to 64 zones");
  EXPECT_EQ(why("{policy: strict, zones: [{cpus: 4}]}"),
            "numa.policy: must be none, best-effort, restricted or single-numa-node");
  EXPECT_EQ(why("{zones: [{cpus: 4, memory: lots}]}"), "numa.zones[0].memory: must be a quantity");
  EXPECT_EQ(why("{zones: [{cpus: 1, reservedCpus: 2}]}"),
            "numa.zones[0].reservedCpus: must be an integer from 0 to 1");
  const NodeProfile node = profile("none");
  const Value allocatable = sum_of_zones(node, true);
  EXPECT_EQ(allocatable["cpu"].str(), "14");
  EXPECT_EQ(allocatable["memory"].str(), "33285996544");
  EXPECT_EQ(sum_of_zones(node, false)["cpu"].str(), "16");
}

}  // namespace
}  // namespace athanor::numa::kubelet_managers_test
