// SPDX-License-Identifier: Apache-2.0
// One node: is it heard of, and what do its conditions forbid.
#include "embedded/workloads/node_lifecycle.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kLeases = "kube-node-lease";
constexpr const char* kNotReady = "node.kubernetes.io/not-ready";
constexpr const char* kUnreachable = "node.kubernetes.io/unreachable";
constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";

struct ConditionTaint {
  const char* condition;
  const char* status;
  const char* taint;
};
constexpr std::array<ConditionTaint, 6> kConditionTaints{{
    {"Ready", "False", kNotReady},
    {"Ready", "Unknown", kUnreachable},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
}};

bool is_ours(const Value& taint) {
  const std::string_view key = taint["key"].as_string();
  return key == kUnschedulable ||
         std::ranges::any_of(kConditionTaints, [&](const auto& one) { return key == one.taint; });
}

class NodeRun {
 public:
  NodeRun(const View& view, const Object& node, Instant now)
      : view_(view), node_(node), now_(now), conditions_(node.status()["conditions"]) {}

  Plan run() {
    if (silent()) {
      lose();
    }
    set_taints();
    if (condition_is(conditions_, "Ready", "Unknown")) {
      mark_pods();
    }
    return std::move(plan_);
  }

 private:
  // When the node last said anything; nullopt: it never gave a time.
  [[nodiscard]] std::optional<Instant> heard() const {
    std::optional<Instant> last =
        parse_time(find_condition(conditions_, "Ready")["lastHeartbeatTime"].as_string());
    if (const auto lease = view_.get(api::kLease, {kLeases, std::string(node_.name())})) {
      const auto renewed = parse_time(lease->spec()["renewTime"].as_string());
      last = renewed && (!last || *renewed > *last) ? renewed : last;
    }
    if (!last && find_condition(conditions_, "Ready").is_null()) {
      return node_.creation_time();
    }
    return last;
  }

  bool silent() {
    const auto last = heard();
    if (!last) {
      return false;
    }
    if (now_ < *last + kNodeGrace) {
      plan_.wake_at(*last + kNodeGrace);
      return false;
    }
    return true;
  }

  void lose() {
    const bool was_ready = condition_is(conditions_, "Ready", "True");
    for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
      const Value known = find_condition(conditions_, type);
      if (known["status"].as_string() == "Unknown") {
        continue;
      }
      const bool never = known.is_null();
      set_condition(conditions_,
                    {.type = type,
                     .status = "Unknown",
                     .reason = never ? "NodeStatusNeverUpdated" : "NodeStatusUnknown",
                     .message = never ? "Kubelet never posted node status."
                                      : "Kubelet stopped posting node status."},
                    now_);
    }
    plan_.then(Status{.target = {&api::kNode, node_.key()},
                      .status = Value::object({{"conditions", conditions_}}),
                      .guard = {.uid = std::string(node_.uid()),
                                .resource_version = std::string(node_.resource_version())}});
    if (was_ready) {
      plan_.then(Emit{.about = {&api::kNode, node_.key()},
                      .about_uid = std::string(node_.uid()),
                      .reason = "NodeNotReady",
                      .note = fmt::format("Node {} status is now: NodeNotReady", node_.name())});
    }
  }

  [[nodiscard]] Value taint(const char* key, const char* effect) const {
    for (const Value& known : node_.spec()["taints"].items()) {
      if (known["key"].as_string() == key && known["effect"].as_string() == effect) {
        return known;  // with the time it was added
      }
    }
    return Value::object({{"key", key}, {"effect", effect}, {"timeAdded", format_time(now_)}});
  }

  void set_taints() {
    Value taints = Value::list();
    for (const Value& known : node_.spec()["taints"].items()) {
      if (!is_ours(known)) {
        taints.push_back(known);
      }
    }
    if (node_.spec()["unschedulable"].as_bool()) {
      taints.push_back(taint(kUnschedulable, "NoSchedule"));
    }
    for (const ConditionTaint& one : kConditionTaints) {
      if (!condition_is(conditions_, one.condition, one.status)) {
        continue;
      }
      taints.push_back(taint(one.taint, "NoSchedule"));
      if (std::string_view(one.condition) == "Ready") {
        taints.push_back(taint(one.taint, "NoExecute"));
      }
    }
    // A node that has not said anything yet keeps what it was created with.
    if (find_condition(conditions_, "Ready").is_null()) {
      return;
    }
    const Value& present = node_.spec()["taints"];
    const bool same = present.size() == taints.size() &&
                      std::ranges::all_of(taints.items(), [&](const Value& wanted) {
                        return std::ranges::find(present.items(), wanted) != present.items().end();
                      });
    if (!same) {
      plan_.then(
          Patch{.target = {&api::kNode, node_.key()},
                .merge = Value::object(
                    {{"spec", Value::object({{"taints", taints.empty() ? Value() : taints}})}}),
                .guard = {.uid = std::string(node_.uid())}});
    }
  }

  // Only this controller can mark pods on a lost node as not ready.
  void mark_pods() {
    for (const Object& pod :
         view_.list(api::kPod, {.index = "node", .index_value = std::string(node_.name())})) {
      if (!is_ready(pod)) {
        continue;
      }
      Value conditions = pod.status()["conditions"];
      for (std::size_t i = 0; i < conditions.size(); ++i) {
        if (conditions[i]["type"].as_string() == "Ready") {
          conditions.item(i).set("status", "False");
          conditions.item(i).set("lastTransitionTime", format_time(now_));
        }
      }
      plan_.then(Status{.target = {&api::kPod, pod.key()},
                        .status = Value::object({{"conditions", conditions}}),
                        .guard = {.uid = std::string(pod.uid()),
                                  .resource_version = std::string(pod.resource_version())}});
      plan_.then(Emit{.about = {&api::kPod, pod.key()},
                      .about_uid = std::string(pod.uid()),
                      .type = "Warning",
                      .reason = "NodeNotReady",
                      .note = "Node is not ready"});
    }
  }

  const View& view_;
  const Object& node_;
  Instant now_;
  Value conditions_;
  Plan plan_{};
};

Plan reconcile_node(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  return node && !node->deleting() ? NodeRun(view, *node, now).run() : Plan::done();
}

}  // namespace

const Operator& node_lifecycle_operator() {
  static const Kind* const kReads[] = {&api::kNode, &api::kLease, &api::kPod};
  static const Kind* const kWrites[] = {&api::kNode, &api::kPod, &api::kEvent};
  static const Operator kOperator{.name = "node-lifecycle-controller",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_node,
                                  .user = "system:serviceaccount:kube-system:node-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
