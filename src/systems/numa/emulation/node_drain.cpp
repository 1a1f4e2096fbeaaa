// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/emulation/node_drain.hpp"

#include <fmt/core.h>

#include <vector>

#include "api/builtin.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kMirror = "kubernetes.io/config.mirror";

bool has_ended(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

// A drain leaves these: their owner or their kubelet would start them again at once.
bool stays(const Object& pod) {
  const auto owner = pod.controller();
  return has_ended(pod) || (owner && owner->kind == "DaemonSet") ||
         !pod.annotation(kMirror).empty();
}

std::vector<Object> budgets_of(const View& view, const Object& pod) {
  std::vector<Object> budgets;
  for (Object& budget : view.list(api::kPodDisruptionBudget, {.ns = std::string(pod.ns())})) {
    const auto selector = LabelSelector::from_value(budget.spec()["selector"]);
    if (selector.ok() && selector->matches(pod.metadata()["labels"])) {
      budgets.push_back(std::move(budget));
    }
  }
  return budgets;
}

// A pod that is not ready may go while the others suffice.
bool unhealthy_may_go(const Object& pod, const Object& budget) {
  if (condition_is(pod.status()["conditions"], "Ready", "True")) {
    return false;
  }
  const std::int64_t desired = budget.status()["desiredHealthy"].as_int();
  return budget.spec()["unhealthyPodEvictionPolicy"].as_string() == "AlwaysAllow" ||
         (desired > 0 && budget.status()["currentHealthy"].as_int() >= desired);
}

}  // namespace

bool Drain::empties(const Object& node, Plan& plan) {
  bool empty = true;
  for (const Object& pod :
       view_.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    if (stays(pod)) {
      continue;
    }
    empty = false;
    if (!pod.deleting()) {
      evict(pod, plan);
    }
  }
  return empty;
}

void Drain::evict(const Object& pod, Plan& plan) {
  if (pod.status()["phase"].as_string() != "Pending" && !budget_allows(pod, plan)) {
    return;
  }
  const Guard guard{.uid = std::string(pod.uid())};
  Value conditions = pod.status()["conditions"];
  set_condition(conditions,
                {.type = "DisruptionTarget",
                 .status = "True",
                 .reason = "EvictionByEvictionAPI",
                 .message = "Eviction API: evicting"},
                now_);
  plan.then(athanor::Status{.target = {&api::kPod, pod.key()},
                            .status = Value::object({{"conditions", std::move(conditions)}}),
                            .guard = guard});
  plan.then(Delete{.target = {&api::kPod, pod.key()}, .guard = guard});
}

bool Drain::budget_allows(const Object& pod, Plan& plan) {
  const std::vector<Object> budgets = budgets_of(view_, pod);
  if (budgets.empty()) {
    return true;
  }
  const auto waits = [&](std::string why) {
    if (obstacle_.empty()) {
      obstacle_ = fmt::format("cannot evict pod {}/{}: {}", pod.ns(), pod.name(), std::move(why));
    }
    return false;
  };
  if (budgets.size() > 1) {
    return waits("it has more than one PodDisruptionBudget");
  }
  const Object& budget = budgets.front();
  if (unhealthy_may_go(pod, budget)) {
    return true;
  }
  const std::int64_t allowed = budget.status()["disruptionsAllowed"].as_int();
  if (budget.status()["observedGeneration"].as_int() < budget.generation() || allowed <= 0) {
    return waits(fmt::format("PodDisruptionBudget {} allows no disruption", budget.name()));
  }
  if (!taken_.insert(budget.key()).second) {
    return false;
  }
  Value disrupted = budget.status()["disruptedPods"];
  if (!disrupted.is_object()) {
    disrupted = Value::object();
  }
  disrupted.set(pod.name(), format_time(now_));
  plan.then(athanor::Status{.target = {&api::kPodDisruptionBudget, budget.key()},
                            .status = Value::object({{"disruptionsAllowed", allowed - 1},
                                                     {"disruptedPods", std::move(disrupted)}}),
                            .guard = {.uid = std::string(budget.uid()),
                                      .resource_version = std::string(budget.resource_version())}});
  return true;
}

}  // namespace athanor::numa
