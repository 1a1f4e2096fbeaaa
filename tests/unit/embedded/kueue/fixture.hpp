// SPDX-License-Identifier: Apache-2.0
// The queueing world of the tests: Fournos' four clusters (docs/spec/fournos.md 18.1) and short
// builders.
#pragma once

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::kueue::test {

using athanor::test::FakeWorld;

inline Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

inline Value flavor(const std::string& name) {
  return from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: " +
                   name + "}, spec: {nodeLabels: {fournos.dev/cluster: " + name + "}}}");
}

// A ClusterQueue of one flavor and one resource.
inline Value small_queue(const std::string& name, const std::string& quota,
                         const std::string& more = "") {
  return from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: " + name +
      "}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], flavors: "
      "[{name: f, resources: "
      "[{name: gpu, nominalQuota: " +
      quota + "}]}]}]" + more + "}}");
}

inline Value local_queue(const std::string& name, const std::string& cluster_queue) {
  return from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: " +
                   name + ", namespace: bench}, spec: {clusterQueue: " + cluster_queue + "}}");
}

inline Value bench_namespace(const std::string& labels = "{fournos.dev/queue-access: \"true\"}") {
  return from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: bench, labels: " + labels +
                   "}}");
}

// requests: "gpu: 8", spec: more spec members, each with a leading comma.
inline Value workload(const std::string& name, const std::string& queue,
                      const std::string& requests, const std::string& spec = "",
                      const std::string& pod_spec = "") {
  return from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " + name +
                   ", namespace: bench}, spec: {queueName: " + queue +
                   ", podSets: [{name: launcher, count: 1, template: {spec: {restartPolicy: Never, "
                   "containers: [{name: c, "
                   "resources: {requests: {" +
                   requests + "}}}]" + pod_spec + "}}}]" + spec + "}}");
}

inline void put_fournos_queues(FakeWorld& world) {
  world.put(bench_namespace());
  std::string flavors;
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "cluster-" + std::to_string(i);
    world.put(flavor(name));
    flavors += "{name: " + name +
               ", resources: [{name: fournos/gpu-a100, nominalQuota: " + (i <= 2 ? "8" : "0") +
               "}, {name: fournos/gpu-h200, nominalQuota: " + (i <= 2 ? "0" : "8") +
               "}, {name: fournos/cluster-slot, nominalQuota: 100}]}, ";
  }
  world.put(
      from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: "
                "fournos-queue}, spec: "
                "{namespaceSelector: {matchLabels: {fournos.dev/queue-access: \"true\"}}, "
                "resourceGroups: [{coveredResources: "
                "[fournos/gpu-a100, fournos/gpu-h200, fournos/cluster-slot], flavors: [" +
                flavors + "]}]}}"));
  world.put(local_queue("fournos-queue", "fournos-queue"));
}

}  // namespace athanor::kueue::test
