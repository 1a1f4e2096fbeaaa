// SPDX-License-Identifier: Apache-2.0
// Zones: bursts of pods of quality Guaranteed on nodes whose emulated exporters and kubelets keep
// account of them (docs/spec/numa.md 11, 16).
#include <algorithm>
#include <iterator>
#include <map>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "embedded/nodes/system.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/fit.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/session.hpp"
#include "systems/numa/system.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";

Value burst(const std::string& name, int replicas, int cpus) {
  return from_yaml("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: " + name +
                   ", namespace: default}, spec: {replicas: " + std::to_string(replicas) +
                   ", selector: {matchLabels: {app: " + name +
                   "}}, template: {metadata: {labels: {app: " + name +
                   "}}, spec: {schedulerName: zones, containers: [{name: c, image: v1, command: "
                   "[run], resources: {limits: {cpu: " +
                   std::to_string(cpus) + ", memory: 1Gi}}}]}}}}");
}

Value zoned_node(const std::string& name) {
  Value node = from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                         ", labels: {athanor.dev/emulated: 'true'}}}");
  const auto extra = numa::system().lab_node_members.front().read(
      from_yaml(
          "{policy: single-numa-node, zones: [{cpus: 8, memory: 16Gi}, {cpus: 12, memory: 16Gi}]}"),
      Value());
  ATHANOR_CHECK(extra.ok(), "the zones of the scene are right");
  for (const auto& [key, text] : extra.value().annotations) {
    node.set_path({"metadata", "annotations", key}, text);
  }
  return node;
}

void must(const Result<Object>& done) {
  ATHANOR_CHECK(done.ok(), "the API server takes a change of the scene");
}

// What the scheduler believed of a node's zones was never more than the node had.
Invariant nobody_is_rejected() {
  return {.name = "no pod is rejected by its node's zones",
          .check = [](const World& /*world*/,
                      std::span<const store::EventPtr> news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              if (event->object->body["status"]["reason"].as_string() == "TopologyAffinityError") {
                return "pod " + event->object->key.text() + " was rejected";
              }
            }
            return std::nullopt;
          }};
}

// At rest each node's object accounts all that runs there: no free cpu is negative or forgotten.
Invariant zones_are_accounted() {
  return {.name = "zones account what runs",
          .when = Invariant::When::AtRest,
          .check = [](const World& world,
                      std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
            std::map<std::string, std::int64_t> used;
            for (const Object& pod : world.list(api::kPod, kNs)) {
              if (pod.status()["phase"].as_string() == "Running") {
                used[pod.spec()["nodeName"].str()] +=
                    numa::amount_of(numa::request_of(pod).effective, "cpu");
              }
            }
            for (const Object& object : world.list(numa::kTopologyKind)) {
              const numa::NodeTopology topology = numa::read_topology(object.body());
              std::int64_t taken = 0;
              for (const numa::Zone& zone : topology.zones) {
                taken += numa::amount_of(zone.allocatable, "cpu") -
                         numa::amount_of(zone.available, "cpu");
              }
              if (taken != used[topology.node]) {
                return "node " + topology.node + " accounts " + std::to_string(taken) + " of " +
                       std::to_string(used[topology.node]) + " thousandths of cpus";
              }
            }
            return std::nullopt;
          }};
}

// At rest each node's fingerprint is that of its pods: what a scheduler that was started anew would
// believe is what the one that ran believes.
Invariant fingerprints_agree() {
  return {.name = "fingerprints agree",
          .when = Invariant::When::AtRest,
          .check = [](const World& world,
                      std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
            for (const Object& object : world.list(numa::kTopologyKind)) {
              const numa::NodeTopology topology = numa::read_topology(object.body());
              std::vector<Key> pods;
              for (const Object& pod : world.list(api::kPod, kNs)) {
                const std::string_view phase = pod.status()["phase"].as_string();
                if (pod.spec()["nodeName"].as_string() == topology.node && phase != "Succeeded" &&
                    phase != "Failed" && numa::is_exclusive(numa::request_of(pod), topology)) {
                  pods.push_back(pod.key());
                }
              }
              const std::string computed = numa::fingerprint_of(std::span<const Key>(pods));
              if (computed != topology.fingerprint) {
                return "node " + topology.node + " tells of other pods than it has";
              }
            }
            return std::nullopt;
          }};
}

// Pods that wait although a node has a zone for them, by uid: what is said of each.
std::map<std::string, std::string> waiting_for_nothing(const World& world) {
  std::map<std::string, std::string> waiting;
  for (const Object& pod : world.list(api::kPod, kNs)) {
    if (!pod.spec()["nodeName"].as_string().empty() || pod.deleting()) {
      continue;
    }
    for (const Object& object : world.list(numa::kTopologyKind)) {
      const numa::NodeTopology topology = numa::read_topology(object.body());
      const auto node = world.get(api::kNode, {"", topology.node});
      if (node && numa::filter(numa::request_of(pod), topology,
                               numa::amounts_of(node->status()["allocatable"]))
                      .ok()) {
        waiting[std::string(pod.uid())] =
            "pod " + pod.key().text() + " waits and fits on " + topology.node;
      }
    }
  }
  return waiting;
}

