// SPDX-License-Identifier: Apache-2.0
// No-op suppression. When in doubt a step is sent: the server knows better.
#include "runtime/engine/model/suppress.hpp"

#include <algorithm>

#include "kube/apply/patch.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

namespace {

std::string about(const Ref& ref) {
  return std::string(ref.kind->plural) + " \"" + ref.key.name + "\"";
}

// A guard that does not hold against what is already known will not hold at the server either.
std::optional<Error> refused(const Ref& ref, const Guard& guard, const Object& object) {
  if (!guard.uid.empty() && guard.uid != object.uid()) {
    return Error::conflict(about(ref) + ": uid is " + std::string(object.uid()) + ", not " +
                           guard.uid);
  }
  return std::nullopt;
}

bool has_list(const Value& value) {
  if (value.is_list()) {
    return true;
  }
  const auto members = value.members();
  return std::any_of(members.begin(), members.end(),
                     [](const Member& member) { return has_list(member.value); });
}

}  // namespace

bool covers(const Value& live, const Value& fields) {
  if (fields.is_object()) {
    const auto members = fields.members();
    return live.is_object() && std::all_of(members.begin(), members.end(), [&](const Member& one) {
             const Value* there = live.find(one.key());
             return there != nullptr && covers(*there, one.value);
           });
  }
  if (!fields.is_list()) {
    return live == fields;
  }
  const auto wanted = fields.items();
  const auto present = live.items();
  if (!live.is_list() || present.size() < wanted.size()) {
    return false;
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](const Value& item) {
    return std::any_of(present.begin(), present.end(),
                       [&](const Value& there) { return covers(there, item); });
  });
}

Outcome resolve(const Apply& step, const Known& known, const Value* last_fields) {
  if (known.newest != nullptr && last_fields != nullptr && *last_fields == step.fields &&
      covers(known.newest->body(), step.fields)) {
    return Nothing{};
  }
  return request_for(step);
}

Outcome resolve(const Create& step, const Known& known) {
  if (known.newest == nullptr || step.target.key.name.empty()) {
    return request_for(step);
  }
  const auto owner = Object(step.object).controller();
  const auto current = known.newest->controller();
  if (!owner || (current && current->uid == owner->uid)) {
    return Nothing{};
  }
  return Error{.code = 409,
               .reason = "AlreadyExists",
               .message = about(step.target) + " already exists and has another owner"};
}

Outcome resolve(const Patch& step, const Known& known) {
  if (known.newest != nullptr) {
    if (auto error = refused(step.target, step.guard, *known.newest)) {
      return *std::move(error);
    }
    // An empty patch with a version checks that the object is still the one that was read.
    const bool checks = step.merge.empty() && !step.guard.resource_version.empty();
    if (!checks && apply_merge_patch(known.newest->body(), step.merge) == known.newest->body()) {
      return Nothing{};
    }
  }
  return request_for(step);
}

Outcome resolve(const Status& step, const Known& known) {
  if (known.newest == nullptr) {
    return step.applied_as.empty() ? status_request(step, step.status, step.guard)
                                   : applied_status_request(step, step.guard);
  }
  const Object& base = *known.newest;
  if (auto error = refused(step.target, step.guard, base)) {
    return *std::move(error);
  }
  const Value wanted = wanted_status(base.status(), step.status);
  const Value current = base.status().is_object() ? base.status() : Value::object();
  const Value patch = make_merge_patch(current, wanted);
  if (patch.is_null() || patch.empty()) {
    return Nothing{};
  }
  Guard guard = step.guard;
  const bool verdict = patch.contains("phase") || patch.contains("message");
  if (guard.resource_version.empty() && (verdict || has_list(patch))) {
    // A list is replaced whole, and a verdict on an old state must not replace a later one: no
    // writer may have changed the status since the plan's view. A write of this very plan moves the
    // version on; it counts as seen when it left the status as the view had it.
    const Object* seen = known.viewed != nullptr ? known.viewed : known.cached;
    const bool own = seen == nullptr || seen->status() == base.status();
    guard.resource_version = (own ? base : *seen).resource_version();
  }
  return step.applied_as.empty() ? status_request(step, patch, guard)
                                 : applied_status_request(step, guard);
}

Outcome resolve(const Replace& step, const Known& known) {
  if (known.newest != nullptr) {
    const Value& body = known.newest->body();
    if (step.subresource == "binding" &&
        body["spec"]["nodeName"] == step.object["target"]["name"]) {
      return Nothing{};
    }
    if (step.subresource.empty() && body == step.object) {
      return Nothing{};
    }
  }
  return request_for(step);
}

Outcome resolve(const Delete& step, const Known& known) {
  if (known.newest == nullptr) {
    return known.watched ? Outcome(Nothing{}) : Outcome(request_for(step));
  }
  if (auto error = refused(step.target, step.guard, *known.newest)) {
    return *std::move(error);
  }
  const Value& metadata = known.newest->metadata();
  const bool sooner =
      step.grace_seconds && *step.grace_seconds < metadata["deletionGracePeriodSeconds"].as_int();
  // Deleting with nothing that holds it but time: a delete with no grace ends it.
  const bool ends =
      step.grace_seconds && *step.grace_seconds == 0 && metadata["finalizers"].empty();
  if (known.newest->deleting() && !sooner && !ends) {
    return Nothing{};
  }
  return request_for(step);
}

}  // namespace athanor::runtime
