// SPDX-License-Identifier: Apache-2.0
#include "kube/value/whole_numbers.hpp"

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

// Outside the parts that both share.
bool has_new_whole_doubles(const Value& value, const Value& clean) {
  if (value.identical(clean) && !clean.is_number()) {
    return false;
  }
  if (!value.is_object() || !clean.is_object()) {
    return has_whole_doubles(value);
  }
  const auto members = value.members();
  const auto known = clean.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool likely = i < known.size() && known[i].name.identical(members[i].name);
    if (has_new_whole_doubles(members[i].value,
                              likely ? known[i].value : clean[members[i].key()])) {
      return true;
    }
  }
  return false;
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

Value whole_doubles_as_integers(const Value& value, const Value& clean) {
  if (is_whole(value)) {
    return Value(static_cast<std::int64_t>(value.as_double()));
  }
  if (!has_new_whole_doubles(value, clean)) {
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
