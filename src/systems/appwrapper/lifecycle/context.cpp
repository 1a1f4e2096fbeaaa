// SPDX-License-Identifier: Apache-2.0
// Conditions of AppWrappers and their components.
#include "systems/appwrapper/lifecycle/context.hpp"

#include <algorithm>

#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

namespace athanor::appwrapper {
namespace {

struct Entry {
  std::string_view type{}, status{}, reason{}, message{};
};

// Unlike set_condition() it keeps an empty message, which the schema requires. The time moves with
// the status alone.
void set_entry(Value& conditions, const Entry& entry, Instant now) {
  if (!conditions.is_list()) {
    conditions = Value::list();
  }
  const auto items = conditions.items();
  const auto at = std::ranges::find_if(
      items, [&](const Value& item) { return item["type"].as_string() == entry.type; });
  const auto index = static_cast<std::size_t>(at - items.begin());
  const bool found = at != items.end();
  const std::string time = found && (*at)["status"].as_string() == entry.status
                               ? (*at)["lastTransitionTime"].str()
                               : format_time(now);
  Value condition = found ? *at : Value::object({{"type", entry.type}});
  condition.set("status", entry.status);
  condition.set("lastTransitionTime", time);
  condition.set("reason", entry.reason);
  condition.set("message", entry.message);
  if (found) {
    conditions.item(index) = std::move(condition);
  } else {
    conditions.push_back(std::move(condition));
  }
}

Value initial_components(const Context& context) {
  const Value& known = context.object().status()["componentStatus"];
  if (known.size() == context.app.spec.components.size()) {
    return known.is_list() ? known : Value::list();
  }
  Value components = Value::list();
  for (const auto& pod_sets : context.pod_sets) {
    components.push_back(Value::object(
        {{"name", ""}, {"kind", ""}, {"apiVersion", ""}, {"podSets", to_value(pod_sets)}}));
  }
  return components;
}

}  // namespace

bool Context::is(std::string_view type) const {
  return condition_is(app.status.conditions, type, "True");
}

std::optional<Instant> Context::changed_at(std::string_view type) const {
  return parse_time(find_condition(app.status.conditions, type)["lastTransitionTime"].as_string());
}

Instant Context::entered(std::string_view otherwise) const {
  const Value& changed = find_condition(app.status.conditions, condition::kPhaseChanged);
  if (changed["reason"].as_string() == app.status.phase) {
    if (const auto at = parse_time(changed["lastTransitionTime"].as_string())) {
      return *at;
    }
  }
  return changed_at(otherwise).value_or(now);
}

Emit Context::event(std::string_view reason, std::string note) const {
  return {.about = ref(),
          .about_uid = std::string(object().uid()),
          .reason = std::string(reason),
          .note = std::move(note)};
}

StatusEdit::StatusEdit(const Context& context)
    : context_(context),
      conditions_(context.app.status.conditions),
      components_(initial_components(context)),
      phase_(context.app.status.phase),
      resetting_count_(context.app.status.resetting_count) {}

StatusEdit& StatusEdit::enter(std::string_view phase) {
  phase_ = phase;
  // The one condition whose time moves without its status. It keeps fractions of a second: the
  // phase Resuming is held for 100 ms.
  Value kept = Value::list();
  for (const Value& condition : conditions_.items()) {
    if (condition["type"].as_string() != condition::kPhaseChanged) {
      kept.push_back(condition);
    }
  }
  kept.push_back(Value::object({{"type", condition::kPhaseChanged},
                                {"status", "True"},
                                {"lastTransitionTime", format_micro_time(context_.now)},
                                {"reason", phase},
                                {"message", ""}}));
  conditions_ = std::move(kept);
  return *this;
}

StatusEdit& StatusEdit::set(std::string_view type, bool truth, std::string_view reason,
                            std::string_view message) {
  set_entry(
      conditions_,
      {.type = type, .status = truth ? "True" : "False", .reason = reason, .message = message},
      context_.now);
  return *this;
}

StatusEdit& StatusEdit::clear(std::string_view type, std::string_view reason,
                              std::string_view message) {
  return is(type) ? set(type, false, reason, message) : *this;
}

StatusEdit& StatusEdit::count_reset(std::int64_t by) {
  resetting_count_ += by;
  return *this;
}

StatusEdit& StatusEdit::forget() {
  resetting_count_ = 0;
  for (std::size_t i = 0; i < components_.size(); ++i) {
    identify(i, "", "", "");
    components_.item(i).erase("conditions");
  }
  return *this;
}

StatusEdit& StatusEdit::component(std::size_t index, std::string_view status,
                                  std::string_view reason, std::string_view message) {
  set_entry(components_.item(index).member("conditions"),
            {.type = condition::kResourcesDeployed,
             .status = status,
             .reason = reason,
             .message = message},
            context_.now);
  return *this;
}

StatusEdit& StatusEdit::identify(std::size_t index, std::string_view name, std::string_view kind,
                                 std::string_view api_version) {
  Value& entry = components_.item(index);
  entry.set("name", name);
  entry.set("kind", kind);
  entry.set("apiVersion", api_version);
  return *this;
}

const Value& StatusEdit::component_condition(std::size_t index) const {
  return find_condition(components_[index]["conditions"], condition::kResourcesDeployed);
}

std::string_view StatusEdit::component_name(std::size_t index) const {
  return components_[index]["name"].as_string();
}

bool StatusEdit::is(std::string_view type) const {
  return condition_is(conditions_, type, "True");
}

Status StatusEdit::step() const {
  Value status = Value::object({{"phase", phase_}, {"componentStatus", components_}});
  if (conditions_.is_list()) {
    status.set("conditions", conditions_);
  }
  if (resetting_count_ != 0 || context_.object().status().contains("resettingCount")) {
    status.set("resettingCount", resetting_count_);
  }
  return {.target = context_.ref(),
          .status = std::move(status),
          .guard = {.uid = std::string(context_.object().uid())}};
}

}  // namespace athanor::appwrapper
