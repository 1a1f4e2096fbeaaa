// SPDX-License-Identifier: Apache-2.0
// metadata.managedFields of creates, updates and patches. Apply: server_side_apply.cpp.
#include "kube/apply/managed_fields.hpp"

#include <utility>

#include "kube/apply/managed_changes.hpp"
#include "kube/apply/managed_entry.hpp"

namespace athanor {

namespace {

using managed::Entries;
using managed::Entry;

constexpr std::size_t kMaxManagerBytes = 128;

// What the request starts from: the stored entries, or those it brought itself.
struct Start {
  Entries entries{};
  bool as_stored = true;  // the same list as in the live object
  bool tracked = true;    // a manager was named, if in an unknown version
};

bool is_reset(const Value& requested) {
  return requested.is_list() &&
         (requested.empty() ||
          (requested.size() == 1 && requested[0].is_object() && requested[0].empty()));
}

Start start_of(const Value& stored, const Value& requested, const FieldManagement& by) {
  if (is_reset(requested)) {
    return {.entries = {}, .as_stored = stored.is_null(), .tracked = false};
  }
  if (!requested.is_null() && requested != stored) {
    if (std::optional<Entries> entries = managed::read_requested(requested, by);
        entries && !entries->empty()) {
      return {.entries = *std::move(entries), .as_stored = false, .tracked = true};
    }
  }
  Entries entries = managed::read_stored(stored, by);
  const bool complete = entries.size() == stored.size();
  return {.entries = std::move(entries), .as_stored = complete, .tracked = !stored.empty()};
}

FieldSet set_by(const FieldChanges& changes) {
  return changes.modified.empty() ? changes.added : changes.added.united(changes.modified);
}

// What the write set goes to its manager; what it removed loses its owners.
void attribute(Entries& entries, const FieldChanges& changes, managed::VersionedChanges versions,
               const FieldManagement& by) {
  const FieldSet set = set_by(changes);
  for (Entry& entry : entries) {
    const FieldChanges& there = versions.in(entry.api_version.as_string());
    entry.set_fields(fields_v1::minus(entry.fields, there.removed));
    if (!managed::is_entry_of(entry, by, managed::kUpdate)) {
      entry.set_fields(fields_v1::minus(entry.fields, &there == &changes ? set : set_by(there)));
    }
  }
  if (!set.empty()) {
    Entry& own = managed::entry_of(entries, by, managed::kUpdate);
    own.set_fields(fields_v1::plus(own.fields, set));
    managed::stamp(own, by);
  }
}

}  // namespace

Value update_managed_fields(const Value& live, Value object, const FieldManagement& by) {
  const Value& stored = live["metadata"]["managedFields"];
  Start start;
  if (!live.is_null()) {
    // A subresource cannot set them.
    start =
        start_of(stored, by.subresource.empty() ? object["metadata"]["managedFields"] : stored, by);
    if (!start.tracked) {
      return managed::with_list(std::move(object), Value());
    }
  }
  FieldChanges changes = compare_fields(live, object, by.schema);
  if (changes.keyless) {
    return managed::with_list(std::move(object), Value());
  }
  managed::leave_out(changes, by.reset_fields);
  if (changes.empty() && start.as_stored) {
    return managed::with_list(std::move(object), stored);
  }
  attribute(start.entries, changes, {live, object, changes, by}, by);
  return managed::with_list(std::move(object), managed::print(std::move(start.entries)));
}

bool has_twin_managers(const Value& object) {
  const Value& stored = object["metadata"]["managedFields"];
  return stored.size() > 1 && managed::read_stored(stored, {}).size() != stored.size();
}

std::string manager_of_user_agent(std::string_view user_agent) {
  const std::string_view name =
      user_agent.substr(0, user_agent.find('/')).substr(0, kMaxManagerBytes);
  return name.empty() ? "unknown" : std::string(name);
}

}  // namespace athanor
