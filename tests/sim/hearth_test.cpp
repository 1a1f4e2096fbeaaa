// SPDX-License-Identifier: Apache-2.0
// Hearth on the simulator: whatever goes wrong, every cluster ends as it should.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

TEST(HearthSim, EveryClusterEndsAsItShould) {
  World world(hearth_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  const Value end = hearth_ending(world);
  EXPECT_EQ(end["c1"]["lock"], Value("Unlocked")) << json::print(end);
  EXPECT_EQ(end["c1"]["conditions"]["Locked"], Value("False/Expired"));
  EXPECT_EQ(end["c2"]["gpus"], Value("2x A100"));
  EXPECT_EQ(end["dead"]["kubeconfig"], Value("Unreachable"));
  EXPECT_EQ(end["bad"]["kubeconfig"], Value("Invalid"));
  for (const char* name : {"job first", "job second"}) {
    EXPECT_EQ(end[name], Value("Succeeded")) << name;
  }
  EXPECT_EQ(end["job third"], Value("over"));
  EXPECT_EQ(outcome.invariants.at("no kubeconfig leaves its Secret"), 1U);
}

TEST(HearthSim, SameSeedSameRun) {
  EXPECT_EQ(check_determinism(hearth_scene, 3).value_or(""), "");
}

TEST(HearthSim, SurvivesEveryCrash) {
  EXPECT_EQ(check_crashes(hearth_scene, 5, 30, hearth_ending).value_or(""), "");
}

}  // namespace
}  // namespace athanor::sim
