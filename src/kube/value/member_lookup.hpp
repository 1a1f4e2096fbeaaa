// SPDX-License-Identifier: Apache-2.0
// MemberLookup: many lookups in one object, in about the order of its members.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "kube/value/value.hpp"

namespace athanor {

// Looks behind the member found last first; once an object is wide and that fails often, builds a
// table, so that n lookups take n steps instead of n². The object must outlive this.
class MemberLookup {
 public:
  explicit MemberLookup(const Value& object) : object_(object) {}

  // Returns the value of the member of that name; nullptr if there is none.
  [[nodiscard]] const Value* find(std::string_view key);

 private:
  const Value& object_;
  std::size_t next_ = 0;  // behind the member found last
  std::size_t searches_ = 0;
  std::unordered_map<std::string_view, std::size_t> places_{};  // once built
};

}  // namespace athanor
