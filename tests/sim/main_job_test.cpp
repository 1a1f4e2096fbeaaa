// SPDX-License-Identifier: Apache-2.0
// The main job of the house, from a FournosJob to its end, with every controller of the laptop lab,
// under faults.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::sim {
namespace {

TEST(MainJob, EndsWell) {
  World world(three_jobs(), 1);
  const Outcome outcome = world.run();
  ASSERT_EQ(outcome.failure, std::nullopt);
  for (const Object& job : world.list(api::kFournosJob)) {
    EXPECT_EQ(job.status()["phase"].as_string(), "Succeeded") << job.name();
  }
  EXPECT_EQ(world.list(api::kFournosJob).size(), 3U);
}

TEST(MainJob, TheSameSeedGivesTheSameRequests) {
  for_each_seed(2, [](std::uint64_t seed) {
    return check_determinism(
        [] {
          Scene scene = three_jobs();
          scene.faults = laptop_storm();
          return scene;
        },
        seed);
  });
}

TEST(MainJob, DeletedObjectsLeaveNothing) {
  for_each_seed(3, [](std::uint64_t seed) -> std::optional<std::string> {
    Scene scene = interrupted_jobs();
    scene.faults = laptop_storm();
    World world(std::move(scene), seed);
    const Outcome outcome = world.run();
    if (outcome.failure) {
      return outcome.failure;
    }
    for (const Kind* kind :
         {&api::kPipelineRun, &api::kTaskRun, &api::kPod, &api::kueue::kWorkload}) {
      for (const Object& object : world.list(*kind)) {
        if (object.name().starts_with("job-1")) {
          return "job-1 left " + std::string(kind->name) + " " + object.key().text();
        }
      }
    }
    const auto stopped = world.get(api::kFournosJob, {kLabNamespace, "job-2"});
    const std::string phase = stopped ? stopped->status()["phase"].str() : "(gone)";
    if (phase != "Stopped") {
      return "job-2 ended as " + phase;
    }
    for (const Object& pod : world.list(api::kPod)) {
      const auto pod_phase = pod.status()["phase"].as_string();
      if (pod_phase != "Succeeded" && pod_phase != "Failed") {
        return "pod " + pod.key().text() + " is " + std::string(pod_phase);
      }
    }
    return std::nullopt;
  });
}

TEST(MainJob, ACrashAfterAnyWriteChangesNothing) {
  for_each_seed(
      1, [](std::uint64_t seed) { return check_crashes(three_jobs, seed, 29, jobs_as_seen); });
}

}  // namespace
}  // namespace athanor::sim
