// SPDX-License-Identifier: Apache-2.0
// An emulated node: reports its capacity, is ready, and gives back the volumes claims ask for.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "embedded/nodes/nodes.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::nodes {
namespace {

constexpr const char* kNotReadyTaint = "node.kubernetes.io/not-ready";
constexpr const char* kDefaultOs = "linux";
constexpr const char* kDefaultArch = "amd64";

// The resources that the node itself has: those of its annotation, and the basic ones.
Value own_resources(const Object& node) {
  const auto parsed = json::parse(node.annotation(kCapacityAnnotation));
  Value capacity = parsed.ok() && parsed->is_object() ? *parsed : Value::object();
  for (const auto& [resource, amount] : {std::pair{"cpu", "16"},
                                         {"memory", "64Gi"},
                                         {"ephemeral-storage", "100Gi"},
                                         {"pods", "1000"}}) {
    if (!capacity.contains(resource)) {
      const Value& reported = node.status()["capacity"][resource];
      capacity.set(resource, reported.is_null() || parsed.ok() ? Value(amount) : reported);
    }
  }
  return capacity;
}

// Capacity and allocatable of a node.
struct Resources {
  Value own{};  // what the node and its hooks report
  Value capacity{};
  Value allocatable{};
};

// Names that the node reported last time, and that are no longer its own.
bool is_withdrawn(const Value& reported, const Value& own, std::string_view resource) {
  return !own.contains(resource) && std::ranges::any_of(reported.items(), [&](const Value& name) {
    return name.as_string() == resource;
  });
}

// Resources that others added to the status (device plugins, slice operators) stay, and can be
// allocated unless others said otherwise.
void add_resources_of_others(const Object& node, Resources& resources) {
  const auto reported = json::parse(node.annotation(kReportedAnnotation));
  for (const Member& one : node.status()["capacity"].members()) {
    if (resources.own.contains(one.key()) ||
        is_withdrawn(reported.ok() ? *reported : Value(), resources.own, one.key())) {
      continue;
    }
    resources.capacity.set(one.key(), one.value);
    const Value& allocatable = node.status()["allocatable"][one.key()];
    const auto most = Quantity::parse(one.value);
    const auto given = Quantity::parse(allocatable);
    resources.allocatable.set(one.key(),
                              given && most && *given <= *most ? allocatable : one.value);
  }
}

Resources resources_of(const View& view, const Object& node,
                       std::span<const NodeHooks* const> hooks) {
  Resources resources{.own = own_resources(node)};
  for (const NodeHooks* one : hooks) {
    const Value more = one->capacity == nullptr ? Value() : one->capacity(view, node);
    for (const Member& resource : more.members()) {
      resources.own.set(resource.key(), resource.value);
    }
  }
  resources.capacity = resources.own;
  resources.allocatable = resources.own;
  for (const NodeHooks* one : hooks) {
    const Value less = one->allocatable == nullptr ? Value() : one->allocatable(view, node);
    for (const Member& resource : less.members()) {
      resources.allocatable.set(resource.key(), resource.value);
    }
  }
  add_resources_of_others(node, resources);
  return resources;
}

// The label's value; `otherwise` where the node has none.
std::string label_or(const Object& node, const char* label, const char* otherwise) {
  const std::string_view value = node.label(label);
  return std::string(value.empty() ? otherwise : value);
}

// As a kubelet on a machine of its own reports it; ids from the node's name.
Value node_info(const Object& node) {
  const std::string id = sha256_hex(node.name()).substr(0, 32);
  const std::string uuid = id.substr(0, 8) + "-" + id.substr(8, 4) + "-" + id.substr(12, 4) + "-" +
                           id.substr(16, 4) + "-" + id.substr(20, 12);
  return Value::object({{"kubeletVersion", "v1.35.4"},
                        {"operatingSystem", label_or(node, kOsLabel, kDefaultOs)},
                        {"architecture", label_or(node, kArchLabel, kDefaultArch)},
                        {"osImage", "emulated by athanor"},
                        {"containerRuntimeVersion", "athanor://1"},
                        {"kernelVersion", "emulated"},
                        {"kubeProxyVersion", "v1.35.4"},
                        {"machineID", id},
                        {"systemUUID", uuid},
                        {"bootID", uuid}});
}

// The labels that a kubelet sets; values that others chose stay.
void add_labels(const Object& node, Value& patch) {
  const std::pair<const char*, std::string> labels[] = {{kHostnameLabel, std::string(node.name())},
                                                        {kOsLabel, kDefaultOs},
                                                        {kArchLabel, kDefaultArch}};
  for (const auto& [label, value] : labels) {
    if (node.label(label).empty()) {
      patch.set_path({"metadata", "labels", label}, value);
    }
  }
}

// The patch of what the node says of itself beside its status: it is ready, its labels, and which
// resources are its own.
Value own_patch(const Object& node, const Resources& resources) {
  Value patch = Value::object();
  Value taints = Value::list();
  for (const Value& taint : node.spec()["taints"].items()) {
    if (taint["key"].as_string() != kNotReadyTaint) {
      taints.push_back(taint);
    }
  }
  if (taints.size() != node.spec()["taints"].size()) {
    patch.set("spec", Value::object({{"taints", taints.empty() ? Value() : taints}}));
  }
  Value names = Value::list();
  for (const Member& resource : resources.own.members()) {
    names.push_back(std::string(resource.key()));
  }
  const std::string reported = json::print(names);
  if (node.annotation(kReportedAnnotation) != reported) {
    patch.set_path({"metadata", "annotations"}, Value::object({{kReportedAnnotation, reported}}));
  }
  add_labels(node, patch);
  return patch;
}

Emit state_event(const Object& node, const char* state) {
  return {.about = {&api::kNode, node.key()},
          .about_uid = std::string(node.uid()),
          .reason = state,
          .note = fmt::format("Node {} status is now: {}", node.name(), state)};
}

// A kubelet that says nothing: what it said last is unknown at once, without the grace that its
// Lease has.
Plan silent_node(const Object& node, Instant now) {
  Value conditions = node.status()["conditions"];
  const bool was_ready = condition_is(conditions, "Ready", "True");
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    set_condition(conditions,
                  {.type = type,
                   .status = "Unknown",
                   .reason = "NodeStatusUnknown",
                   .message = "Kubelet stopped posting node status."},
                  now);
  }
  Plan plan;
  plan.then(Status{.target = {&api::kNode, node.key()},
                   .status = Value::object({{"conditions", conditions}}),
                   .guard = {.uid = std::string(node.uid())}});
  if (was_ready) {
    plan.then(state_event(node, "NodeNotReady"));
  }
  return plan;
}

