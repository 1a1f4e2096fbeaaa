// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs: pods that want them, more than there are at times, made, scaled and deleted, with
// the lab's scheduler and nodes (docs/spec/das.md 3, 6, 9).
#include <algorithm>
#include <iterator>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "embedded/nodes/system.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/slice_rules.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";

Value gpu_node(const std::string& name) {
  return from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                   ", labels: {athanor.dev/emulated: 'true', nvidia.com/mig.capable: 'true'}, "
                   "annotations: {das.inference.redhat.com/emulated-gpu-count: '1'}}}");
}

void must(const Result<Object>& done) {
  ATHANOR_CHECK(done.ok(), "the API server takes a change of the scene");
}

void scale(World& world, const char* name, int replicas) {
  must(world.patch(api::kReplicaSet, {kNs, name},
                   from_yaml("{spec: {replicas: " + std::to_string(replicas) + "}}")));
}

}  // namespace

Scene slices_scene() {
  Scene scene;
  std::vector<const Operator*> all = lab::embedded_operators();
  const auto add = [&](const auto& operators) {
    all.insert(all.end(), std::begin(operators), std::end(operators));
  };
  add(nodes::system().operators);
  for (const Operator* hooked : hooked_operators()) {
    std::ranges::replace_if(
        all, [&](const Operator* op) { return op->name == hooked->name; }, hooked);
  }
  all.push_back(&das::agent_operator());
  all.push_back(&das::claim_operator());
  scene.operators = std::move(all);
  add_slice_objects(scene);
  scene.objects.push_back(gpu_node("gpu-1"));
  scene.objects.push_back(gpu_node("gpu-2"));
  das::Settings settings;
  settings.emulated_mode = "enabled";
  scene.config["das"] = api::encode(settings);
  scene.admission = system_webhooks;
  TimedPods::install(scene, std::chrono::hours(24 * 365));
  for (const char* verb : {"node-file.write", "node-file.remove"}) {
    scene.executors[verb] = [](World& /*world*/, const std::string& /*id*/, const Value& /*args*/) {
      return Result<Value>(Value::object());
    };
  }
  scene.invariants = {no_slot_twice(), claims_are_those_of_pods()};
  scene.actors = {
      {.at = std::chrono::seconds(1),
       .act =
           [](World& world) {
             must(world.create(wanting("small", 5, "1g.5gb")));
             must(world.create(wanting("large", 1, "3g.20gb")));
           }},
      // Wants a whole GPU: waits until one is empty.
      {.at = std::chrono::minutes(2),
       .act = [](World& world) { must(world.create(wanting("whole", 2, "7g.40gb"))); }},
      {.at = std::chrono::minutes(3), .act = [](World& world) { scale(world, "small", 9); }},
      {.at = std::chrono::minutes(5), .act = [](World& world) {
         scale(world, "small", 0);
         scale(world, "large", 0);
       }}};
  return scene;
}

// Pods of each set by phase, and claims by profile and state.
Value slices_as_seen(const World& world) {
  Value pods = Value::object();
  for (const Object& pod : world.list(api::kPod, kNs)) {
    const std::string phase = pod.status()["phase"].str();
    if (phase == "Failed" || phase == "Succeeded") {
      continue;  // what died stays to be looked at
    }
    const std::string key = std::string(pod.label("app")) + " " + phase;
    pods.set(key, pods[key].as_int() + 1);
  }
  Value claims = Value::object();
  for (const Object& object : world.list(das::kAllocationClaim)) {
    const std::string key = object.spec()["profile"].str() + " " + object.status()["state"].str();
    claims.set(key, claims[key].as_int() + 1);
  }
  return Value::object({{"pods", pods}, {"claims", claims}});
}

}  // namespace athanor::sim
