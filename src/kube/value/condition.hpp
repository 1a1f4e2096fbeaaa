// SPDX-License-Identifier: Apache-2.0
// Conditions: the list under status.conditions, read and edited by type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor {

struct Condition {
  std::string type{};
  std::string status{};  // True, False, Unknown
  std::string reason{};
  std::string message{};
  std::optional<std::int64_t> observed_generation{};
};

// Returns the entry of that type, or Null.
const Value& find_condition(const Value& conditions, std::string_view type);
bool condition_is(const Value& conditions, std::string_view type, std::string_view status);

enum class ConditionOrder : std::uint8_t {
  InPlace,    // an existing entry keeps its place (the Kubernetes helper)
  MoveToEnd,  // the entry is removed and appended (Fournos, docs/spec/fournos.md R12.1)
};
// Sets one condition; lastTransitionTime moves only when status changes. Empty reason and message
// are left out.
void set_condition(Value& conditions, const Condition& condition, Instant now,
                   ConditionOrder order = ConditionOrder::InPlace);

}  // namespace athanor
