// SPDX-License-Identifier: Apache-2.0
// Settings of the queueing engine (docs/spec/kueue.md 6.3, 7.6, 7.9, 8.5, 9, 11.3, 12): a pure
// reading of the environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

// What view.config("kueue") holds. Without a section: these values, Kueue's own since v0.19.
struct Settings {
  bool wait_for_pods_ready = true;
  std::string pods_ready_timeout = "30m";           // after admission
  std::string pods_ready_recovery_timeout = "30m";  // after readiness was lost; 0: no limit
  std::int64_t requeue_backoff_base_seconds = 60;
  std::int64_t requeue_backoff_max_seconds = 3600;
  std::int64_t requeue_backoff_limit_count = -1;  // below 0: unlimited
  std::string requeue_timestamp = "Eviction";     // or "Creation": the place after a timeout
  bool block_admission = false;  // no admission while an admitted workload is not ready

  bool fair_sharing = false;
  std::vector<std::string> preemption_strategies{"LessThanOrEqualToFinalShare",
                                                 "LessThanInitialShare"};
  std::string admission_reasons = "legacy";    // or "granular"
  std::string flavor_selector_keys = "group";  // or "flavor"

  std::vector<std::string> exclude_resource_prefixes{};
  // A list of {input, strategy: Retain or Replace, outputs: {resource: quantity}}.
  Value resource_transformations{};

  // "IgnoreUndeclared": resources that a ClusterQueue does not cover need no quota.
  std::string quota_check_strategy = "BlockUndeclared";

  // Whether a pod set with a minimum may run with fewer pods (11.1).
  bool partial_admission = true;

  // Empty: kept for ever.
  std::string retention_after_finished{};
  std::string retention_after_deactivated{};

  [[nodiscard]] bool granular() const { return admission_reasons == "granular"; }
  [[nodiscard]] std::optional<Duration> keep_finished() const;
  [[nodiscard]] std::optional<Duration> keep_deactivated() const;
  [[nodiscard]] Duration timeout() const;
  [[nodiscard]] Duration recovery_timeout() const;
  // Returns the pause before attempt `count` + 1.
  [[nodiscard]] Duration backoff(std::int64_t count) const;
};

// Variables KUEUE_*, names in any case. The error's message names the variable and the rule.
Result<Settings> parse_settings(const std::map<std::string, std::string>& environment);

}  // namespace athanor::kueue

ATHANOR_DESCRIBED(athanor::kueue::Settings);
