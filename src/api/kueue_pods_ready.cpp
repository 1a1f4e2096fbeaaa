// SPDX-License-Identifier: Apache-2.0
#include "api/kueue_pods_ready.hpp"

#include <string>
#include <string_view>

namespace athanor::api::kueue {
namespace {

constexpr const char* kType = "PodsReady";

Condition waits_for_start() {
  return {kType, "False", "WaitForStart", "Not all pods are ready or succeeded", {}};
}

}  // namespace

std::optional<Condition> pods_ready_condition(const Value& conditions, PodsReadyFacts facts) {
  constexpr const char* kReady = "All pods reached readiness and the workload is running";
  const Value& present = find_condition(conditions, kType);
  const std::string_view status = present["status"].as_string();
  const std::string_view reason = present["reason"].as_string();
  const bool recovers = reason == "WaitForRecovery";
  if (facts.admitted && facts.ready) {
    return status == "True" ? std::nullopt
                            : std::optional(Condition{
                                  kType, "True", recovers ? "Recovered" : "Started", kReady, {}});
  }
  if (!facts.admitted && present.is_null()) {
    return std::nullopt;  // nothing was promised yet
  }
  if (facts.admitted && (status == "True" || recovers)) {
    return recovers ? std::nullopt
                    : std::optional(Condition{kType,
                                              "False",
                                              "WaitForRecovery",
                                              "At least one pod has failed, waiting for recovery",
                                              {}});
  }
  return reason == "WaitForStart" ? std::nullopt : std::optional(waits_for_start());
}

std::optional<Condition> pods_ready_after_stop(const Value& conditions) {
  return find_condition(conditions, kType).is_null() ? std::nullopt
                                                     : std::optional(waits_for_start());
}

}  // namespace athanor::api::kueue
