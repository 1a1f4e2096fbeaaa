// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/sets/start_failures.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr Duration kFirstWait = std::chrono::seconds(10);
constexpr Duration kMostWait = std::chrono::minutes(5);

constexpr const char* kStatusLists[] = {"initContainerStatuses", "containerStatuses",
                                        "ephemeralContainerStatuses"};

Instant made_at(const Object& pod) {
  return pod.creation_time().value_or(Instant{});
}

// Returns the latest time that the status names, at least that of the pod's creation.
Instant failure_time(const Object& pod) {
  Instant latest = made_at(pod);
  const auto take = [&latest](const Value& text) {
    if (const auto time = parse_time(text.as_string())) {
      latest = std::max(latest, *time);
    }
  };
  take(pod.status()["startTime"]);
  for (const Value& condition : pod.status()["conditions"].items()) {
    take(condition["lastTransitionTime"]);
  }
  for (const char* list : kStatusLists) {
    for (const Value& status : pod.status()[list].items()) {
      take(status.at({"state", "terminated", "finishedAt"}));
    }
  }
  return latest;
}

}  // namespace

bool has_started(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  if (phase == "Running" || phase == "Succeeded") {
    return true;
  }
  return std::ranges::any_of(kStatusLists, [&](const char* list) {
    return std::ranges::any_of(pod.status()[list].items(), [](const Value& status) {
      return status["state"].contains("running") || status["restartCount"].as_int() > 0 ||
             !status.at({"state", "terminated", "startedAt"}).as_string().empty() ||
             !status.at({"lastState", "terminated", "startedAt"}).as_string().empty();
    });
  });
}

bool failed_to_start(const Object& pod) {
  return pod.status()["phase"].as_string() == "Failed" && !has_started(pod);
}

std::string start_failure_text(const Object& pod) {
  const std::string_view reason = pod.status()["reason"].as_string();
  const std::string_view message = pod.status()["message"].as_string();
  return fmt::format("{}{}{}", reason.empty() ? "no reason given" : reason,
                     message.empty() ? "" : ": ", message);
}

Instant replacement_due(Instant since, Instant failed) {
  return failed + std::clamp(failed - since, kFirstWait, kMostWait);
}

std::optional<StartTrouble> start_trouble(const std::vector<Object>& pods) {
  std::optional<Instant> started;  // when the newest pod that has started was made
  for (const Object& pod : pods) {
    if (has_started(pod)) {
      started = std::max(started.value_or(made_at(pod)), made_at(pod));
    }
  }
  std::optional<Instant> since;
  const Object* latest = nullptr;
  for (const Object& pod : pods) {
    if (!failed_to_start(pod) || (started && made_at(pod) <= *started)) {
      continue;
    }
    since = std::min(since.value_or(made_at(pod)), made_at(pod));
    if (latest == nullptr || failure_time(pod) > failure_time(*latest)) {
      latest = &pod;
    }
  }
  if (latest == nullptr) {
    return std::nullopt;
  }
  return StartTrouble{.due = replacement_due(*since, failure_time(*latest)),
                      .cause = start_failure_text(*latest)};
}

Instant removal_due(const Value& conditions, const Object& failed) {
  const Value& condition = find_condition(conditions, kStartFailure);
  const auto since = parse_time(condition["lastTransitionTime"].as_string());
  const Instant at = failure_time(failed);
  return replacement_due(since ? std::min(*since, at) : made_at(failed), at);
}

void note_start_failure(Value& conditions, const Object* failed, bool all_started, Instant now) {
  const bool noted = condition_is(conditions, kStartFailure, "True");
  if (failed != nullptr && !noted) {
    set_condition(conditions,
                  {.type = kStartFailure,
                   .status = "True",
                   .reason = "FailedBeforeStart",
                   .message = fmt::format("pods fail before a container starts ({}); their "
                                          "replacements wait 10 s to 5 min",
                                          start_failure_text(*failed))},
                  now);
  } else if (failed == nullptr && noted && all_started) {
    Value rest = Value::list();
    for (const Value& condition : conditions.items()) {
      if (condition["type"].as_string() != kStartFailure) {
        rest.push_back(condition);
      }
    }
    conditions = rest.empty() ? Value() : rest;
  }
}

}  // namespace athanor::workloads
