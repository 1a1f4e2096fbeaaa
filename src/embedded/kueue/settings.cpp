// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "embedded/kueue/settings.hpp"

#include <algorithm>

#include "api/describe_ops.hpp"
#include "base/environment.hpp"

namespace athanor::kueue {
namespace {

constexpr std::int64_t kMostSeconds = 366LL * 24 * 3600;

Result<void> read_flag(const Environment& environment, std::string_view name, bool& into) {
  std::string text = into ? "true" : "false";
  ATHANOR_TRY_VOID(environment.choice(name, {"true", "false"}, text));
  into = text == "true";
  return {};
}

Result<void> read_duration(const Environment& environment, std::string_view name,
                           std::string& into) {
  const std::string* text = environment.given(name);
  if (text == nullptr) {
    return {};
  }
  const auto duration = parse_go_duration(*text);
  if (!duration.ok() || *duration <= Duration::zero() ||
      *duration > std::chrono::seconds(kMostSeconds)) {
    return refuse_setting(name, *text, "must be a duration above 0 and at most a year, as 30m");
  }
  into = *text;
  return {};
}

Duration duration_of(const std::string& text) {
  return parse_go_duration(text).value_or(std::chrono::minutes(30));
}

}  // namespace

Duration Settings::timeout() const {
  return duration_of(pods_ready_timeout);
}

Duration Settings::recovery_timeout() const {
  return duration_of(pods_ready_recovery_timeout);
}

Duration Settings::backoff(std::int64_t count) const {
  const Duration most = std::chrono::seconds(requeue_backoff_max_seconds);
  Duration pause = std::chrono::seconds(requeue_backoff_base_seconds);
  for (std::int64_t i = 1; i < count && pause < most; ++i) {
    pause *= 2;
  }
  return std::min(pause, most);
}

Result<Settings> parse_settings(const std::map<std::string, std::string>& environment) {
  const Environment variables(environment);
  Settings settings;
  bool block_admission = false;
  ATHANOR_TRY_VOID(read_flag(variables, "KUEUE_BLOCK_ADMISSION", block_admission));
  if (block_admission) {
    return refuse_setting("KUEUE_BLOCK_ADMISSION", "true",
                          "the embedded queueing admits Workloads without waiting for the pods of "
                          "others; only false is possible");
  }
  ATHANOR_TRY_VOID(read_flag(variables, "KUEUE_WAIT_FOR_PODS_READY", settings.wait_for_pods_ready));
  ATHANOR_TRY_VOID(
      read_duration(variables, "KUEUE_PODS_READY_TIMEOUT", settings.pods_ready_timeout));
  ATHANOR_TRY_VOID(read_duration(variables, "KUEUE_PODS_READY_RECOVERY_TIMEOUT",
                                 settings.pods_ready_recovery_timeout));
  constexpr std::string_view kSeconds = "must be a whole number of seconds from 1 to a year";
  ATHANOR_TRY_VOID(variables.whole("KUEUE_REQUEUE_BACKOFF_BASE_SECONDS", kMostSeconds, kSeconds,
                                   settings.requeue_backoff_base_seconds));
  ATHANOR_TRY_VOID(variables.whole("KUEUE_REQUEUE_BACKOFF_MAX_SECONDS", kMostSeconds, kSeconds,
                                   settings.requeue_backoff_max_seconds));
  ATHANOR_TRY_VOID(variables.whole("KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT", 1'000'000,
                                   "must be a whole number from 1 to 1000000",
                                   settings.requeue_backoff_limit_count));
  return settings;
}

}  // namespace athanor::kueue

namespace athanor::api {

const TypeInfo& Describe<kueue::Settings>::type() {
  using T = kueue::Settings;
  static const FieldInfo kFields[] = {
      field<&T::wait_for_pods_ready>("waitForPodsReady",
                                     "Whether an admitted Workload must become ready."),
      field<&T::pods_ready_timeout>("podsReadyTimeout", "How long it may take."),
      field<&T::pods_ready_recovery_timeout>("podsReadyRecoveryTimeout",
                                             "How long it may stay unready afterwards."),
      field<&T::requeue_backoff_base_seconds>("requeueBackoffBaseSeconds",
                                              "Pause after the first eviction."),
      field<&T::requeue_backoff_max_seconds>("requeueBackoffMaxSeconds", "Longest pause."),
      field<&T::requeue_backoff_limit_count>("requeueBackoffLimitCount",
                                             "Evictions before deactivation; 0: unlimited."),
  };
  static const TypeInfo kType{.name = "KueueSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
