// SPDX-License-Identifier: Apache-2.0
// AppWrappers in the lab: queued, preempted, failed and tried again by the controller and by a
// user, deleted in the middle of their run and at the end of their TTL, short of pods, on nodes
// that are cordoned and marked (docs/spec/appwrapper.md 4 to 7, 11).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "kube/value/condition.hpp"
#include "product/list.hpp"
#include "sim/scenes/appwrapper_rules.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";
constexpr const char* kPrefix = "workload.codeflare.dev.appwrapper/";

// Clocks that jump in a storm must not end a grace period.
constexpr const char* kPatient = "20h";

struct Wishes {
  std::string labels{};  // more of them, each after a comma
  int retries = 3;
  std::string grace = kPatient;  // until all pods are there, and until all run
  std::string annotations{};     // as `labels`, without their prefix
};

std::string app(const std::string& name, const Wishes& wishes, const std::string& components) {
  return fmt::format(
      "{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {{name: {0}, "
      "namespace: {1}, labels: {{kueue.x-k8s.io/queue-name: lq{2}}}, annotations: "
      "{{{3}admissionGracePeriodDuration: {4}, {3}warmupGracePeriodDuration: {4}, "
      "{3}retryPausePeriodDuration: 10s, {3}failureGracePeriodDuration: 5s, {3}retryLimit: "
      "'{5}'{6}}}}}, spec: {{components: [{7}]}}}}",
      name, kNs, wishes.labels, kPrefix, wishes.grace, wishes.retries, wishes.annotations,
      components);
}

std::string pod_spec(const std::string& container, const std::string& cpu) {
  return fmt::format(
      "{{restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{{name: {}, image: "
      "i, command: [run], resources: {{requests: {{cpu: '{}'}}}}}}]}}",
      container, cpu);
}

std::string pod(const std::string& name, const std::string& container) {
  return fmt::format(
      "{{template: {{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {}}}}}", name,
      pod_spec(container, "1"));
}

std::string config_map(const std::string& name) {
  return fmt::format("{{template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}}}",
                     name);
}

std::string job(const std::string& name, const std::string& container, const std::string& cpu) {
  return fmt::format(
      "{{template: {{apiVersion: batch/v1, kind: Job, metadata: {{{}}}, spec: {{backoffLimit: 0, "
      "template: {{spec: {}}}}}}}}}",
      name, pod_spec(container, cpu));
}

// No node has its label.
std::string homeless_pod(const std::string& name) {
  return fmt::format(
      "{{template: {{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {{nodeSelector: "
      "{{no: node}}, terminationGracePeriodSeconds: 1, containers: [{{name: c, image: i}}]}}}}}}",
      name);
}

// Its pods run until they are stopped.
std::string deployment(const std::string& name, int replicas) {
  return fmt::format(
      "{{template: {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {0}}}, spec: "
      "{{replicas: {1}, selector: {{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: "
      "{{app: {0}}}}}, spec: {{terminationGracePeriodSeconds: 1, containers: [{{name: serves, "
      "image: i, "
      "command: [run], resources: {{requests: {{cpu: '1'}}}}}}]}}}}}}}}}}",
      name, replicas);
}

void must(const Result<Object>& done) {
  ATHANOR_CHECK(done.ok(), "the API server takes a change of the scene");
}

Actor submit(int second, std::string text) {
  return {.at = std::chrono::seconds(second),
          .act = [text = std::move(text)](World& world) { must(world.create(from_yaml(text))); }};
}

Actor change(int second, const Kind& kind, Key key, const char* merge) {
  return {.at = std::chrono::seconds(second),
          .act = [&kind, key = std::move(key), merge](World& world) {
            must(world.patch(kind, key, from_yaml(merge)));
          }};
}

Scene queues() {
  Scene scene;
  scene.operators = lab::embedded_operators();
  for (const System* system : all_systems()) {
    if (system->name == "kueue" || system->name == "nodes" || system->name == "appwrapper" ||
        system->name == "appwrapper-kueue") {
      std::ranges::copy_if(
          system->operators, std::back_inserter(scene.operators), [](const Operator* op) {
            return op->name != "appwrapper-slack" && op->name != "appwrapper-workload-integrated";
          });
    }
  }
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  for (const char* text :
       {"{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}",
        "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {athanor.dev/emulated: "
        "'true'}}}",
        "{apiVersion: v1, kind: Node, metadata: {name: node-2, labels: {athanor.dev/emulated: "
        "'true'}}}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, "
        "value: 100}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, spec: "
        "{namespaceSelector: {}, preemption: {withinClusterQueue: LowerPriority}, resourceGroups: "
        "[{coveredResources: [cpu], flavors: [{name: any, resources: [{name: cpu, nominalQuota: "
        "3}]}]}]}}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: lq, namespace: "
        "default}, spec: {clusterQueue: cq}}"}) {
    scene.objects.push_back(from_yaml(text));
  }
  scene.config["kueue"] = Value::object({{"waitForPodsReady", false}});
  scene.config["appwrapper"] = from_yaml(
      "{autopilot: {resourceTaints: {cpu: [{key: health, value: bad, effect: NoExecute}]}}, "
      "faultTolerance: {deleteAfterSuccessTTL: true}}");
  scene.admission = system_webhooks;
  TimedPods::install(scene, std::chrono::seconds(40));
  scene.invariants = appwrapper_invariants();
  return scene;
}

