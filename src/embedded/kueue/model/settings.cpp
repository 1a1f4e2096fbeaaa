// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "embedded/kueue/model/settings.hpp"

#include <algorithm>

#include "api/describe_ops.hpp"
#include "api/kueue_configuration.hpp"
#include "base/environment.hpp"
#include "kube/text/json.hpp"

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

// As read_duration, with 0; an empty text means never.
Result<void> read_retention(const Environment& environment, std::string_view name,
                            std::string& into) {
  const std::string* text = environment.find(name);
  if (text == nullptr) {
    return {};
  }
  const auto duration = parse_go_duration(*text);
  if (!duration.ok() || *duration < Duration::zero() ||
      *duration > std::chrono::seconds(kMostSeconds)) {
    return refuse_setting(name, *text, "must be a duration of at most a year, as 168h, or empty");
  }
  into = *text;
  return {};
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (part.starts_with(' ')) {
      part.remove_prefix(1);
    }
    while (part.ends_with(' ')) {
      part.remove_suffix(1);
    }
    if (!part.empty()) {
      parts.emplace_back(part);
    }
  }
  return parts;
}

Result<void> read_strategies(const Environment& environment, std::vector<std::string>& into) {
  constexpr std::string_view kName = "KUEUE_PREEMPTION_STRATEGIES";
  const std::string* text = environment.find(kName);
  if (text == nullptr) {
    return {};
  }
  const std::vector<std::string> strategies = parts_of(*text);
  const std::vector<std::string> both{"LessThanOrEqualToFinalShare", "LessThanInitialShare"};
  const bool known = strategies == both || strategies == std::vector{both[0]} ||
                     strategies == std::vector{both[1]};
  if (!known) {
    return refuse_setting(kName, *text,
                          "must be LessThanOrEqualToFinalShare, LessThanInitialShare, or both in "
                          "this order, separated by a comma");
  }
  into = strategies;
  return {};
}

Result<void> read_transformations(const Environment& environment, Value& into) {
  constexpr std::string_view kName = "KUEUE_RESOURCE_TRANSFORMATIONS";
  const std::string* text = environment.find(kName);
  if (text == nullptr) {
    return {};
  }
  auto list = json::parse(*text);
  if (!list.ok()) {
    return refuse_setting(kName, *text, "must be a JSON list of {input, strategy, outputs}");
  }
  if (const std::string wrong = api::kueue::wrong_transformations(*list); !wrong.empty()) {
    return refuse_setting(kName, *text, wrong);
  }
  into = *std::move(list);
  return {};
}

