// SPDX-License-Identifier: Apache-2.0
// Fournos with the queueing engine and a stand-in for Tekton.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/check.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "product/list.hpp"
#include "sim/scenes/invariants.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "fournos-local-dev";

// The last digit 7 of a job's name means failure.
constexpr Operator kTekton = stand_in<api::kPipelineRun>(
    "tekton-stand-in", [](const View& view, const Key& key, Instant now) {
      return finish_run(view, key, now, std::chrono::minutes(1), key.name.ends_with('7'));
    });

Value job(const std::string& name, const std::string& spec) {
  return from_yaml("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: " + name +
                   ", namespace: " + kNs + "}, spec: {forge: {project: p, args: []}, " + spec +
                   "}}");
}

bool terminal(const Object& object) {
  const auto phase = object.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

// An exclusive run and another one never share a cluster.
std::optional<std::string> shares(const World& world) {
  std::map<std::string, std::vector<std::string>> running;
  std::map<std::string, std::string> alone;
  for (const Object& run : world.list(api::kPipelineRun, kNs)) {
    if (run.status().contains("completionTime")) {
      continue;
    }
    const std::string cluster(run.annotation("fournos.dev/cluster"));
    running[cluster].emplace_back(run.name());
    const auto owner = world.get(api::kFournosJob, run.key());
    if (owner && run.owned_by(owner->uid()) && owner->spec()["exclusive"].as_bool()) {
      alone[cluster] = run.name();
    }
  }
  for (const auto& [cluster, holder] : alone) {
    if (running[cluster].size() > 1) {
      return fmt::format("{} is not alone on {}", holder, cluster);
    }
  }
  return std::nullopt;
}

}  // namespace

Scene fournos_scene() {
  Scene scene;
  scene.operators = {fournos::fournos_operators().begin(), fournos::fournos_operators().end()};
  for (const Operator* op :
       {&kueue::scheduler_operator(), &kueue::workload_operator(), &kueue::cluster_queue_operator(),
        &kueue::local_queue_operator(), &kueue::resource_flavor_operator(), &kTekton}) {
    scene.operators.push_back(op);
  }
  for (const api::CustomKind* custom : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*custom));
  }
  for (const char* file : {"00-namespace.yaml", "10-kueue.yaml", "11-local-queue.yaml"}) {
    for (Value& object : objects_of(std::string("examples/fournos/setup/") + file)) {
      scene.objects.push_back(std::move(object));
    }
  }
  fournos::Settings settings;
  settings.workload_namespace = kNs;
  scene.config["fournos"] = api::encode(settings);

  const auto at = [&](int seconds, std::function<void(World&)> act) {
    scene.actors.push_back({.at = std::chrono::seconds(seconds), .act = std::move(act)});
  };
  const auto submit = [&](int seconds, const std::string& name, const std::string& spec) {
    at(seconds, [=](World& world) {
      const auto made = world.create(job(name, spec));
      ATHANOR_CHECK(made.ok(), "the API server takes a job of the scene");
    });
  };
  submit(1, "shared-1", "cluster: cluster-1");
  submit(1, "shared-2", "cluster: cluster-1");
  submit(2, "alone-3", "cluster: cluster-1, exclusive: true");
  submit(3, "shared-4", "cluster: cluster-1");
  submit(3, "gpu-5", "hardware: {gpuType: a100, gpuCount: 8}");
  submit(3, "gpu-6", "hardware: {gpuType: a100, gpuCount: 8}, priority: manual");
  submit(4, "gpu-7", "hardware: {gpuType: h200, gpuCount: 4}");
  submit(5, "wrong-8", "cluster: nowhere");
  submit(6, "alone-9", "cluster: cluster-2, exclusive: true, priority: nightly");
  submit(7, "twice", "cluster: cluster-3");
  submit(8, "stopped", "cluster: cluster-4");
  at(40, [](World& world) {
    const auto stopped =
        world.patch(api::kFournosJob, {kNs, "stopped"}, from_yaml("{spec: {shutdown: Stop}}"));
    ATHANOR_CHECK(stopped.ok(), "the API server takes a stop");
  });
  at(45, [](World& world) {
    ATHANOR_CHECK(world.remove(api::kFournosJob, {kNs, "twice"}).ok(), "a job can be deleted");
    ATHANOR_CHECK(world.create(job("twice", "cluster: cluster-4")).ok(), "and made again");
  });

  scene.invariants = fournos_invariants();
  scene.invariants.push_back({.name = "an exclusive run is alone",
                              .check = [](const World& world, std::span<const store::EventPtr>) {
                                return shares(world);
                              }});
  scene.converged = [](const World& world) {
    const auto jobs = world.list(api::kFournosJob, kNs);
    return jobs.size() == 11 && std::all_of(jobs.begin(), jobs.end(), terminal) &&
           world.list(api::kueue::kWorkload, kNs).empty();
  };
  return scene;
}

// How each job ended; a stop may come before or after its run.
Value fournos_endings(const World& world) {
  Value all = Value::object();
  for (const Object& object : world.list(api::kFournosJob, kNs)) {
    if (object.name() != "stopped") {
      all.set(object.name(), Value::object({{"phase", object.status()["phase"]},
                                            {"message", object.status()["message"]}}));
    }
  }
  return all;
}

}  // namespace athanor::sim
