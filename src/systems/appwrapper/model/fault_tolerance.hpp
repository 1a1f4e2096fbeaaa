// SPDX-License-Identifier: Apache-2.0
// Timers and limits of one AppWrapper: settings with its annotations over them
// (docs/spec/appwrapper.md 6). Annotations are read at each use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// The annotations of 6.2, without their prefix.
namespace annotation {
inline constexpr std::string_view kAdmissionGrace = "admissionGracePeriodDuration";
inline constexpr std::string_view kWarmupGrace = "warmupGracePeriodDuration";
inline constexpr std::string_view kFailureGrace = "failureGracePeriodDuration";
inline constexpr std::string_view kRetryPause = "retryPausePeriodDuration";
inline constexpr std::string_view kForcefulDeletion = "forcefulDeletionGracePeriodDuration";
inline constexpr std::string_view kDeletionOnFailure = "deletionOnFailureGracePeriodDuration";
inline constexpr std::string_view kRetryLimit = "retryLimit";
inline constexpr std::string_view kSuccessTtl = "successTTLDuration";
inline constexpr std::string_view kTerminalCodes = "terminalExitCodes";
inline constexpr std::string_view kRetryableCodes = "retryableExitCodes";
inline constexpr std::string_view kGang = "gang";    // B-8
inline constexpr std::string_view kRetry = "retry";  // B-19
}  // namespace annotation

// Effective fault-tolerance settings of one AppWrapper (docs/spec/appwrapper.md 6.1).
struct Limits {
  Duration admission_grace{};
  Duration warmup_grace{};
  Duration failure_grace{};
  Duration retry_pause{};
  Duration forceful_deletion{};
  Duration deletion_on_failure{};
  Duration success_ttl{};
  std::int64_t retry_limit = 0;
  std::vector<std::int64_t> terminal_codes{};
  std::vector<std::int64_t> retryable_codes{};
};

// Returns the limits; bad values of annotations leave the setting as it is.
Limits limits_of(const Object& app, const FaultTolerance& settings);

// Returns warnings about annotations without their effect: invalid, unknown, or out of bounds
// (B-11).
std::vector<std::string> annotation_warnings(const Object& app, const FaultTolerance& settings);
// Returns those of them that tell of a malformed duration, limit or exit code (6.2).
std::vector<std::string> malformed_annotations(const Object& app, const FaultTolerance& settings);

// Returns true if a failed pod has a container whose exit code forbids a retry (6.3).
bool is_terminal(const std::vector<Object>& failed_pods, const Limits& limits);

}  // namespace athanor::appwrapper
