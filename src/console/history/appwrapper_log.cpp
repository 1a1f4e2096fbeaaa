// SPDX-License-Identifier: Apache-2.0
#include "console/history/appwrapper_log.hpp"

#include <utility>

#include "console/data/row_texts.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/names.hpp"

namespace athanor::console {
namespace {

// Returns the condition that says why the phase was entered: that of a fault, else the one that
// changed last.
const Value& explaining_condition(const Value& conditions) {
  static const Value kNone;
  const Value& fault = find_condition(conditions, appwrapper::condition::kUnhealthy);
  if (fault["status"].as_string() == "True") {
    return fault;
  }
  const Value* newest = &kNone;
  for (const Value& one : conditions.items()) {
    const std::string_view type = one["type"].as_string();
    if (type != appwrapper::condition::kPhaseChanged && type != appwrapper::condition::kRetried &&
        one["lastTransitionTime"].as_string() >= (*newest)["lastTransitionTime"].as_string()) {
      newest = &one;
    }
  }
  return *newest;
}

// Returns when the phase was entered: Athanor's controllers note it in a condition.
Instant entered_at(const Object& app, bool first_sight, Instant now) {
  const Value& conditions = app.status()["conditions"];
  const Value& noted = find_condition(conditions, appwrapper::condition::kPhaseChanged);
  const auto at = parse_time(noted["lastTransitionTime"].as_string());
  if (at && noted["reason"] == app.status()["phase"]) {
    return *at;
  }
  if (!first_sight) {
    return now;
  }
  const auto changed =
      parse_time(explaining_condition(conditions)["lastTransitionTime"].as_string());
  const auto created = parse_time(app.metadata()["creationTimestamp"].as_string());
  return changed.value_or(created.value_or(now));
}

}  // namespace

std::optional<Value> AppWrapperLog::see(const Object& app, Instant now) {
  const std::string phase = app.status()["phase"].str();
  Value record = Value::object({{"uid", app.uid()},
                                {"ns", app.ns()},
                                {"name", app.name()},
                                {"phase", phase.empty() ? "Empty" : phase},
                                {"retries", app.status()["resettingCount"].as_int()}});
  const auto known = last_.find(app.uid());
  if (known != last_.end() && is_same_transition(known->second, record)) {
    return std::nullopt;
  }
  last_.insert_or_assign(std::string(app.uid()), record);
  record.set("at", format_micro_time(entered_at(app, known == last_.end(), now)));
  const Value& why = explaining_condition(app.status()["conditions"]);
  set_text(record, "condition", why["type"].as_string());
  set_text(record, "reason", why["reason"].as_string());
  set_text(record, "message", why["message"].as_string());
  return record;
}

void AppWrapperLog::gone(const Object& app) {
  if (const auto known = last_.find(app.uid()); known != last_.end()) {
    last_.erase(known);
  }
}

bool is_same_transition(const Value& a, const Value& b) {
  return a["uid"] == b["uid"] && a["phase"] == b["phase"] && a["retries"] == b["retries"];
}

}  // namespace athanor::console
