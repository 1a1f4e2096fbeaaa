// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/emulation/node_drain.hpp"

#include <fmt/core.h>

#include <vector>

#include "api/builtin.hpp"
#include "api/disruption_budget.hpp"
#include "kube/value/condition.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kMirror = "kubernetes.io/config.mirror";

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

// A drain leaves these: their owner or their kubelet would start them again at once.
bool stays(const Object& pod) {
  const auto owner = pod.controller();
  return is_over(pod) || (owner && owner->kind == "DaemonSet") || !pod.annotation(kMirror).empty();
}

std::vector<Object> budgets_of(const View& view, const Object& pod) {
  std::vector<Object> budgets;
  for (Object& budget : view.list(api::kPodDisruptionBudget, {.ns = std::string(pod.ns())})) {
    if (api::budget_selects(budget.body(), pod.body())) {
      budgets.push_back(std::move(budget));
    }
  }
  return budgets;
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
  if (api::needs_budget(pod.body()) && !budget_allows(pod, plan)) {
    return;
  }
  const Guard guard{.uid = std::string(pod.uid())};
  Value conditions = pod.status()["conditions"];
  set_condition(conditions, api::evicted_condition(), now_);
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
  if (api::unhealthy_may_go(pod.body(), budget.body())) {
    return true;
  }
  if (!api::is_observed(budget.body()) || budget.status()["disruptionsAllowed"].as_int() <= 0) {
    return waits(fmt::format("PodDisruptionBudget {} allows no disruption", budget.name()));
  }
  if (!taken_.insert(budget.key()).second) {
    return false;
  }
  plan.then(athanor::Status{.target = {&api::kPodDisruptionBudget, budget.key()},
                            .status = api::status_after_disruption(budget.body(), pod.name(), now_),
                            .guard = {.uid = std::string(budget.uid()),
                                      .resource_version = std::string(budget.resource_version())}});
  return true;
}

}  // namespace athanor::numa
