// SPDX-License-Identifier: Apache-2.0
// Conditions of the operator's objects (docs/spec/numa.md 2.3): one of three states is true.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// State of an operator's object with the reason and message of its condition
// (docs/spec/numa.md 2.3).
struct State {
  enum class Kind : unsigned char { Available, Progressing, Degraded };
  Kind kind = Kind::Available;
  std::string reason{};
  std::string message{};

  static State available() { return {}; }
  static State progressing(std::string message) {
    return {Kind::Progressing, "Progressing", std::move(message)};
  }
  static State degraded(std::string reason, std::string message) {
    return {Kind::Degraded, std::move(reason), std::move(message)};
  }
};

// One more condition behind the four of the state. An empty status keeps what is there, and
// Unknown where nothing is.
struct ExtraCondition {
  std::string_view type{};
  std::string status{};
  std::string message{};
};

// Returns the whole list. lastTransitionTime moves only with the status of its condition.
Value conditions_of(const Object& object, const State& state, const ExtraCondition& extra,
                    Instant now);

}  // namespace athanor::numa
