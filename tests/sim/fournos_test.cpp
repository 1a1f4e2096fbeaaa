// SPDX-License-Identifier: Apache-2.0
// Fournos with the queueing engine and a stand-in for Tekton, on the simulator: whatever goes
// wrong, every job ends, no cluster is shared by an exclusive run, no quota is left behind.
#include <gtest/gtest.h>

#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

std::string trouble(const std::optional<std::string>& text) {
  return text.value_or("");
}

TEST(FournosSim, EveryJobEndsAsItShould) {
  World world(fournos_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(trouble(outcome.failure), "");
  const Value ends = fournos_endings(world);
  for (const char* name :
       {"shared-1", "shared-2", "alone-3", "shared-4", "gpu-5", "gpu-6", "alone-9", "twice"}) {
    EXPECT_EQ(ends[name]["phase"], Value("Succeeded"))
        << name << " " << ends[name]["message"].str();
  }
  EXPECT_EQ(ends["gpu-7"]["message"], Value("done"));
  EXPECT_EQ(ends["wrong-8"]["message"], Value("Cluster 'nowhere' not found"));
}

TEST(FournosSim, SameSeedSameRun) {
  EXPECT_EQ(trouble(check_determinism(fournos_scene, 3)), "");
}

TEST(FournosSim, SurvivesEveryCrash) {
  EXPECT_EQ(trouble(check_crashes(fournos_scene, 5, 40, fournos_endings)), "");
}

}  // namespace
}  // namespace athanor::sim
