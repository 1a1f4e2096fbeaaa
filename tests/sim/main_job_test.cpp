// SPDX-License-Identifier: Apache-2.0
// The main job of the house, from a FournosJob to its end, with every controller of the laptop lab,
// under faults.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/fournos.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "embedded/simulation/properties.hpp"
#include "sim/lab_scene.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

// The laptop lab has one store and one feed: whatever is late, is late in order.
Faults laptop_storm() {
  Faults faults = stormy();
  faults.ordered = true;
  return faults;
}

bool all_jobs_ended(const World& world) {
  for (const Object& job : world.list(api::kFournosJob)) {
    const auto phase = job.status()["phase"].as_string();
    if (phase != "Succeeded" && phase != "Failed" && phase != "Stopped") {
      return false;
    }
  }
  return true;
}

Scene three_jobs() {
  Scene scene = lab_scene();
  scene.converged = all_jobs_ended;
  for (int i = 1; i <= 3; ++i) {
    scene.actors.push_back({.at = std::chrono::seconds(i), .act = [i](World& world) {
                              const auto made =
                                  world.create(sample_job("job-" + std::to_string(i),
                                                          "cluster-" + std::to_string(i % 2 + 1)));
                              EXPECT_TRUE(made.ok()) << made.error().message;
                            }});
  }
  return scene;
}

// What a user sees in the end.
Value what_a_user_sees(const World& world) {
  Value out = Value::object();
  for (const Object& job : world.list(api::kFournosJob)) {
    Value conditions = Value::object();
    for (const Value& condition : job.status()["conditions"].items()) {
      conditions.set(condition["type"].as_string(),
                     condition["status"].str() + " " + condition["reason"].str());
    }
    out.set(job.name(), Value::object({{"phase", job.status()["phase"]},
                                       {"message", job.status()["message"]},
                                       {"cluster", job.status()["cluster"]},
                                       {"conditions", conditions}}));
  }
  Value runs = Value::object();
  for (const Object& run : world.list(api::kPipelineRun)) {
    runs.set(run.name(), run.status()["conditions"][0]["reason"]);
  }
  out.set("runs", runs);
  out.set("pods", world.list(api::kPod).size());
  return out;
}

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

TEST(MainJob, EndsTheSameWhateverHappens) {
  for_each_seed(10, [](std::uint64_t seed) {
    return check_faults(three_jobs, seed, laptop_storm(), what_a_user_sees);
  });
}

// Three jobs; one is deleted in the middle of its run, one is stopped by its user.
Scene interrupted_jobs() {
  Scene scene = three_jobs();
  scene.actors.push_back(
      {.at = std::chrono::seconds(45), .act = [](World& world) {
         EXPECT_TRUE(world.remove(api::kFournosJob, {kLabNamespace, "job-1"}).ok());
       }});
  scene.actors.push_back(
      {.at = std::chrono::seconds(50), .act = [](World& world) {
         Value merge;
         merge.set_path({"spec", "shutdown"}, "Stop");
         static_cast<void>(world.patch(api::kFournosJob, {kLabNamespace, "job-2"}, merge));
       }});
  return scene;
}

TEST(MainJob, WhatIsDeletedLeavesNothing) {
  for_each_seed(6, [](std::uint64_t seed) -> std::optional<std::string> {
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
      1, [](std::uint64_t seed) { return check_crashes(three_jobs, seed, 9, what_a_user_sees); });
}

}  // namespace
}  // namespace athanor::sim