// At rest no pod waits that a node has a zone for.
Invariant nobody_waits_for_nothing() {
  return {.name = "no pod waits that fits",
          .when = Invariant::When::AtRest,
          .check = [](const World& world,
                      std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
            const auto waiting = waiting_for_nothing(world);
            return waiting.empty() ? std::nullopt : std::optional(waiting.begin()->second);
          }};
}

// When faults have ended, and since when each pod waits that fits.
struct Patience {
  bool calm = false;
  std::map<std::string, Instant> since{};
};

// Once faults have ended no pod that fits waits longer than an exporter's period and a resync.
Invariant nobody_stalls(const std::shared_ptr<Patience>& patience) {
  return {
      .name = "no pod that fits stalls",
      .check = [patience](const World& world,
                          std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
        constexpr Duration kPeriod = std::chrono::seconds(10);  // of exporters()
        constexpr Duration kResync = std::chrono::seconds(10);
        if (!patience->calm) {
          return std::nullopt;
        }
        std::map<std::string, Instant> since;
        for (const auto& [uid, text] : waiting_for_nothing(world)) {
          const auto before = patience->since.find(uid);
          since[uid] = before == patience->since.end() ? world.now() : before->second;
          if (world.now() - since[uid] > kPeriod + kResync) {
            return text + " for more than 20 s";
          }
        }
        patience->since = std::move(since);
        return std::nullopt;
      }};
}

Value named(int replicas, int cpus) {
  return from_yaml(
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: named, namespace: "
      "default}, spec: {serviceName: named, replicas: " +
      std::to_string(replicas) +
      ", selector: {matchLabels: {app: named}}, template: {metadata: {labels: {app: "
      "named}}, spec: {schedulerName: zones, containers: [{name: c, image: v1, "
      "command: [run], resources: {limits: {cpu: " +
      std::to_string(cpus) + ", memory: 1Gi}}}]}}}}");
}

Value exporters() {
  return from_yaml(
      "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: rte, namespace: numaresources}, "
      "spec: {selector: {matchLabels: {name: resource-topology}}, template: {metadata: {labels: "
      "{name: resource-topology}, annotations: {athanor.dev/emulate: pause}}, spec: {containers: "
      "[{name: resource-topology-exporter, image: rte, args: [--pods-fingerprint, "
      "--sleep-interval=10s, "
      "--pods-fingerprint-method=with-exclusive-resources]}]}}}}");
}

// New exporters look at their nodes as they start.
void restart_exporters(World& world) {
  for (const Object& pod : world.list(api::kPod, "numaresources")) {
    static_cast<void>(world.remove(api::kPod, pod.key()));
  }
}

// Paused ones compute and write nothing: what the scheduler reads gets old.
void pause_exporters(World& world, bool paused) {
  Value set = exporters();
  if (paused) {
    set.member("spec")
        .member("template")
        .member("spec")
        .member("containers")
        .item(0)
        .member("args")
        .push_back("--no-publish");
  }
  must(world.patch(api::kDaemonSet, {"numaresources", "rte"},
                   Value::object({{"spec", set["spec"]}})));
}

// The newest update of a node's zones is lost, or arrives before the one that it replaces: what was
// there earlier is there again.
struct Earlier {
  std::map<Key, Value> zones{};
};
void note_zones(World& world, Earlier& earlier) {
  for (const Object& object : world.list(numa::kTopologyKind)) {
    earlier.zones[object.key()] = object.body();
  }
}
void set_back_zones(World& world, const Earlier& earlier) {
  for (const auto& [key, body] : earlier.zones) {
    if (const auto now = world.get(numa::kTopologyKind, key)) {
      Value old = body;
      old.set_path({"metadata", "resourceVersion"}, std::string(now->resource_version()));
      static_cast<void>(world.replace(std::move(old)));
    }
  }
}

// Two nodes with zones, their exporters, and no pods yet.
Scene bare_scene() {
  Scene scene;
  std::vector<const Operator*> all = lab::embedded_operators();
  for (const System* system : {&nodes::system(), &numa::emulation_system()}) {
    for (const Operator* op : system->operators) {
      if (op->name == "emulated-topology-exporter" || system == &nodes::system()) {
        all.push_back(op);
      }
    }
  }
  for (const Operator* hooked : hooked_operators()) {
    std::ranges::replace_if(
        all, [&](const Operator* op) { return op->name == hooked->name; }, hooked);
  }
  scene.operators = std::move(all);
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  for (const char* text :
       {"{apiVersion: v1, kind: Namespace, metadata: {name: numaresources}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "
        "numaresources}}"}) {
    scene.objects.push_back(from_yaml(text));
  }
  scene.objects.push_back(exporters());
  scene.objects.push_back(zoned_node("w1"));
  scene.objects.push_back(zoned_node("w2"));
  numa::Settings settings;
  settings.emulated = true;
  scene.config["numa"] = numa::to_value(settings);
  scene.config["numa"].set(numa::kExtenderProfile, "zones");
  scene.admission = system_webhooks;
  TimedPods::install(scene, std::chrono::hours(24 * 365));
  return scene;
}

}  // namespace

