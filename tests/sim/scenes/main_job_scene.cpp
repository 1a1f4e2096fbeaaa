// SPDX-License-Identifier: Apache-2.0
// The main job of the house, from a FournosJob to its end, with every controller of the laptop lab.
#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/check.hpp"
#include "sim/scenes/invariants.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::sim {
namespace {

bool all_jobs_ended(const World& world) {
  for (const Object& job : world.list(api::kFournosJob)) {
    const auto phase = job.status()["phase"].as_string();
    if (phase != "Succeeded" && phase != "Failed" && phase != "Stopped") {
      return false;
    }
  }
  return true;
}

}  // namespace

// The laptop lab has one store and one feed: whatever is late, is late in order. One process leads.
Faults laptop_storm() {
  Faults faults = stormy();
  faults.ordered = true;
  return faults;
}

Scene three_jobs() {
  Scene scene = lab_scene();
  scene.converged = all_jobs_ended;
  scene.invariants = lab_invariants();
  for (int i = 1; i <= 3; ++i) {
    scene.actors.push_back({.at = std::chrono::seconds(i), .act = [i](World& world) {
                              const auto made =
                                  world.create(sample_job("job-" + std::to_string(i),
                                                          "cluster-" + std::to_string(i % 2 + 1)));
                              ATHANOR_CHECK(made.ok(), "the API server takes a job of the scene");
                            }});
  }
  return scene;
}

// What a user sees in the end.
Value jobs_as_seen(const World& world) {
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

// Three jobs; one is deleted in the middle of its run, one is stopped by its user.
Scene interrupted_jobs() {
  Scene scene = three_jobs();
  scene.actors.push_back({.at = std::chrono::seconds(45), .act = [](World& world) {
                            ATHANOR_CHECK(
                                world.remove(api::kFournosJob, {kLabNamespace, "job-1"}).ok(),
                                "a job can be deleted");
                          }});
  scene.actors.push_back(
      {.at = std::chrono::seconds(50), .act = [](World& world) {
         Value merge;
         merge.set_path({"spec", "shutdown"}, "Stop");
         static_cast<void>(world.patch(api::kFournosJob, {kLabNamespace, "job-2"}, merge));
       }});
  return scene;
}

}  // namespace athanor::sim
