// SPDX-License-Identifier: Apache-2.0
// The run engine on the real API server, under crashes and storms (docs/engine.md 3).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/text/json.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

TEST(TektonSim, ARunEndsAsItShould) {
  World world(tekton_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  const Value end = tekton_ending(world);
  EXPECT_EQ(end["run"], Value("Tasks Completed: 4 (Failed: 1, Cancelled 0), Skipped: 1"))
      << json::print(end, json::Style::Pretty);
  EXPECT_EQ(end["taskrun run-b"]["attempts"], Value(1));
  EXPECT_EQ(end["pod run-b-pod-retry1"], Value("Failed"));
  EXPECT_EQ(end["team"], Value("a"));
}

TEST(TektonSim, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(check_determinism(tekton_scene, 7).value_or(""), "");
}

TEST(TektonSim, ACrashAfterAnyWriteChangesNothing) {
  EXPECT_EQ(check_crashes(tekton_scene, 3, 5, tekton_ending).value_or(""), "");
}

// Disturbed in other ways than by crashes: finally runs once, and sidecars hold nothing (the rules
// of the scene).
TEST(TektonSim, StormsKeepTheRulesOfTheScene) {
  for_each_seed(3, [](std::uint64_t seed) {
    return check_faults(tekton_scene, seed, stormy(), tekton_ending);
  });
}

TEST(TektonSim, GracefulCancelsUnderStormsRunFinallyOnce) {
  for_each_seed(3, [](std::uint64_t seed) -> std::optional<std::string> {
    Scene scene = tekton_scene();
    scene.faults = stormy();
    scene.actors = {{.at = std::chrono::seconds(4), .act = [](World& world) {
                       static_cast<void>(world.patch(
                           api::kPipelineRun, {"default", "run"},
                           json::parse(R"j({"spec":{"status":"CancelledRunFinally"}})j").value()));
                     }}};
    World world(std::move(scene), seed);
    if (auto failure = world.run().failure) {
      return failure;
    }
    const auto last = world.get(api::kTaskRun, {"default", "run-f"});
    return last && tekton::is_done(*last) ? std::nullopt : std::optional<std::string>("no run-f");
  });
}

TEST(TektonSim, ACancelUnderAStormLeavesNoPod) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Scene scene = tekton_scene();
    scene.faults = stormy();
    scene.actors = {{.at = std::chrono::seconds(4), .act = [](World& world) {
                       static_cast<void>(world.patch(
                           api::kPipelineRun, {"default", "run"},
                           json::parse(R"j({"spec":{"status":"Cancelled"}})j").value()));
                     }}};
    World world(std::move(scene), seed);
    EXPECT_EQ(world.run().failure.value_or(""), "") << seed;
    for (const Object& pod : world.list(api::kPod, "default")) {
      EXPECT_NE(pod.status()["phase"], Value("Running")) << seed << " " << pod.name();
    }
    for (const Object& task_run : world.list(api::kTaskRun, "default")) {
      EXPECT_TRUE(tekton::is_done(task_run)) << seed << " " << task_run.name();
    }
  }
}

}  // namespace
}  // namespace athanor::sim
