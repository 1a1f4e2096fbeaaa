// SPDX-License-Identifier: Apache-2.0
// The workload controllers together, under faults: what a user sees in the end does not depend on
// them.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

TEST(Workloads, EndAsTheyShould) {
  World world(workloads_scene(), 1);
  const Outcome outcome = world.run();
  ASSERT_EQ(outcome.failure, std::nullopt);
  const Value seen = workloads_as_seen(world);
  EXPECT_EQ(seen["pods"], Value::object({{"sts v2", 1}, {"ds v2", 2}, {"dep v2", 4}}));
  EXPECT_EQ(seen["endpoints"], Value(4));
  EXPECT_EQ(seen["budget"], Value(1));
  EXPECT_EQ(seen["revisions"], Value(4));
  EXPECT_EQ(seen["status"]["sts"]["readyReplicas"], Value(1));
}

TEST(Workloads, TheSameSeedGivesTheSameRequests) {
  for_each_seed(1, [](std::uint64_t seed) {
    return check_determinism(
        [] {
          Scene scene = workloads_scene();
          scene.faults = laptop_storm();
          return scene;
        },
        seed);
  });
}

TEST(Workloads, CrashesChangeNothingInTheEnd) {
  for_each_seed(1, [](std::uint64_t seed) {
    return check_crashes(workloads_scene, seed, 97, workloads_as_seen);
  });
}

}  // namespace
}  // namespace athanor::sim
