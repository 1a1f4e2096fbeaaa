// SPDX-License-Identifier: Apache-2.0
#include "cli/describe/goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/ascii.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/usage.hpp"
#include "views/appwrapper_view.hpp"
#include "views/job_view.hpp"
#include "views/reasons.hpp"

namespace athanor::cli {
namespace {

std::string phase_of(views::Subject kind, const Object& object) {
  const Value& conditions = object.status()["conditions"];
  switch (kind) {
    case views::Subject::Cluster:
      return object.status()["kubeconfigStatus"].str();
    case views::Subject::Queue:
      return condition_is(conditions, "Active", "True") ? "Active" : "Inactive";
    case views::Subject::Workload:
      return condition_is(conditions, "Finished", "True")        ? "Finished"
             : condition_is(conditions, "Admitted", "True")      ? "Admitted"
             : condition_is(conditions, "QuotaReserved", "True") ? "QuotaReserved"
                                                                 : "Pending";
    case views::Subject::Job:
    case views::Subject::AppWrapper:
    case views::Subject::Slices:
    case views::Subject::Zones:
    case views::Subject::Schedule:
      break;
  }
  return object.status()["phase"].str();
}

// The phases that objects of a kind may have; empty: unknown.
std::vector<std::string> phases_of(views::Subject kind) {
  switch (kind) {
    case views::Subject::Cluster:
      return {"Valid", "Missing", "Invalid", "Unreachable"};
    case views::Subject::Queue:
      return {"Active", "Inactive"};
    case views::Subject::Workload:
      return {"Pending", "QuotaReserved", "Admitted", "Finished"};
    case views::Subject::Job:
      return views::job_phases();
    case views::Subject::AppWrapper:
      return views::appwrapper_phases();
    case views::Subject::Slices:
    case views::Subject::Zones:
    case views::Subject::Schedule:
      break;
  }
  return {};
}

// The end of an object and whether it is a good one; nullopt: it goes on.
std::optional<GoalOutcome> end_of_object(views::Subject kind, const Object& object) {
  const std::string phase = phase_of(kind, object);
  const std::string message = views::clear_reason(object.status()["message"].as_string());
  const std::string text = "is " + views::state_text(phase, message);
  const bool good = phase == "Succeeded" || phase == "Finished";
  const bool bad = phase == "Failed" || phase == "Stopped";
  switch (kind) {
    case views::Subject::Cluster:
      return phase == "Valid" ? std::optional(GoalOutcome{.code = 0, .text = "is Valid"})
                              : std::nullopt;
    case views::Subject::Queue:
      return phase == "Active" ? std::optional(GoalOutcome{.code = 0, .text = "is Active"})
                               : std::nullopt;
    case views::Subject::Job:
    case views::Subject::AppWrapper:
    case views::Subject::Workload:
    case views::Subject::Slices:
    case views::Subject::Zones:
    case views::Subject::Schedule:
      break;
  }
  return good || bad ? std::optional(GoalOutcome{.code = good ? 0 : 1, .text = text})
                     : std::nullopt;
}

}  // namespace

Result<Goal> parse_goal(std::string_view text) {
  constexpr std::string_view kPhase = "phase=";
  constexpr std::string_view kCondition = "condition=";
  if (text.empty()) {
    return Goal{};
  }
  if (text == "delete") {
    return Goal{.type = Goal::Type::Deletion};
  }
  if (text.starts_with(kPhase) && text.size() > kPhase.size()) {
    return Goal{.type = Goal::Type::Phase, .name = std::string(text.substr(kPhase.size()))};
  }
  if (text.starts_with(kCondition) && text.size() > kCondition.size()) {
    const std::string_view rest = text.substr(kCondition.size());
    const std::size_t equals = rest.find('=');
    return Goal{
        .type = Goal::Type::Condition,
        .name = std::string(rest.substr(0, equals)),
        .value = equals == std::string_view::npos ? "True" : std::string(rest.substr(equals + 1))};
  }
  return wrong_usage(
      fmt::format("--for {}: write phase=PHASE, condition=TYPE[=STATUS] or delete", text));
}

Result<void> check_phase(const Goal& goal, views::Subject kind) {
  const std::vector<std::string> known = phases_of(kind);
  const auto is_wanted = [&](const std::string& phase) { return lower(phase) == lower(goal.name); };
  if (goal.type != Goal::Type::Phase || known.empty() || std::ranges::any_of(known, is_wanted)) {
    return {};
  }
  return wrong_usage(fmt::format("--for phase={}: no such phase; known are {}", goal.name,
                                 fmt::join(known, ", ")));
}

bool never_comes(const Goal& goal, views::Subject kind, const Object& object) {
  if (kind != views::Subject::Job || object.status()["phase"].as_string() != "Recurring") {
    return false;
  }
  const std::string wanted = lower(goal.name);
  return goal.type == Goal::Type::End ||
         (goal.type == Goal::Type::Phase && wanted != "failed" && wanted != "stopped");
}

std::string goal_text(const Goal& goal) {
  switch (goal.type) {
    case Goal::Type::End:
      return "over";
    case Goal::Type::Phase:
      return "in phase " + goal.name;
    case Goal::Type::Condition:
      return fmt::format("{}={}", goal.name, goal.value);
    case Goal::Type::Deletion:
      break;
  }
  return "deleted";
}

std::optional<GoalOutcome> outcome_of(const Goal& goal, views::Subject kind, const Object& object) {
  if (goal.type == Goal::Type::End) {
    return end_of_object(kind, object);
  }
  const bool reached =
      (goal.type == Goal::Type::Phase && lower(phase_of(kind, object)) == lower(goal.name)) ||
      (goal.type == Goal::Type::Condition &&
       lower(find_condition(object.status()["conditions"], goal.name)["status"].as_string()) ==
           lower(goal.value));
  if (reached) {
    return GoalOutcome{.code = 0, .text = "is " + goal_text(goal)};
  }
  // An object that has ended reaches no further phase.
  const bool ends = kind == views::Subject::Job || kind == views::Subject::AppWrapper ||
                    kind == views::Subject::Workload;
  auto end = ends && goal.type != Goal::Type::Deletion ? end_of_object(kind, object) : std::nullopt;
  if (end) {
    end->code = 1;
  }
  return end;
}

}  // namespace athanor::cli