// The node was lost: it is heard of now, before its Lease is renewed.
void note_return(Value& conditions, Instant now) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (conditions[i]["type"].as_string() == "Ready") {
      conditions.item(i).set("lastHeartbeatTime", format_time(now));
    }
  }
}

Plan reconcile_node(const View& view, const Key& key, Instant now) {
  return report_node(view, key, now, {});
}

}  // namespace

Plan report_node(const View& view, const Key& key, Instant now,
                 std::span<const NodeHooks* const> hooks) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->label(kEmulatedLabel) != "true" || node->deleting()) {
    return Plan::done();
  }
  if (has_failed(*node)) {
    return silent_node(*node, now);
  }
  Plan plan;
  const Resources resources = resources_of(view, *node, hooks);
  Value conditions = node->status()["conditions"];
  const bool lost = condition_is(conditions, "Ready", "Unknown");
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
  if (lost) {
    note_return(conditions, now);
  }
  plan.then(
      Status{.target = {&api::kNode, key},
             .status = Value::object(
                 {{"capacity", resources.capacity},
                  {"allocatable", resources.allocatable},
                  {"conditions", conditions},
                  {"addresses",
                   Value::list({Value::object({{"type", "InternalIP"}, {"address", "127.0.0.1"}}),
                                Value::object({{"type", "Hostname"}, {"address", key.name}})})},
                  {"nodeInfo", node_info(*node)}}),
             .guard = {.uid = std::string(node->uid())}});
  if (lost) {
    plan.then(state_event(*node, "NodeReady"));
  }
  if (Value patch = own_patch(*node, resources); !patch.empty()) {
    plan.then(Patch{.target = {&api::kNode, key},
                    .merge = std::move(patch),
                    .guard = {.uid = std::string(node->uid())}});
  }
  return plan;
}

const Operator& node_operator() {
  static const Kind* const kReads[] = {&api::kNode};
  static const Kind* const kWrites[] = {&api::kNode, &api::kEvent};
  static const Access kAccess[] = {
      {&api::kNode, "patch"}, {&api::kNode, "patch", "status"}, {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "emulated-node",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_node,
                                  .user = "system:serviceaccount:kube-system:kubelet",
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::nodes
