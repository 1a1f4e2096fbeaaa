// SPDX-License-Identifier: Apache-2.0
// NoExecute: pods that do not tolerate a taint go, those that tolerate it for a while go then.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "kube/names/node_match.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

std::vector<Value> no_execute(const Object& node) {
  std::vector<Value> taints;
  std::ranges::copy_if(
      node.spec()["taints"].items(), std::back_inserter(taints),
      [](const Value& taint) { return taint["effect"].as_string() == "NoExecute"; });
  return taints;
}

struct Patience {
  bool none = false;               // a taint is not tolerated at all
  std::optional<Instant> until{};  // nullopt with none == false: without limit
};

// The shortest of the tolerations that are used, counted from the taint's time.
Patience patience_of(const Object& pod, const std::vector<Value>& taints, Instant now) {
  Patience patience;
  for (const Value& taint : taints) {
    const Instant added = parse_time(taint["timeAdded"].as_string()).value_or(now);
    bool tolerated = false;
    for (const Value& toleration : pod.spec()["tolerations"].items()) {
      if (!tolerates(Value::list({toleration}), taint)) {
        continue;
      }
      tolerated = true;
      if (const Value& seconds = toleration["tolerationSeconds"]; seconds.is_integer()) {
        const Instant end =
            added + std::chrono::seconds(std::max<std::int64_t>(0, seconds.as_int()));
        patience.until = patience.until ? std::min(*patience.until, end) : end;
      }
    }
    patience.none = patience.none || !tolerated;
  }
  return patience;
}

void evict(const Object& pod, Instant now, Plan& plan) {
  plan.then(Emit{.about = {&api::kPod, pod.key()},
                 .about_uid = std::string(pod.uid()),
                 .reason = "TaintManagerEviction",
                 .note = fmt::format("Marking for deletion Pod {}/{}", pod.ns(), pod.name())});
  Value conditions = pod.status()["conditions"];
  set_condition(conditions,
                {.type = "DisruptionTarget",
                 .status = "True",
                 .reason = "DeletionByTaintManager",
                 .message = "Taint manager: deleting due to NoExecute taint"},
                now);
  plan.then(Status{.target = {&api::kPod, pod.key()},
                   .status = Value::object({{"conditions", conditions}}),
                   .guard = {.uid = std::string(pod.uid())}});
  plan.then(Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
}

// Patience counts from when the taint came, so every taint must say when.
bool date_taints(const Object& node, Instant now, Plan& plan) {
  Value taints = node.spec()["taints"];
  bool changed = false;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    if (taints[i]["effect"].as_string() == "NoExecute" && !taints[i].contains("timeAdded")) {
      taints.item(i).set("timeAdded", format_time(now));
      changed = true;
    }
  }
  if (changed) {
    plan.then(Patch{.target = {&api::kNode, node.key()},
                    .merge = Value::object({{"spec", Value::object({{"taints", taints}})}}),
                    .guard = {.uid = std::string(node.uid()),
                              .resource_version = std::string(node.resource_version())}});
  }
  return changed;
}

Plan evict_by_taints(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto node = view.get(api::kNode, key);
  const std::vector<Value> taints = node ? no_execute(*node) : std::vector<Value>{};
  if (taints.empty()) {
    return plan;
  }
  const bool dated = !date_taints(*node, now, plan);
  for (const Object& pod :
       view.list(api::kPod, {.index = "node", .index_value = std::string(node->name())})) {
    if (pod.deleting()) {
      continue;
    }
    const Patience patience = patience_of(pod, taints, now);
    if (patience.none || (dated && patience.until && *patience.until <= now)) {
      evict(pod, now, plan);
    } else if (patience.until) {
      plan.wake_at(std::max(*patience.until, now));
    }
  }
  return plan;
}

}  // namespace

const Operator& taint_eviction_operator() {
  static const Kind* const kReads[] = {&api::kNode, &api::kPod};
  static const Kind* const kWrites[] = {&api::kNode, &api::kPod, &api::kEvent};
  static const Operator kOperator{.name = "taint-eviction-controller",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = evict_by_taints,
                                  .user = "system:serviceaccount:kube-system:node-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