Scene zones_scene() {
  Scene scene = bare_scene();
  scene.invariants = {nobody_is_rejected(), zones_are_accounted(), fingerprints_agree(),
                      nobody_waits_for_nothing()};
  scene.actors = {
      {.at = std::chrono::minutes(1),
       .act = [](World& world) { must(world.create(burst("many", 10, 3))); }},
      // One for each zone: they wait until the others are gone.
      {.at = std::chrono::minutes(2),
       .act = [](World& world) { must(world.create(burst("wide", 4, 8))); }},
      {.at = std::chrono::minutes(4), .act = [](World& world) {
         must(world.patch(api::kReplicaSet, {kNs, "many"}, from_yaml("{spec: {replicas: 0}}")));
       }}};
  return scene;
}

Scene zones_late_scene() {
  Scene scene = bare_scene();
  scene.config["numa"].set("exporterPeriods", true);
  const auto patience = std::make_shared<Patience>();
  const auto earlier = std::make_shared<Earlier>();
  scene.invariants = {nobody_is_rejected(), zones_are_accounted(), fingerprints_agree(),
                      nobody_waits_for_nothing(), nobody_stalls(patience)};
  scene.actors = {
      {.at = std::chrono::minutes(1),
       .act = [](World& world) { must(world.create(burst("many", 10, 3))); }},
      // Pods of a StatefulSet keep their names when they grow.
      {.at = std::chrono::minutes(1), .act = [](World& world) { must(world.create(named(2, 2))); }},
      {.at = std::chrono::seconds(90), .act = restart_exporters},
      {.at = std::chrono::minutes(2),
       .act = [](World& world) { must(world.create(burst("wide", 3, 8))); }},
      {.at = std::chrono::seconds(100),
       .act = [earlier](World& world) { note_zones(world, *earlier); }},
      {.at = std::chrono::seconds(135),
       .act = [earlier](World& world) { set_back_zones(world, *earlier); }},
      {.at = std::chrono::seconds(150), .act = [](World& world) { pause_exporters(world, true); }},
      {.at = std::chrono::seconds(160),
       .act =
           [](World& world) {
             must(world.patch(api::kReplicaSet, {kNs, "many"}, from_yaml("{spec: {replicas: 2}}")));
           }},
      {.at = std::chrono::seconds(170),
       .act =
           [](World& world) {
             must(world.patch(api::kStatefulSet, {kNs, "named"}, named(2, 7)));
           }},
      {.at = std::chrono::minutes(4), .act = [](World& world) { pause_exporters(world, false); }},
      {.at = std::chrono::minutes(5), .act = restart_exporters},
      {.at = std::chrono::minutes(6),
       .act =
           [](World& world) {
             must(world.patch(api::kReplicaSet, {kNs, "many"}, from_yaml("{spec: {replicas: 0}}")));
           }},
      {.at = std::chrono::seconds(390),
       .act = [earlier](World& world) { note_zones(world, *earlier); }},
      // After the faults: an update is lost, and the room of others is given anew, to so few pods
      // that the growing ones fit wherever these are.
      {.at = std::chrono::seconds(610),
       .act = [patience](World& /*world*/) { patience->calm = true; }},
      {.at = std::chrono::seconds(660),
       .act =
           [](World& world) {
             must(world.patch(api::kReplicaSet, {kNs, "wide"}, from_yaml("{spec: {replicas: 0}}")));
           }},
      {.at = std::chrono::seconds(662),
       .act = [earlier](World& world) { set_back_zones(world, *earlier); }},
      {.at = std::chrono::seconds(663), .act = [](World& world) {
         must(world.patch(api::kReplicaSet, {kNs, "many"}, from_yaml("{spec: {replicas: 2}}")));
       }}};
  return scene;
}

// Pods of each set by phase, and the free cpus of each zone together.
Value zones_as_seen(const World& world) {
  Value pods = Value::object();
  for (const Object& pod : world.list(api::kPod, kNs)) {
    const std::string phase = pod.status()["phase"].str();
    if (phase == "Failed" || phase == "Succeeded") {
      continue;  // what died stays to be looked at
    }
    const std::string key = std::string(pod.label("app")) + " " + phase;
    pods.set(key, pods[key].as_int() + 1);
  }
  return Value::object({{"pods", pods}, {"topologies", world.list(numa::kTopologyKind).size()}});
}

// How many pods run: which of them the room is given to depends on who comes first.
Value zones_late_as_seen(const World& world) {
  std::int64_t running = 0;
  for (const Object& pod : world.list(api::kPod, kNs)) {
    running += pod.status()["phase"].as_string() == "Running" ? 1 : 0;
  }
  return Value::object(
      {{"running", running}, {"topologies", world.list(numa::kTopologyKind).size()}});
}

}  // namespace athanor::sim
