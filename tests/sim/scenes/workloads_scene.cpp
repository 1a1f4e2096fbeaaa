// SPDX-License-Identifier: Apache-2.0
// The workload controllers together.
#include "api/builtin.hpp"
#include "base/check.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "fournos-local-dev";

Value workload(const std::string& kind, const std::string& name, const std::string& more) {
  return from_yaml("{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: " + name +
                   ", namespace: " + kNs + "}, spec: {selector: {matchLabels: {app: " + name +
                   "}}, template: {metadata: {labels: {app: " + name +
                   "}}, spec: {containers: [{name: c, image: v1, command: [run]}]}}" + more + "}}");
}

void patch(World& world, const Kind& kind, const char* name, const std::string& merge) {
  const auto patched = world.patch(kind, {kNs, name}, from_yaml(merge));
  ATHANOR_CHECK(patched.ok(), "the API server takes a change of the scene");
}

constexpr const char* kNewImage =
    "{spec: {template: {spec: {containers: [{name: c, image: v2, command: [run]}]}}}}";

}  // namespace

// Made, rolled out, scaled.
Scene workloads_scene() {
  Scene scene = lab_scene();
  // Both take their labels from the Service, as upstream does.
  scene.labels_overwritten = {"endpoints", "endpointslices.discovery.k8s.io"};
  TimedPods::install(scene, std::chrono::hours(24 * 365));
  scene.objects.push_back(
      from_yaml("{apiVersion: v1, kind: Node, metadata: {name: node-2, labels: "
                "{athanor.dev/emulated: 'true'}}}"));
  // What the set's claims are served from: its pods wait for them.
  scene.objects.push_back(
      from_yaml("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: standard, "
                "annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: "
                "athanor.dev/emulated, reclaimPolicy: Delete, volumeBindingMode: Immediate}"));
  scene.actors = {
      {.at = std::chrono::seconds(1),
       .act =
           [](World& world) {
             for (Value object :
                  {workload("StatefulSet", "sts",
                            ", serviceName: sts, replicas: 2, volumeClaimTemplates: [{metadata: "
                            "{name: data}, spec: {accessModes: [ReadWriteOnce], resources: "
                            "{requests: {storage: 1Gi}}}}]"),
                   workload("DaemonSet", "ds", ""), workload("Deployment", "dep", ", replicas: 3"),
                   from_yaml(std::string("{apiVersion: v1, kind: Service, metadata: {name: dep, "
                                         "namespace: ") +
                             kNs + "}, spec: {selector: {app: dep}, ports: [{port: 80}]}}"),
                   from_yaml(std::string("{apiVersion: policy/v1, kind: PodDisruptionBudget, "
                                         "metadata: {name: dep, namespace: ") +
                             kNs +
                             "}, spec: {selector: {matchLabels: {app: dep}}, maxUnavailable: "
                             "1}}")}) {
               const auto made = world.create(std::move(object));
               ATHANOR_CHECK(made.ok(), "the API server takes an object of the scene");
             }
           }},
      {.at = std::chrono::minutes(2),
       .act =
           [](World& world) {
             patch(world, api::kStatefulSet, "sts", kNewImage);
             patch(world, api::kDaemonSet, "ds", kNewImage);
             patch(world, api::kDeployment, "dep", kNewImage);
           }},
      {.at = std::chrono::minutes(4), .act = [](World& world) {
         patch(world, api::kStatefulSet, "sts", "{spec: {replicas: 1}}");
         patch(world, api::kDeployment, "dep", "{spec: {replicas: 4}}");
       }}};
  return scene;
}

// Counts and images of pods, what the workloads say, who is behind the service.
Value workloads_as_seen(const World& world) {
  Value pods = Value::object();
  for (const Object& pod : world.list(api::kPod, kNs)) {
    if (const auto phase = pod.status()["phase"].as_string();
        phase == "Failed" || phase == "Succeeded") {
      continue;  // what died stays to be looked at
    }
    const std::string key =
        std::string(pod.label("app")) + " " + pod.spec()["containers"][0]["image"].str();
    pods.set(key, pods[key].as_int() + 1);
  }
  Value status = Value::object();
  for (const Kind* kind : {&api::kStatefulSet, &api::kDaemonSet, &api::kDeployment}) {
    for (const Object& one : world.list(*kind, kNs)) {
      Value counts = Value::object();
      for (const Member& entry : one.status().members()) {
        if (entry.value.is_integer() && entry.key() != "observedGeneration") {
          counts.set(entry.key(), entry.value);
        }
      }
      status.set(one.name(), counts);
    }
  }
  std::int64_t endpoints = 0;
  for (const Object& slice : world.list(api::kEndpointSlice, kNs)) {
    endpoints += static_cast<std::int64_t>(slice.body()["endpoints"].size());
  }
  Value claims = Value::object();
  for (const Object& claim : world.list(api::kPersistentVolumeClaim, kNs)) {
    claims.set(claim.name(), claim.status()["phase"]);
  }
  const auto budget = world.get(api::kPodDisruptionBudget, {kNs, "dep"});
  return Value::object({{"pods", pods},
                        {"status", status},
                        {"endpoints", endpoints},
                        {"claims", claims},
                        {"revisions", world.list(api::kControllerRevision, kNs).size()},
                        {"budget", budget ? budget->status()["disruptionsAllowed"] : Value()}});
}

}  // namespace athanor::sim
