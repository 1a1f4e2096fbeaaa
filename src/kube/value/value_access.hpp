// SPDX-License-Identifier: Apache-2.0
// What the parsers know about Value's layout; for the .cpp files of kube/ only.
#pragma once

#include <span>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor {

struct ValueAccess {
  // The longest string that lives inside a Value.
  static constexpr std::size_t kInlineBytes = 14;

  // Makes an object of exactly these members, moved from; requires distinct keys.
  static Value object_of_distinct(std::span<Member> members);
  // Makes a list of exactly these items, moved from.
  static Value list_of(std::span<Value> items);
  // Returns true if another handle has the node of this one; false for what has no node.
  static bool shared(const Value& value) noexcept;
};

}  // namespace athanor
