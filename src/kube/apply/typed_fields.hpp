// SPDX-License-Identifier: Apache-2.0
// Objects seen as sets of fields under a schema: which fields a value has, how two values differ,
// merging and cutting by field (docs/spec/apiserver.md 11).
//
// Everywhere: lists of type Map are keyed by their map keys (an absent key counts as its default),
// of type Set by value, Atomic ones and atomic maps are one leaf. Without a schema (nullptr, Any,
// unknown fields kept) objects are granular and lists atomic. `metadata` of a root without declared
// metadata fields is typed as ObjectMeta.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/apply/field_set.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Returns the fields an applied configuration owns: leaves, elements of keyed lists and maps, empty
// containers.
FieldSet leaves(const Value& value, SchemaPtr schema);

struct FieldChanges {
  FieldSet added{};
  FieldSet modified{};
  FieldSet removed{};
  // An element of a keyed list came without its key: it cannot be owned.
  bool keyless = false;
  [[nodiscard]] bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};
// Returns the changes of a write. Containers that come or go are fields of their own. Shared
// subtrees cost nothing.
FieldChanges compare_fields(const Value& from, const Value& to, SchemaPtr schema);

// Returns `live` with every field of `config` set; new list elements follow the order of `config`.
// Unchanged subtrees of `live` stay shared; the result is identical to `live` if nothing changes.
Value merge_fields(const Value& live, const Value& config, SchemaPtr schema);

// Returns the quantities of `config` that `live` spells in another way, whether or not they are the
// same amount.
FieldSet respelled_quantities(const Value& live, const Value& config, SchemaPtr schema);

// Returns the value without the members of `fields` (and all below them); containers emptied by
// that become Null.
Value remove_fields(const Value& value, const FieldSet& fields, SchemaPtr schema);
// Returns the part of the value that `fields` names (with the keys of list elements).
Value extract_fields(const Value& value, const FieldSet& fields, SchemaPtr schema);

// What keeps a value from being applied: undeclared fields, wrong types, duplicate or missing
// list keys; each as ".path: text". Empty: well typed.
enum class Duplicates : std::uint8_t { Refused, Allowed };  // allowed in what exists
std::vector<std::string> type_errors(const Value& value, SchemaPtr schema,
                                     Duplicates duplicates = Duplicates::Refused);

}  // namespace athanor