bool rests(const World& world, const char* name, std::string_view phase) {
  const auto found = world.get(appwrapper::kAppWrapper, {kNs, name});
  return found && found->status()["phase"].as_string() == phase;
}

bool was_retried(const World& world, const char* name) {
  const auto found = world.get(appwrapper::kAppWrapper, {kNs, name});
  return found &&
         condition_is(found->status()["conditions"], appwrapper::condition::kRetried, "True");
}

}  // namespace

Scene appwrapper_scene() {
  const std::string ttl = fmt::format(", {}successTTLDuration: 1m", kPrefix);
  const std::string gang = fmt::format(", {}gang: 'true'", kPrefix);
  Scene scene = queues();
  scene.actors = {
      submit(1, app("batch", {}, pod("batch", "c") + ", " + config_map("batch"))),
      // Two failures: one reset, then it gives up. A user has it tried again.
      submit(2, app("flaky", {.retries = 1}, job("name: flaky", kFailing, "500m"))),
      submit(3, app("named", {}, job("generateName: named-", "c", "500m"))),
      submit(4, app("doomed", {}, pod("doomed", "c") + ", " + config_map("doomed"))),
      // Waits for whoever came first; takes the place of nobody.
      submit(5, app("late", {}, job("name: late", "c", "2"))),
      // Goes itself a minute after its success.
      submit(6, app("brief", {.annotations = ttl}, pod("brief", "c") + ", " + config_map("brief"))),
      submit(7, app("gang", {.annotations = gang}, job("name: gang", "c", "500m"))),
      // One pod of two is never placed.
      submit(8, app("scarce", {.retries = 1, .grace = "30s", .annotations = gang},
                    pod("scarce", "c") + ", " + homeless_pod("scarce-2"))),
      // Takes quota back whoever has it.
      submit(60, app("urgent", {.labels = ", kueue.x-k8s.io/priority-class: high"},
                     job("name: urgent", "c", "3"))),
      {.at = std::chrono::seconds(20),
       .act =
           [](World& world) {
             static_cast<void>(world.remove(appwrapper::kAppWrapper, {kNs, "doomed"}));
           }},
      // Pods leave the marked node, and none is placed on it or on the cordoned one.
      change(25, api::kNode, {"", "node-2"}, "{metadata: {labels: {health: bad}}}"),
      change(70, api::kNode, {"", "node-1"}, "{spec: {unschedulable: true}}"),
      change(80, api::kNode, {"", "node-2"}, "{metadata: {labels: {health: good}}}"),
      change(90, api::kNode, {"", "node-1"}, "{metadata: {labels: {health: bad}}}"),
      change(150, api::kNode, {"", "node-1"}, "{metadata: {labels: {health: null}}}"),
      change(160, api::kNode, {"", "node-1"}, "{spec: {unschedulable: null}}"),
      change(300, appwrapper::kAppWrapper, {kNs, "flaky"},
             "{metadata: {annotations: {workload.codeflare.dev.appwrapper/retry: again}}}"),
      submit(400, app("service", {}, deployment("service", 1)))};
  scene.converged = [](const World& world) {
    return rests(world, "batch", "Succeeded") && rests(world, "flaky", "Failed") &&
           was_retried(world, "flaky") && rests(world, "named", "Succeeded") &&
           rests(world, "late", "Succeeded") && rests(world, "gang", "Succeeded") &&
           rests(world, "scarce", "Failed") && rests(world, "urgent", "Succeeded") &&
           rests(world, "service", "Running") &&
           !world.get(appwrapper::kAppWrapper, {kNs, "brief"});
  };
  return scene;
}

// One AppWrapper that fails, is reset, fails again and gives up: every write of it may go wrong.
Scene appwrapper_reset_scene() {
  Scene scene = queues();
  scene.actors = {submit(1, app("flaky", {.retries = 1},
                                job("name: flaky", kFailing, "1") + ", " + config_map("flaky")))};
  scene.converged = [](const World& world) { return rests(world, "flaky", "Failed"); };
  return scene;
}

// Phase and resets of each, and what is left.
Value appwrappers_as_seen(const World& world) {
  Value apps = Value::object();
  for (const Object& one : world.list(appwrapper::kAppWrapper, kNs)) {
    apps.set(one.name(), fmt::format("{} {}", one.status()["phase"].as_string(),
                                     one.status()["resettingCount"].as_int()));
  }
  Value objects = Value::object();
  for (const Kind* kind :
       {&api::kJob, &api::kDeployment, &api::kConfigMap, &appwrapper::pod_group_kind()}) {
    for (const Object& one : world.list(*kind, kNs)) {
      if (one.controller()) {
        const std::string key(kind->name);
        objects.set(key, objects[key].as_int() + 1);
      }
    }
  }
  return Value::object({{"apps", apps}, {"objects", objects}});
}

}  // namespace athanor::sim
