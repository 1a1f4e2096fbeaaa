// SPDX-License-Identifier: Apache-2.0
#include "api/disruption_budget.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "kube/names/selector.hpp"

namespace athanor::api {

bool budget_selects(const Value& budget, const Value& pod) {
  const auto selector = LabelSelector::from_value(budget["spec"]["selector"]);
  return selector.ok() && selector->matches(pod["metadata"]["labels"]);
}

bool needs_budget(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].as_string();
  return phase != "Pending" && phase != "Succeeded" && phase != "Failed" &&
         !pod["metadata"].contains("deletionTimestamp");
}

bool unhealthy_may_go(const Value& pod, const Value& budget) {
  if (condition_is(pod["status"]["conditions"], "Ready", "True")) {
    return false;
  }
  if (budget["spec"]["unhealthyPodEvictionPolicy"].as_string() == "AlwaysAllow") {
    return true;
  }
  const std::int64_t desired = budget["status"]["desiredHealthy"].as_int();
  return desired > 0 && budget["status"]["currentHealthy"].as_int() >= desired;
}

bool is_observed(const Value& budget) {
  return budget["status"]["observedGeneration"].as_int() >=
         budget["metadata"]["generation"].as_int();
}

Value status_after_disruption(const Value& budget, std::string_view pod, Instant now) {
  Value disrupted = budget["status"]["disruptedPods"];
  if (!disrupted.is_object()) {
    disrupted = Value::object();
  }
  disrupted.set(std::string(pod), format_time(now));
  return Value::object({{"disruptionsAllowed", budget["status"]["disruptionsAllowed"].as_int() - 1},
                        {"disruptedPods", std::move(disrupted)}});
}

Condition evicted_condition() {
  return {.type = "DisruptionTarget",
          .status = "True",
          .reason = "EvictionByEvictionAPI",
          .message = "Eviction API: evicting"};
}

}  // namespace athanor::api
