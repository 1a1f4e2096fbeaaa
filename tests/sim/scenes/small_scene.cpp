// SPDX-License-Identifier: Apache-2.0
// A small world: a few ReplicaSets and a stand-in for nodes.
#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"

namespace athanor::sim {
namespace {

// A pod runs as soon as it is there.
Plan run_pod(const View& view, const Key& key, Instant now) {
  const auto pod = view.get(api::kPod, key);
  if (!pod || pod->deleting() || !pod->status()["startTime"].is_null()) {
    return Plan::done();
  }
  const Value ready = Value::object({{"type", "Ready"}, {"status", "True"}});
  Plan plan;
  plan.then(Status{.target = {&api::kPod, key},
                   .status = Value::object({{"phase", "Running"},
                                            {"startTime", format_time(now)},
                                            {"conditions", Value::list({ready})}}),
                   .guard = {.uid = std::string(pod->uid())}});
  return plan;
}

constexpr Operator kNode = stand_in<api::kPod>("small-node", run_pod);

Value replica_set(const std::string& name, int replicas) {
  static const Value kSet = from_yaml(
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default}, spec: "
      "{selector: {}, template: {metadata: {}, spec: {terminationGracePeriodSeconds: 0, "
      "containers: [{name: c, image: i}]}}}}");
  const Value labels = Value::object({{"app", name}});
  Value set = kSet;
  set.set_path({"metadata", "name"}, name);
  set.set_path({"spec", "replicas"}, replicas);
  set.set_path({"spec", "selector", "matchLabels"}, labels);
  set.set_path({"spec", "template", "metadata", "labels"}, labels);
  return set;
}

void scale(World& world, const char* name, int replicas) {
  static_cast<void>(
      world.patch(api::kReplicaSet, {"default", name},
                  Value::object({{"spec", Value::object({{"replicas", replicas}})}})));
}

}  // namespace

Scene small_scene(int bystanders) {
  Scene scene;
  scene.operators = {&workloads::replica_set_operator(), &kNode};
  scene.objects.push_back(replica_set("a", 2));
  for (int i = 0; i < bystanders; ++i) {
    scene.objects.push_back(replica_set("bystander-" + std::to_string(i), 1));
  }
  scene.actors = {
      {.at = std::chrono::seconds(20), .act = [](World& world) { scale(world, "a", 4); }},
      {.at = std::chrono::seconds(21),
       .act =
           [](World& world) {
             ATHANOR_CHECK(world.create(replica_set("b", 3)).ok(), "a second set can be made");
           }},
      {.at = std::chrono::seconds(40), .act = [](World& world) { scale(world, "a", 1); }},
      {.at = std::chrono::seconds(45), .act = [](World& world) {
         static_cast<void>(world.remove(api::kReplicaSet, {"default", "b"}));
       }}};
  // Sets that are changed and, with what was decided about them on its way, made anew.
  for (const char* name : {"c", "d"}) {
    scene.actors.push_back({.at = std::chrono::seconds(10), .act = [name](World& world) {
                              ATHANOR_CHECK(world.create(replica_set(name, 1)).ok(),
                                            "another set can be made");
                            }});
    for (int i = 1; i <= 3; ++i) {
      const auto at = std::chrono::seconds(24 + 3 * i);
      scene.actors.push_back({.at = at, .act = [name](World& world) { scale(world, name, 2); }});
      scene.actors.push_back({.at = at, .act = [name](World& world) {
                                ATHANOR_CHECK(
                                    world.remove(api::kReplicaSet, {"default", name}).ok() &&
                                        world.create(replica_set(name, 1)).ok(),
                                    "a set can be made anew");
                              }});
    }
  }
  scene.faults_end = std::chrono::minutes(2);
  return scene;
}

Value small_ending(const World& world) {
  Value all = Value::object();
  for (const Object& pod : world.list(api::kPod)) {
    const std::string app(pod.label("app"));
    all.set(app, all[app].as_int() + 1);
  }
  for (const Object& set : world.list(api::kReplicaSet)) {
    all.set("set " + std::string(set.name()), set.status()["readyReplicas"]);
  }
  return all;
}

}  // namespace athanor::sim
