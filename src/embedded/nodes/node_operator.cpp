// SPDX-License-Identifier: Apache-2.0
// An emulated node: reports its capacity, is ready, and gives back the volumes claims ask for.
#include "api/builtin.hpp"
#include "embedded/nodes/nodes.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::nodes {
namespace {

constexpr const char* kNotReadyTaint = "node.kubernetes.io/not-ready";

Value capacity_of(const Object& node) {
  const auto parsed = json::parse(node.annotation(kCapacityAnnotation));
  Value capacity = parsed.ok() && parsed->is_object() ? *parsed : node.status()["capacity"];
  for (const auto& [resource, amount] :
       {std::pair{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "1000"}}) {
    if (!capacity.contains(resource)) {
      capacity.set(resource, amount);
    }
  }
  return capacity;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  return report_node(view, key, now, {});
}

}  // namespace

Plan report_node(const View& view, const Key& key, Instant now,
                 std::span<const NodeHooks* const> hooks) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->label(kEmulatedLabel) != "true" || node->deleting()) {
    return Plan::done();
  }
  Plan plan;
  Value capacity = capacity_of(*node);
  for (const NodeHooks* one : hooks) {
    const Value more = one->capacity == nullptr ? Value() : one->capacity(view, *node);
    for (const Member& resource : more.members()) {
      capacity.set(resource.key(), resource.value);
    }
  }
  Value allocatable = capacity;
  for (const NodeHooks* one : hooks) {
    const Value less = one->allocatable == nullptr ? Value() : one->allocatable(view, *node);
    for (const Member& resource : less.members()) {
      allocatable.set(resource.key(), resource.value);
    }
  }
  Value conditions = node->status()["conditions"];
  const auto set = [&](const char* type, const char* status, const char* reason,
                       const char* message) {
    set_condition(conditions,
                  {.type = type, .status = status, .reason = reason, .message = message}, now);
  };
  set("MemoryPressure", "False", "KubeletHasSufficientMemory",
      "kubelet has sufficient memory available");
  set("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure");
  set("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available");
  set("Ready", "True", "KubeletReady", "kubelet is posting ready status");
  plan.then(
      Status{.target = {&api::kNode, key},
             .status = Value::object(
                 {{"capacity", capacity},
                  {"allocatable", allocatable},
                  {"conditions", conditions},
                  {"addresses",
                   Value::list({Value::object({{"type", "InternalIP"}, {"address", "127.0.0.1"}}),
                                Value::object({{"type", "Hostname"}, {"address", key.name}})})},
                  {"nodeInfo", Value::object({{"kubeletVersion", "v1.35.4"},
                                              {"operatingSystem", "linux"},
                                              {"architecture", "amd64"},
                                              {"osImage", "emulated by athanor"},
                                              {"containerRuntimeVersion", "athanor://1"},
                                              {"kernelVersion", ""},
                                              {"kubeProxyVersion", ""},
                                              {"machineID", ""},
                                              {"systemUUID", ""},
                                              {"bootID", ""}})}}),
             .guard = {.uid = std::string(node->uid())}});
  Value taints = Value::list();
  for (const Value& taint : node->spec()["taints"].items()) {
    if (taint["key"].as_string() != kNotReadyTaint) {
      taints.push_back(taint);
    }
  }
  if (taints.size() != node->spec()["taints"].size()) {
    plan.then(Patch{.target = {&api::kNode, key},
                    .merge = Value::object(
                        {{"spec", Value::object({{"taints", taints.empty() ? Value() : taints}})}}),
                    .guard = {.uid = std::string(node->uid())}});
  }
  return plan;
}

const Operator& node_operator() {
  static const Kind* const kReads[] = {&api::kNode};
  static const Kind* const kWrites[] = {&api::kNode};
  static const Access kAccess[] = {{&api::kNode, "patch"}, {&api::kNode, "patch", "status"}};
  static const Operator kOperator{.name = "emulated-node",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .user = "system:serviceaccount:kube-system:kubelet",
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::nodes
