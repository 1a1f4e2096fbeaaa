// SPDX-License-Identifier: Apache-2.0
// Finding and setting conditions.
#include "kube/value/condition.hpp"

#include <algorithm>

namespace athanor {
namespace {

const Value& absent_value() {
  static const Value kNull;
  return kNull;
}

bool has_type(const Value& condition, std::string_view type) {
  return condition["type"].is_string() && condition["type"].as_string() == type;
}

void set_or_erase(Value& entry, std::string_view field, const std::string& text) {
  if (text.empty()) {
    entry.erase(field);
  } else {
    entry.set(field, text);
  }
}

// The entry with the wanted contents; fields that no Condition has are kept.
Value updated(const Value& old, const Condition& condition, Instant now) {
  Value entry = old.is_object() ? old : Value::object();
  const bool changed = entry["status"].as_string() != condition.status;
  entry.set("type", condition.type);
  entry.set("status", condition.status);
  if (condition.observed_generation) {
    entry.set("observedGeneration", *condition.observed_generation);
  } else {
    entry.erase("observedGeneration");
  }
  if (changed || !entry["lastTransitionTime"].is_string()) {
    entry.set("lastTransitionTime", format_time(now));
  }
  set_or_erase(entry, "reason", condition.reason);
  set_or_erase(entry, "message", condition.message);
  return entry;
}

}  // namespace

const Value& find_condition(const Value& conditions, std::string_view type) {
  for (const Value& condition : conditions.items()) {
    if (has_type(condition, type)) {
      return condition;
    }
  }
  return absent_value();
}

bool condition_is(const Value& conditions, std::string_view type, std::string_view status) {
  const Value& condition = find_condition(conditions, type);
  return condition.is_object() && condition["status"].as_string() == status;
}

void set_condition(Value& conditions, const Condition& condition, Instant now,
                   ConditionOrder order) {
  if (!conditions.is_list()) {
    conditions = Value::list();
  }
  const auto items = conditions.items();
  const auto found = std::ranges::find_if(
      items, [&](const Value& item) { return has_type(item, condition.type); });
  if (found == items.end()) {
    conditions.push_back(updated(Value(), condition, now));
    return;
  }
  const auto index = static_cast<std::size_t>(found - items.begin());
  Value entry = updated(*found, condition, now);
  if (order == ConditionOrder::InPlace) {
    conditions.item(index) = std::move(entry);
  } else {
    conditions.erase_item(index);
    conditions.push_back(std::move(entry));
  }
}

}  // namespace athanor
