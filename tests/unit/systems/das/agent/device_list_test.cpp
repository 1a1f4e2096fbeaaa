// SPDX-License-Identifier: Apache-2.0
// Devices that a node reports (docs/spec/das.md 8.3, N-B4 to N-B7).
#include "systems/das/agent/device_list.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::das::device_list_test {
namespace {

Value two_a100() {
  return emulated_resources("n", {.model = find_model("A100-PCIE-40GB"), .count = 2});
}

Value with_gpu(Value resources, std::size_t gpu, std::string_view member, Value value) {
  resources.member("nodeGpus").item(gpu).set(member, std::move(value));
  return resources;
}

const DeviceList& list_of(const std::vector<DeviceList>& lists, std::string_view profile) {
  static const DeviceList kNone;
  for (const DeviceList& list : lists) {
    if (list.profile == profile) {
      return list;
    }
  }
  return kNone;
}

TEST(DeviceLists, CountPlacementsOfAllGpus) {
  std::map<std::string, std::size_t> counts;
  for (const DeviceList& list : device_lists(two_a100(), *find_vendor(kNvidiaMig))) {
    counts[list.profile] = list.devices.size();
  }
  const std::map<std::string, std::size_t> expected{
      {"1g.5gb", 14}, {"1g.5gb+me", 2}, {"1g.10gb", 8}, {"2g.10gb", 6},
      {"3g.20gb", 4}, {"4g.20gb", 2},   {"7g.40gb", 2}};
  EXPECT_EQ(counts, expected);
}

TEST(DeviceLists, AreInOrderOfResourcesAndNumbered) {
  const auto lists = device_lists(two_a100(), *find_vendor(kNvidiaMig));
  ASSERT_EQ(lists.size(), 7U);
  EXPECT_EQ(lists[0].profile, "1g.10gb");
  EXPECT_EQ(lists[1].profile, "1g.5gb");
  EXPECT_EQ(lists[2].profile, "1g.5gb+me");
  EXPECT_EQ(lists[1].devices.front().id, "1g.5gb-0");
  EXPECT_EQ(lists[1].devices.back().id, "1g.5gb-13");
}

TEST(DeviceLists, AnUnhealthyGpusShareIsUnhealthy) {
  const auto lists =
      device_lists(with_gpu(two_a100(), 1, "health", "Unhealthy"), *find_vendor(kNvidiaMig));
  const DeviceList& ones = list_of(lists, "1g.5gb");
  for (std::size_t i = 0; i < ones.devices.size(); ++i) {
    EXPECT_EQ(ones.devices[i].healthy, i < 7) << i;
  }
  EXPECT_TRUE(list_of(lists, "7g.40gb").devices[0].healthy);
  EXPECT_FALSE(list_of(lists, "7g.40gb").devices[1].healthy);
}

TEST(DeviceLists, CarryTheNumaNodeThatAllGpusShare) {
  Value shared = with_gpu(with_gpu(two_a100(), 0, "numaNode", 1), 1, "numaNode", 1);
  EXPECT_EQ(list_of(device_lists(shared, *find_vendor(kNvidiaMig)), "1g.5gb").devices[0].numa_node,
            1);
  const Value apart = with_gpu(shared, 1, "numaNode", 0);
  EXPECT_EQ(list_of(device_lists(apart, *find_vendor(kNvidiaMig)), "1g.5gb").devices[0].numa_node,
            std::nullopt);
  const Value half = with_gpu(two_a100(), 0, "numaNode", 1);
  EXPECT_EQ(list_of(device_lists(half, *find_vendor(kNvidiaMig)), "1g.5gb").devices[0].numa_node,
            std::nullopt);
}

TEST(DeviceLists, CountSharesByTheirResource) {
  Value resources =
      with_gpu(two_a100(), 1, "sharing", Value::object({{"mode", "mps"}, {"unitGb", 10}}));
  const auto lists = device_lists(resources, *find_vendor(kNvidiaMig));
  const DeviceList& shares = list_of(lists, "mps.das.com/gpu-10gb");
  ASSERT_EQ(shares.devices.size(), 4U);
  EXPECT_EQ(shares.devices[3].id, "gpu-10gb-3");
  EXPECT_EQ(list_of(lists, "7g.40gb").devices.size(), 1U) << "of the other GPU";
}

TEST(DeviceLists, OfANodeWithoutGpusAreNone) {
  EXPECT_TRUE(device_lists(Value::object(), *find_vendor(kNvidiaMig)).empty());
}

}  // namespace
}  // namespace athanor::das::device_list_test
