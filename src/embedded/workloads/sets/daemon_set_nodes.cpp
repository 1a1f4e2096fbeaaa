// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/sets/daemon_set_nodes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/revisions.hpp"
#include "kube/names/node_match.hpp"

namespace athanor::workloads {
namespace {

struct Toleration {
  std::string_view key{};
  std::string_view effect{};
  bool host_network_only = false;
};
constexpr std::array<Toleration, 7> kTolerations{{
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
    {"node.kubernetes.io/network-unavailable", "NoSchedule", true},
}};

void pin(Value& spec, const std::string& node) {
  const Value field = Value::object(
      {{"key", "metadata.name"}, {"operator", "In"}, {"values", Value::list({node})}});
  spec.set_path(
      {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"},
      Value::object({{"nodeSelectorTerms",
                      Value::list({Value::object({{"matchFields", Value::list({field})}})})}}));
}

}  // namespace

Value daemon_pod_spec(const Object& set) {
  Value spec = set.spec()["template"]["spec"];
  Value tolerations = spec["tolerations"];
  for (const Toleration& wanted : kTolerations) {
    if (wanted.host_network_only && !spec["hostNetwork"].as_bool()) {
      continue;
    }
    const Value entry =
        Value::object({{"key", wanted.key}, {"operator", "Exists"}, {"effect", wanted.effect}});
    const auto items = tolerations.items();
    if (std::ranges::find(items, entry) == items.end()) {
      tolerations.push_back(entry);
    }
  }
  spec.set("tolerations", tolerations);
  return spec;
}

DaemonFit daemon_fit(const Value& pod_spec, const Object& node) {
  const std::string_view named = pod_spec["nodeName"].as_string();
  if ((!named.empty() && named != node.name()) || !matches_node(pod_spec, node)) {
    return {};
  }
  bool schedulable = true;
  for (const Value& taint : node.spec()["taints"].items()) {
    const std::string_view effect = taint["effect"].as_string();
    if (effect == "PreferNoSchedule" || tolerates(pod_spec["tolerations"], taint)) {
      continue;
    }
    if (effect == "NoExecute") {
      return {};
    }
    schedulable = false;
  }
  return {.start = schedulable, .stay = true};
}

Value make_daemon_pod(const Object& set, const std::string& name, const std::string& node,
                      const std::string& hash) {
  Value pod =
      make_pod(set, api::kDaemonSet, set.spec()["template"], name, std::string(set.name()) + "-");
  Value spec = daemon_pod_spec(set);
  pin(spec, node);
  pod.set("spec", std::move(spec));
  pod.set_path({"metadata", "labels", kRevisionHashLabel}, hash);
  if (const std::string_view generation = set.annotation(kGenerationAnnotation);
      !generation.empty()) {
    pod.set_path({"metadata", "labels", kGenerationLabel}, generation);
  }
  return pod;
}

std::string node_of(const Object& pod) {
  if (const std::string_view node = pod.spec()["nodeName"].as_string(); !node.empty()) {
    return std::string(node);
  }
  const Value& terms =
      pod.spec().at({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                     "nodeSelectorTerms"});
  for (const Value& term : terms.items()) {
    for (const Value& field : term["matchFields"].items()) {
      if (field["key"].as_string() == "metadata.name" && field["operator"].as_string() == "In" &&
          field["values"].size() == 1) {
        return field["values"][0].str();
      }
    }
  }
  return {};
}

}  // namespace athanor::workloads
