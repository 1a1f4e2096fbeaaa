// SPDX-License-Identifier: Apache-2.0
// status.nodeResources of emulated nodes (docs/spec/das.md 2.3).
#include "systems/das/gpus/inventory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "systems/das/makers/vendor.hpp"

namespace athanor::das::inventory_test {
namespace {

TEST(Inventory, ReportsPlaceOfEmulatedGpusAndProfileAttributes) {
  const Value resources =
      emulated_resources("n1", {.model = find_model("RTX-PRO-6000"), .count = 2});
  EXPECT_EQ(resources["nodeGpus"][0]["pciBusId"].str(), "00000000:01:00.0");
  EXPECT_EQ(resources["nodeGpus"][1]["pciBusId"].str(), "00000000:02:00.0");
  EXPECT_EQ(resources["nodeGpus"][1]["numaNode"].as_int(-1), 0);
  const Value& profiles = resources["migPlacement"];
  EXPECT_TRUE(profiles["1g.24gb"]["attributes"].is_null());
  EXPECT_EQ(profiles["1g.24gb+me.all"]["attributes"][0].str(), "me.all");
  EXPECT_EQ(profiles["1g.24gb-me"]["attributes"][0].str(), "-me");
}

// A reader of published placements knows the rule of media engines, too.
TEST(Inventory, ReadsMediaEnginesFromNames) {
  const NodeGpus node =
      read_resources(emulated_resources("n1", {.model = find_model("RTX-PRO-6000"), .count = 1}));
  const MigTable& table = node.tables.at(0);
  Occupancy occupancy;
  occupancy.take(table.find("2g.48gb+me.all"), 0, table);
  EXPECT_EQ(remaining(table, occupancy, table.find("1g.24gb")), 0);
  EXPECT_EQ(remaining(table, occupancy, table.find("1g.24gb-me")), 2);
}

}  // namespace
}  // namespace athanor::das::inventory_test
