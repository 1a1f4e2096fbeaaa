// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/jobs/job_policies.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace athanor::workloads {
namespace {

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<std::int64_t>(number, 0);
}

// The container whose exit code matches.
const Value* find_exit(const Value& rule, const Object& pod) {
  const std::string_view wanted = rule["containerName"].as_string();
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& status : pod.status()[list].items()) {
      const Value& terminated = status["state"]["terminated"];
      if (!terminated.is_object() || terminated["exitCode"].as_int() == 0 ||
          (!wanted.empty() && wanted != status["name"].as_string())) {
        continue;
      }
      const auto values = rule["values"].items();
      const bool listed = std::ranges::find(values, terminated["exitCode"]) != values.end();
      if (listed == (rule["operator"].as_string() == "In")) {
        return &status;
      }
    }
  }
  return nullptr;
}

const Value* find_pod_condition(const Value& patterns, const Object& pod) {
  for (const Value& condition : pod.status()["conditions"].items()) {
    const bool matches = std::ranges::any_of(patterns.items(), [&](const Value& pattern) {
      const std::string_view status = pattern["status"].as_string();
      return pattern["type"] == condition["type"] &&
             condition["status"].as_string() == (status.empty() ? "True" : status);
    });
    if (matches) {
      return &condition;
    }
  }
  return nullptr;
}

FailureAction action_of(std::string_view text) {
  return text == "FailJob"     ? FailureAction::FailJob
         : text == "Ignore"    ? FailureAction::Ignore
         : text == "FailIndex" ? FailureAction::FailIndex
                               : FailureAction::Count;
}

}  // namespace

FailureVerdict judge_failure(const Object& job, const Object& pod) {
  const Value& rules = job.spec()["podFailurePolicy"]["rules"];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules[i];
    const std::string_view action = rule["action"].as_string();
    if (rule["onExitCodes"].is_object()) {
      if (const Value* status = find_exit(rule["onExitCodes"], pod)) {
        return {.action = action_of(action),
                .message = fmt::format(
                    "Container {} for pod {}/{} failed with exit code {} matching {} rule at "
                    "index {}",
                    (*status)["name"].as_string(), pod.ns(), pod.name(),
                    status->at({"state", "terminated", "exitCode"}).as_int(), action, i)};
      }
    } else if (const Value* condition = find_pod_condition(rule["onPodConditions"], pod)) {
      return {.action = action_of(action),
              .message =
                  fmt::format("Pod {}/{} has condition {} matching {} rule at index {}", pod.ns(),
                              pod.name(), (*condition)["type"].as_string(), action, i)};
    }
  }
  return {};
}

std::optional<std::string> success_rule_met(const Object& job, const Indexes& completed) {
  const Value& rules = job.spec()["successPolicy"]["rules"];
  const std::int64_t completions = job.spec()["completions"].as_int();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules[i];
    std::int64_t met = static_cast<std::int64_t>(completed.size());
    std::int64_t needed = rule["succeededCount"].as_int();
    if (rule.contains("succeededIndexes")) {
      const Indexes wanted = parse_indexes(rule["succeededIndexes"].as_string(), completions);
      met = std::ranges::count_if(wanted,
                                  [&](std::int64_t index) { return completed.contains(index); });
      needed = rule["succeededCount"].as_int(static_cast<std::int64_t>(wanted.size()));
    }
    if (met >= needed) {
      return fmt::format("Matched rules at index {}", i);
    }
  }
  return std::nullopt;
}

std::int64_t failures_before(const Object& pod) {
  return number_of(pod.annotation(kFailureCountKey));
}

std::int64_t ignored_before(const Object& pod) {
  return number_of(pod.annotation(kIgnoredCountKey));
}

bool fails_index(const Object& job, const Object& pod) {
  const FailureAction action = judge_failure(job, pod).action;
  return action == FailureAction::FailIndex ||
         (action != FailureAction::Ignore &&
          failures_before(pod) >= job.spec()["backoffLimitPerIndex"].as_int());
}

}  // namespace athanor::workloads
