// SPDX-License-Identifier: Apache-2.0
// Settings of the queueing engine (docs/spec/kueue.md 8.5, 12): a pure reading of the environment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::kueue {

// What view.config("kueue") holds. Without a section: these values, Kueue's own since v0.19.
struct Settings {
  bool wait_for_pods_ready = true;
  std::string pods_ready_timeout = "30m";           // after admission
  std::string pods_ready_recovery_timeout = "30m";  // after readiness was lost
  std::int64_t requeue_backoff_base_seconds = 60;
  std::int64_t requeue_backoff_max_seconds = 3600;
  std::int64_t requeue_backoff_limit_count = 0;  // 0: unlimited

  [[nodiscard]] Duration timeout() const;
  [[nodiscard]] Duration recovery_timeout() const;
  // The pause before attempt `count` + 1.
  [[nodiscard]] Duration backoff(std::int64_t count) const;
};

// Variables KUEUE_*, names in any case. The error's message names the variable and the rule.
Result<Settings> parse_settings(const std::map<std::string, std::string>& environment);

}  // namespace athanor::kueue

ATHANOR_DESCRIBED(athanor::kueue::Settings);
