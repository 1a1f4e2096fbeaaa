// SPDX-License-Identifier: Apache-2.0
// The entries of metadata.managedFields in memory. Internal to managed_fields.cpp and
// server_side_apply.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/apply/field_set.hpp"
#include "kube/apply/managed_fields.hpp"
#include "kube/apply/typed_fields.hpp"
#include "kube/value/value.hpp"

namespace athanor::managed {

inline constexpr std::string_view kApply = "Apply";
inline constexpr std::string_view kUpdate = "Update";

// One entry. The members are handles on the stored entry; `source` is reused while nothing changed.
struct Entry {
  Value source{};  // Null once changed
  Value manager{};
  Value operation{};
  Value api_version{};
  Value subresource{};  // "" on the main path
  Value time{};         // "" when absent
  Value fields{};       // fieldsV1 in canonical spelling; Null when empty

  [[nodiscard]] bool is_apply() const { return operation.as_string() == kApply; }
  void set_fields(Value changed);
  void set_time(Instant now);
  // Returns `"up" using v1`.
  [[nodiscard]] std::string text() const;
};
using Entries = std::vector<Entry>;

// Returns true if a decoded list can hold only one of the two.
bool same_writer(const Entry& a, const Entry& b);
// Reads the stored list; leaves out entries of versions that are not known any more.
Entries read_stored(const Value& list, const FieldManagement& by);
// Reads a list of a request: checked, in canonical spelling; nullopt when malformed.
std::optional<Entries> read_requested(const Value& list, const FieldManagement& by);
// Sorts and prints the entries; Null when there are none. Leaves out entries without fields, folds
// old updates.
Value print(Entries entries);

// Returns the writer's entry (of Apply entries the version does not matter), made when absent.
Entry& entry_of(Entries& entries, const FieldManagement& by, std::string_view operation);
bool is_entry_of(const Entry& entry, const FieldManagement& by, std::string_view operation);

// Returns the time of that applier's last change in the stored list, also from an entry that
// read_stored() leaves out; Null when it has none.
Value time_of_apply(const Value& list, const FieldManagement& by);

// Sets the time of a change to the writer's fields; writes through the scale view set none.
void stamp(Entry& entry, const FieldManagement& by);

// Returns the object with that list (Null: without any).
Value with_list(Value object, const Value& list);
void leave_out(FieldChanges& changes, const FieldSet* reset_fields);
// Returns "manager", or "unknown".
std::string_view manager_name(const FieldManagement& by);

}  // namespace athanor::managed
