// SPDX-License-Identifier: Apache-2.0
// Goal: what `athanor wait` waits for, and whether an object has it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "views/subjects.hpp"

namespace athanor::cli {

// Read from --for.
struct Goal {
  enum class Type : std::uint8_t { End, Phase, Condition, Deletion };
  Type type = Type::End;
  std::string name{};   // the phase, or the condition's type
  std::string value{};  // the condition's status
};
// The outcome of waiting for an object.
struct GoalOutcome {
  int code = 0;  // exit code: 0 reached, 1 it ended otherwise
  std::string text{};
};

// Reads "phase=P", "condition=TYPE[=STATUS]", "delete", or nothing: the end. Errors: wrong usage.
Result<Goal> parse_goal(std::string_view text);
// Returns "phase Running", for messages.
std::string goal_text(const Goal& goal);

// Checks that objects of the kind have the phase that is waited for. Errors: wrong usage.
Result<void> check_phase(const Goal& goal, views::Subject kind);
// Returns true for a job that only starts others and never has the wanted phase or end itself.
bool never_comes(const Goal& goal, views::Subject kind, const Object& object);

// Judges an object; nullopt: not yet. An object that ended without reaching the goal fails at once.
std::optional<GoalOutcome> outcome_of(const Goal& goal, views::Subject kind, const Object& object);

}  // namespace athanor::cli
