// SPDX-License-Identifier: Apache-2.0
// Building condition lists.
#include "systems/numa/operator/conditions.hpp"

#include "kube/value/condition.hpp"

namespace athanor::numa {
namespace {

Value condition_of(const Object& object, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, Instant now) {
  const Value& known = find_condition(object.status()["conditions"], type);
  const bool same = known["status"].as_string() == status;
  Value condition =
      Value::object({{"type", type},
                     {"status", status},
                     {"lastTransitionTime", same && known.contains("lastTransitionTime")
                                                ? known["lastTransitionTime"]
                                                : Value(format_time(now))},
                     {"reason", reason},
                     {"message", message}});
  if (status == "True") {
    condition.set("observedGeneration", object.generation());
  } else if (same && known.contains("observedGeneration")) {
    condition.set("observedGeneration", known["observedGeneration"]);
  }
  return condition;
}

}  // namespace

Value conditions_of(const Object& object, const State& state, const ExtraCondition& extra,
                    Instant now) {
  Value list = Value::list();
  const auto add = [&](std::string_view type, bool holds, std::string_view reason,
                       std::string_view message) {
    list.push_back(condition_of(object, type, holds ? "True" : "False",
                                holds && !reason.empty() ? reason : type,
                                holds ? message : std::string_view(), now));
  };
  const bool available = state.kind == State::Kind::Available;
  add("Available", available, "", "");
  add("Upgradeable", available, "", "");
  add("Progressing", state.kind == State::Kind::Progressing, state.reason, state.message);
  add("Degraded", state.kind == State::Kind::Degraded, state.reason, state.message);
  const Value& known = find_condition(object.status()["conditions"], extra.type);
  if (!extra.status.empty()) {
    list.push_back(condition_of(object, extra.type, extra.status, extra.type, extra.message, now));
  } else if (!known.is_null()) {
    list.push_back(known);
  } else {
    list.push_back(condition_of(object, extra.type, "Unknown", extra.type, "", now));
  }
  return list;
}

}  // namespace athanor::numa
