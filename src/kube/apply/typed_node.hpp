// SPDX-License-Identifier: Apache-2.0
// One place of an object under its schema, as server-side apply sees it. Internal to the
// typed_*.cpp files; the public side is typed_fields.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/apply/field_set.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::typed {

// How the value at a place is taken apart.
enum class Shape : std::uint8_t { Leaf, Map, List };

// A place: its schema (nullptr: nothing is known) and what its use adds. Cheap to copy.
struct Node {
  enum class Level : std::uint8_t { Root, Metadata, Inner };

  SchemaPtr schema = nullptr;
  const SchemaField* use = nullptr;  // the field that leads here, if one does
  Level level = Level::Inner;
  bool declared = true;  // reached through a declared field (not a map entry, not an unknown field)
  bool known = true;     // false: the schema forbids it
  bool custom = false;   // of an object whose schema is no built-in type's

  // Returns the shape of `value` at this place; absent and Null values fit every shape.
  [[nodiscard]] Shape shape(const Value* value) const;
  // Returns the shape of two values at the same place: Leaf when they do not agree.
  [[nodiscard]] Shape shape(const Value* a, const Value* b) const;
  [[nodiscard]] Node member(std::string_view name) const;
  [[nodiscard]] Node item() const;
  // Returns true if the member belongs to the system and never counts as a field
  // (docs/spec/apiserver.md 11.1).
  [[nodiscard]] bool is_system(std::string_view name) const;
  // Replaces an absent member that is always printed; nullptr for all others.
  [[nodiscard]] const Value* stand_in() const;

 private:
  [[nodiscard]] Node place_of(std::string_view name) const;
};

Node root_node(SchemaPtr schema);

// Returns the value of a key field of a list element: its own, else the schema's default; nullptr
// when neither exists.
const Value* key_value(const Schema& list, const Value& item, std::string_view key);
// Returns the path element of an item of a Set or Map list; Null for a Map element without keys.
Value element_of(const Schema& list, const Value& item);
// Returns true if both items have the same path element; cheaper than making it.
bool same_element(const Schema& list, const Value& a, const Value& b);

// The items of a keyed list by path element.
class ElementIndex {
 public:
  ElementIndex(const Schema& list, const Value* items);

  // Returns the path elements by position in the list.
  [[nodiscard]] const std::vector<Value>& elements() const { return elements_; }
  // Positions of the items with that element, in list order.
  [[nodiscard]] std::vector<std::size_t> positions(const Value& element) const;
  [[nodiscard]] std::optional<std::size_t> first(const Value& element) const;

 private:
  std::vector<Value> elements_{};
  std::vector<std::size_t> order_{};  // positions, sorted by element, then position
};

inline bool absent_or_empty(const Value* value) {
  return value == nullptr || value->empty();
}

}  // namespace athanor::typed
