// SPDX-License-Identifier: Apache-2.0
// Schedules neither skip nor double a start, whatever crashes and however the clock steps.
#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

TEST(SchedulesSim, EachTimeMakesOneJob) {
  World world(schedules_scene(), 1);
  EXPECT_EQ(world.run().failure.value_or(""), "");
  const Value seen = schedules_as_seen(world);
  ASSERT_EQ(seen.size(), 25U) << json::print(seen);
  EXPECT_TRUE(seen[0].as_string().starts_with("forgotten-")) << "the last one of its Jobs";
  for (std::size_t i = 2; i < 13; ++i) {
    EXPECT_EQ(std::stol(seen[i].str().substr(5)), std::stol(seen[i - 1].str().substr(5)) + 10);
  }
  for (std::size_t i = 13; i < seen.size(); ++i) {
    EXPECT_TRUE(seen[i].as_string().starts_with("recurring ")) << seen[i].str();
    EXPECT_TRUE(seen[i].as_string().ends_with(":00Z Failed")) << seen[i].str();
  }
}

TEST(SchedulesSim, CrashesChangeNothing) {
  EXPECT_EQ(check_crashes(schedules_scene, 2, 31, schedules_as_seen).value_or(""), "");
}

TEST(SchedulesSim, StepsOfTheClockChangeNothing) {
  for_each_seed(3, [](std::uint64_t seed) {
    Faults faults = stormy();
    faults.clock = 0.2;
    return check_faults(schedules_scene, seed, faults, schedules_as_seen);
  });
}

}  // namespace
}  // namespace athanor::sim
