// SPDX-License-Identifier: Apache-2.0
// Reading of the annotations of section 6.2, and of exit codes (6.3).
#include "systems/appwrapper/model/fault_tolerance.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "systems/appwrapper/model/names.hpp"

namespace athanor::appwrapper {
namespace {

std::string full_name(std::string_view short_name) {
  return std::string(name::kAnnotationPrefix) + std::string(short_name);
}

const Value& raw(const Object& app, std::string_view short_name) {
  return app.metadata()["annotations"][full_name(short_name)];
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

std::optional<Duration> duration(const Object& app, std::string_view short_name) {
  const Value& text = raw(app, short_name);
  if (!text.is_string()) {
    return std::nullopt;
  }
  const auto parsed = parse_go_duration(text.as_string());
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The valid entries of a comma list; blanks around them do not count (B-14).
std::vector<std::int64_t> codes(std::string_view list, std::vector<std::string_view>* bad) {
  std::vector<std::int64_t> valid;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view entry = trimmed(list.substr(0, end));
    if (const auto code = integer(entry)) {
      valid.push_back(*code);
    } else if (bad != nullptr) {
      bad->push_back(entry);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return valid;
}

bool contains(const std::vector<std::int64_t>& list, std::int64_t code) {
  return std::ranges::find(list, code) != list.end();
}

// The annotations of periods that are kept within gracePeriodCeiling.
constexpr std::string_view kGraces[] = {
    annotation::kAdmissionGrace, annotation::kWarmupGrace,      annotation::kFailureGrace,
    annotation::kRetryPause,     annotation::kForcefulDeletion, annotation::kDeletionOnFailure};
constexpr std::string_view kOthers[] = {annotation::kRetryLimit,    annotation::kSuccessTtl,
                                        annotation::kTerminalCodes, annotation::kRetryableCodes,
                                        annotation::kGang,          annotation::kRetry};

class AnnotationCheck {
 public:
  AnnotationCheck(const Object& app, const FaultTolerance& settings)
      : app_(app), settings_(settings) {
    for (const std::string_view short_name : kGraces) {
      check_grace(short_name);
    }
    check_ttl();
    if (const Value& limit = raw(app_, annotation::kRetryLimit);
        !limit.is_null() && !integer(limit.as_string())) {
      warn_malformed(
          annotation::kRetryLimit,
          fmt::format("\"{}\" is not an integer; the default is used", limit.as_string()));
    }
    for (const std::string_view short_name :
         {annotation::kTerminalCodes, annotation::kRetryableCodes}) {
      std::vector<std::string_view> bad;
      codes(raw(app_, short_name).as_string(), &bad);
      for (const std::string_view entry : bad) {
        warn_malformed(short_name,
                       fmt::format("\"{}\" is not an integer; the entry is skipped", entry));
      }
    }
    const std::string_view gang = raw(app_, annotation::kGang).as_string();
    if (!gang.empty() && gang != "true" && gang != "false") {
      warn(annotation::kGang,
           fmt::format("\"{}\" is neither \"true\" nor \"false\"; no PodGroup is made", gang));
    }
    check_names();
  }

  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // Those of the warnings that tell of malformed values.
  [[nodiscard]] const std::vector<std::string>& malformed() const { return malformed_; }

 private:
  void warn(std::string_view short_name, std::string_view what) {
    warnings_.push_back(fmt::format("metadata.annotations[{}]: {}", full_name(short_name), what));
  }

  void warn_malformed(std::string_view short_name, std::string_view what) {
    warn(short_name, what);
    malformed_.push_back(warnings_.back());
  }

  // Returns the valid duration of an annotation, and warns of an invalid one.
  std::optional<Duration> check_duration(std::string_view short_name) {
    const Value& text = raw(app_, short_name);
    const auto valid = duration(app_, short_name);
    if (!text.is_null() && !valid) {
      warn_malformed(short_name, fmt::format("\"{}\" is not a duration; the default is used",
                                             text.as_string()));
    }
    return valid;
  }

  void check_grace(std::string_view short_name) {
    const auto given = check_duration(short_name);
    if (given && *given < Duration::zero()) {
      warn(short_name, fmt::format("{} is negative; 0s is used", format_go_duration(*given)));
    } else if (given && *given > settings_.grace_ceiling) {
      const std::string ceiling = format_go_duration(settings_.grace_ceiling);
      warn(short_name, fmt::format("{} is longer than gracePeriodCeiling; {} is used",
                                   format_go_duration(*given), ceiling));
    }
  }

  void check_ttl() {
    const auto given = check_duration(annotation::kSuccessTtl);
    if (given && (*given <= Duration::zero() || *given > settings_.success_ttl)) {
      const std::string ceiling = format_go_duration(settings_.success_ttl);
      warn(annotation::kSuccessTtl,
           fmt::format("{} is not between 0s and successTTLCeiling; {} is used",
                       format_go_duration(*given), ceiling));
    }
  }

  void check_names() {
    for (const Member& one : app_.metadata()["annotations"].members()) {
      std::string_view key = one.key();
      if (!key.starts_with(name::kAnnotationPrefix)) {
        continue;
      }
      key.remove_prefix(name::kAnnotationPrefix.size());
      if (std::ranges::find(kGraces, key) == std::end(kGraces) &&
          std::ranges::find(kOthers, key) == std::end(kOthers)) {
        warn(key, "is no annotation of AppWrappers, and ignored");
      }
    }
  }

  const Object& app_;
  const FaultTolerance& settings_;
  std::vector<std::string> warnings_{}, malformed_{};
};

}  // namespace

Limits limits_of(const Object& app, const FaultTolerance& settings) {
  const auto grace = [&](std::string_view short_name, Duration fallback) {
    return std::clamp(duration(app, short_name).value_or(fallback), Duration::zero(),
                      settings.grace_ceiling);
  };
  Limits limits{
      .admission_grace = grace(annotation::kAdmissionGrace, settings.admission_grace),
      .warmup_grace = grace(annotation::kWarmupGrace, settings.warmup_grace),
      .failure_grace = grace(annotation::kFailureGrace, settings.failure_grace),
      .retry_pause = grace(annotation::kRetryPause, settings.reset_pause),
      .forceful_deletion = grace(annotation::kForcefulDeletion, settings.deletion_grace),
      .deletion_on_failure = grace(annotation::kDeletionOnFailure, Duration::zero()),
      .success_ttl = settings.success_ttl,
      .retry_limit =
          integer(raw(app, annotation::kRetryLimit).as_string()).value_or(settings.retry_limit),
      .terminal_codes = codes(raw(app, annotation::kTerminalCodes).as_string(), nullptr),
      .retryable_codes = codes(raw(app, annotation::kRetryableCodes).as_string(), nullptr)};
  if (const auto ttl = duration(app, annotation::kSuccessTtl);
      ttl && *ttl > Duration::zero() && *ttl < settings.success_ttl) {
    limits.success_ttl = *ttl;
  }
  return limits;
}

std::vector<std::string> annotation_warnings(const Object& app, const FaultTolerance& settings) {
  return AnnotationCheck(app, settings).warnings();
}

std::vector<std::string> malformed_annotations(const Object& app, const FaultTolerance& settings) {
  return AnnotationCheck(app, settings).malformed();
}

bool is_terminal(const std::vector<Object>& failed_pods, const Limits& limits) {
  for (const Object& pod : failed_pods) {
    for (const Value& status : pod.status()["containerStatuses"].items()) {
      const std::int64_t code = status.at({"state", "terminated", "exitCode"}).as_int();
      if (code != 0 &&
          (contains(limits.terminal_codes, code) ||
           (!limits.retryable_codes.empty() && !contains(limits.retryable_codes, code)))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace athanor::appwrapper
