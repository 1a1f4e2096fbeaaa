// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs: pods that want them, more than there are at times, made, scaled and deleted, with
// the lab's scheduler and nodes (docs/spec/das.md 3, 6, 9).
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "embedded/nodes/system.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "systems/das/agent.hpp"
#include "systems/das/claim.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/settings.hpp"
#include "systems/hooked.hpp"
#include "systems/list.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";

Value wanting(const std::string& name, int replicas, const std::string& profile) {
  return from_yaml("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: " + name +
                   ", namespace: default}, spec: {replicas: " + std::to_string(replicas) +
                   ", selector: {matchLabels: {app: " + name +
                   "}}, template: {metadata: {labels: {app: " + name +
                   "}}, spec: {containers: [{name: c, image: v1, command: [run], resources: "
                   "{limits: {nvidia.com/mig-" +
                   profile + ": 1}}}]}}}}");
}

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

// No slot of a GPU belongs to two pods, whatever state their claims are in.
Invariant no_slot_twice() {
  return {.name = "no slot of a GPU is promised twice",
          .check = [](const World& world,
                      std::span<const store::EventPtr> news) -> std::optional<std::string> {
            const bool about_claims = std::ranges::any_of(news, [](const store::EventPtr& event) {
              return event->object->resource.starts_with(das::kAllocationClaim.plural);
            });
            if (!about_claims) {
              return std::nullopt;
            }
            std::map<std::pair<std::string, int>, std::string> owners;
            for (const Object& object : world.list(das::kAllocationClaim)) {
              const auto claim = das::read_claim(object);
              for (int slot = claim ? claim->start : 0; claim && slot < claim->start + claim->size;
                   ++slot) {
                const auto [at, first] = owners.try_emplace({claim->gpu, slot}, claim->pod_uid);
                if (!first && at->second != claim->pod_uid) {
                  return "slot " + std::to_string(slot) + " of " + claim->gpu +
                         " belongs to pods " + at->second + " and " + claim->pod_uid;
                }
              }
            }
            return std::nullopt;
          }};
}

// Every pod that runs has its slices in use, and every claim is of such a pod.
Invariant claims_are_those_of_pods() {
  return {
      .name = "claims are those of live pods",
      .when = Invariant::When::AtRest,
      .check = [](const World& world,
                  std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
        std::set<std::string> holders;
        for (const Object& object : world.list(das::kAllocationClaim)) {
          const auto claim = das::read_claim(object);
          const auto pod = claim ? world.get(api::kPod, claim->pod) : std::nullopt;
          if (!pod || pod->uid() != claim->pod_uid ||
              pod->status()["phase"].as_string() != "Running") {
            return "claim " + std::string(object.name()) + " is of no running pod";
          }
          if (claim->state != das::kInUse || claim->node != pod->spec()["nodeName"].as_string()) {
            return "claim " + std::string(object.name()) + " is " + claim->state;
          }
          holders.insert(claim->pod_uid);
        }
        for (const Object& pod : world.list(api::kPod, kNs)) {
          if (pod.status()["phase"].as_string() == "Running" &&
              !holders.contains(std::string(pod.uid()))) {
            return "pod " + std::string(pod.name()) + " runs without a slice";
          }
        }
        return std::nullopt;
      }};
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
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  for (const char* text :
       {"{apiVersion: v1, kind: Namespace, metadata: {name: das-operator}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}",
        "{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: {name: cluster, "
        "namespace: das-operator}, spec: {}}"}) {
    scene.objects.push_back(from_yaml(text));
  }
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