std::optional<Duration> retention_of(const std::string& text) {
  const auto duration = parse_go_duration(text);
  return text.empty() || !duration.ok() ? std::nullopt : std::optional(*duration);
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

std::optional<Duration> Settings::keep_finished() const {
  return retention_of(retention_after_finished);
}

std::optional<Duration> Settings::keep_deactivated() const {
  return retention_of(retention_after_deactivated);
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
  ATHANOR_TRY_VOID(read_flag(variables, "KUEUE_BLOCK_ADMISSION", settings.block_admission));
  ATHANOR_TRY_VOID(read_flag(variables, "KUEUE_WAIT_FOR_PODS_READY", settings.wait_for_pods_ready));
  ATHANOR_TRY_VOID(
      read_duration(variables, "KUEUE_PODS_READY_TIMEOUT", settings.pods_ready_timeout));
  ATHANOR_TRY_VOID(read_duration(variables, "KUEUE_PODS_READY_RECOVERY_TIMEOUT",
                                 settings.pods_ready_recovery_timeout));
  constexpr std::string_view kLimitCount = "KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT";
  constexpr std::string_view kSeconds = "must be a whole number of seconds from 1 to a year";
  ATHANOR_TRY_VOID(variables.whole("KUEUE_REQUEUE_BACKOFF_BASE_SECONDS", kMostSeconds, kSeconds,
                                   settings.requeue_backoff_base_seconds));
  ATHANOR_TRY_VOID(variables.whole("KUEUE_REQUEUE_BACKOFF_MAX_SECONDS", kMostSeconds, kSeconds,
                                   settings.requeue_backoff_max_seconds));
  if (const auto* text = variables.find(kLimitCount); text != nullptr && *text == "0") {
    settings.requeue_backoff_limit_count = 0;
  } else {
    ATHANOR_TRY_VOID(variables.whole(kLimitCount, 1'000'000,
                                     "must be a whole number from 0 to 1000000",
                                     settings.requeue_backoff_limit_count));
  }
  ATHANOR_TRY_VOID(variables.choice("KUEUE_REQUEUE_TIMESTAMP", {"Eviction", "Creation"},
                                    settings.requeue_timestamp));
  ATHANOR_TRY_VOID(read_flag(variables, "KUEUE_FAIR_SHARING", settings.fair_sharing));
  ATHANOR_TRY_VOID(read_strategies(variables, settings.preemption_strategies));
  ATHANOR_TRY_VOID(variables.choice("KUEUE_ADMISSION_REASONS", {"legacy", "granular"},
                                    settings.admission_reasons));
  ATHANOR_TRY_VOID(variables.choice("KUEUE_FLAVOR_SELECTOR_KEYS", {"group", "flavor"},
                                    settings.flavor_selector_keys));
  if (const std::string* prefixes = variables.find("KUEUE_EXCLUDE_RESOURCE_PREFIXES")) {
    settings.exclude_resource_prefixes = parts_of(*prefixes);
  }
  ATHANOR_TRY_VOID(variables.choice("KUEUE_QUOTA_CHECK_STRATEGY",
                                    {"BlockUndeclared", "IgnoreUndeclared"},
                                    settings.quota_check_strategy));
  ATHANOR_TRY_VOID(read_transformations(variables, settings.resource_transformations));
  ATHANOR_TRY_VOID(read_retention(variables, "KUEUE_RETENTION_AFTER_FINISHED",
                                  settings.retention_after_finished));
  ATHANOR_TRY_VOID(read_retention(variables, "KUEUE_RETENTION_AFTER_DEACTIVATED",
                                  settings.retention_after_deactivated));
  return settings;
}

}  // namespace athanor::kueue

namespace athanor::api {

const TypeInfo& Describe<athanor::kueue::Settings>::type() {
  using T = athanor::kueue::Settings;
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
                                             "Evictions before deactivation; negative: unlimited."),
      field<&T::requeue_timestamp>("requeueTimestamp", "Place in the queue after a timeout."),
      field<&T::block_admission>("blockAdmission",
                                 "Whether admission waits until all admitted Workloads are ready."),
      field<&T::fair_sharing>("fairSharing", "Whether queues share by weight."),
      field<&T::preemption_strategies>("preemptionStrategies", "Of fair sharing, in order."),
      field<&T::admission_reasons>("admissionReasons", "Reasons of QuotaReserved False."),
      field<&T::flavor_selector_keys>("flavorSelectorKeys",
                                      "Whose labels a node selector is compared with."),
      field<&T::exclude_resource_prefixes>("excludeResourcePrefixes", "Resources left uncounted."),
      field<&T::resource_transformations>("resourceTransformations", "Resources counted as others.",
                                          {.preserve_unknown = true}),
      field<&T::quota_check_strategy>("quotaCheckStrategy",
                                      "Whether resources that no quota covers are ignored."),
      field<&T::partial_admission>("partialAdmission",
                                   "Whether fewer pods than asked for may run."),
      field<&T::retention_after_finished>("retentionAfterFinished",
                                          "When a finished Workload is deleted; empty: never."),
      field<&T::retention_after_deactivated>("retentionAfterDeactivated",
                                             "When one that was deactivated is; empty: never."),
  };
  static const TypeInfo kType{.name = "KueueSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
