// SPDX-License-Identifier: Apache-2.0
// MemberEdit: many changes of one object's members. An object finds a member by looking at all of
// them; where an object is wide and looked into often, this builds a table first, so that n changes
// of n members take n steps instead of n².
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "kube/value/value.hpp"

namespace athanor {

class MemberEdit {
 public:
  // Edits Null as an empty object.
  explicit MemberEdit(Value object) : object_(std::move(object)) {}

  // Returns the member, nullptr when absent; valid until the next change.
  [[nodiscard]] const Value* find(std::string_view key);
  // Sets as Value::set(): in its place, or behind all others.
  void set(std::string_view key, Value value);
  bool erase(std::string_view key);
  // Returns the edited object, the given one itself if nothing was set or erased.
  [[nodiscard]] Value take();

 private:
  struct Entry {
    Member member{};
    bool erased = false;
  };
  struct Table {
    std::deque<Entry> entries{};  // stay where they are: the keys below point into them
    std::unordered_map<std::string_view, Entry*> by_name{};
    bool changed = false;
  };
  // Counts one look at the members; makes the table once that pays.
  void count_lookup();
  void make_table();

  Value object_;
  std::size_t looks_ = 0;
  std::unique_ptr<Table> table_{};
};

}  // namespace athanor
