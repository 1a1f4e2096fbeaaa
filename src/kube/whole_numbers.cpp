// SPDX-License-Identifier: Apache-2.0
#include "kube/whole_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace athanor {
namespace {

constexpr double kLimit = 9223372036854775808.0;  // 2^63

bool is_whole(const Value& value) {
  if (value.type() != Value::Type::Double) {
    return false;
  }
  const double number = value.as_double();
  return number >= -kLimit && number < kLimit && std::trunc(number) == number;
}

}  // namespace

bool has_whole_doubles(const Value& value) {
  if (value.is_list()) {
    return std::ranges::any_of(value.items(), &has_whole_doubles);
  }
  if (value.is_object()) {
    return std::ranges::any_of(
        value.members(), [](const Member& member) { return has_whole_doubles(member.value); });
  }
  return is_whole(value);
}

Value whole_doubles_as_integers(const Value& value) {
  if (is_whole(value)) {
    return Value(static_cast<std::int64_t>(value.as_double()));
  }
  if (!has_whole_doubles(value)) {
    return value;
  }
  Value copy = value;
  for (std::size_t i = 0; value.is_list() && i < value.size(); ++i) {
    copy.item(i) = whole_doubles_as_integers(value[i]);
  }
  if (value.is_object()) {
    for (const Member& member : value.members()) {
      copy.set(member.key(), whole_doubles_as_integers(member.value));
    }
  }
  return copy;
}

}  // namespace athanor
