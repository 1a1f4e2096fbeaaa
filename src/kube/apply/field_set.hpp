// SPDX-License-Identifier: Apache-2.0
// FieldSet: a set of field paths, the content of a managedFields entry (docs/spec/apiserver.md
// 11.1).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// One step of a path, spelled as in fieldsV1: `f:NAME`, `k:{"name":"c"}` (keys sorted), `v:"x"`,
// `i:0`.
namespace path_element {
Value field(std::string_view name);
// Makes an element from an object of key names and values.
Value key(const Value& keys);
Value value(const Value& scalar);
Value index(std::size_t position);
[[nodiscard]] bool is_field(std::string_view element);
// Returns the name of a field element ("f:" cut off).
[[nodiscard]] std::string_view field_name(std::string_view element);
// Returns the form in error texts: `.name`, `[name="c"]`, `[="x"]`, `[0]`.
[[nodiscard]] std::string text(std::string_view element);
// Compares paths: fields, keys, values, indices; numbers inside keys by size. Returns -1, 0 or 1.
[[nodiscard]] int compare(std::string_view a, std::string_view b);
}  // namespace path_element

// A trie of path elements: value semantics, entries sorted. A path and its extensions may both be
// members. Lookup of one element is O(log entries), set operations are linear.
class FieldSet {
 public:
  struct Entry;

  FieldSet();
  FieldSet(const FieldSet& other);
  FieldSet(FieldSet&& other) noexcept;
  FieldSet& operator=(const FieldSet& other);
  FieldSet& operator=(FieldSet&& other) noexcept;
  ~FieldSet();

  // Reads fieldsV1 JSON. Drops elements of unknown prefix; a malformed one is BadRequest.
  static Result<FieldSet> from_fields_v1(const Value& fields);
  [[nodiscard]] Value to_fields_v1() const;

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t count() const;  // members
  [[nodiscard]] bool has(std::span<const Value> path) const;
  [[nodiscard]] std::span<const Entry> entries() const;
  // Returns the element's entry, nullptr when neither it nor anything below is a member.
  [[nodiscard]] const Entry* find(std::string_view element) const;

  // Makes the one-element path a member.
  void insert(Value element);
  void insert(std::span<const Value> path);
  // Adds `children` below `element`; nothing when empty.
  void add_below(Value element, FieldSet children);

  [[nodiscard]] FieldSet united(const FieldSet& other) const;
  [[nodiscard]] FieldSet intersected(const FieldSet& other) const;
  // Returns the set without the members of `other`.
  [[nodiscard]] FieldSet minus(const FieldSet& other) const;
  // Returns the set without the members of `other` and everything below them.
  [[nodiscard]] FieldSet minus_subtrees(const FieldSet& other) const;

  // Returns every member's path text (".spec.ports[port=80].name"): of each level the members
  // first, then what lies below, both sorted.
  [[nodiscard]] std::vector<std::string> paths() const;

  friend bool operator==(const FieldSet& a, const FieldSet& b);

 private:
  Entry& at(Value element);  // made when absent

  std::vector<Entry> entries_;
};

struct FieldSet::Entry {
  Value element{};      // as in fieldsV1
  bool member = false;  // the path itself is in the set
  FieldSet children{};
};

// The same operations on fieldsV1 JSON in canonical spelling, so that a write need not decode the
// entries of managers that it does not touch.
namespace fields_v1 {
// Returns `fields` without the members of `set`; the same node when it has none of them, Null when
// none is left.
Value minus(const Value& fields, const FieldSet& set);
// Returns `fields` with the members of `set`; the same node when it has all of them.
Value plus(const Value& fields, const FieldSet& set);
FieldSet intersection(const Value& fields, const FieldSet& set);
// Returns true if both are the same set.
bool equal(const Value& fields, const FieldSet& set);
}  // namespace fields_v1

}  // namespace athanor
