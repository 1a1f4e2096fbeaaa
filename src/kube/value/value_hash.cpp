// SPDX-License-Identifier: Apache-2.0
#include "kube/value/value_hash.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace athanor {
namespace {

constexpr std::size_t kFactor = 0x9E37'79B9'7F4A'7C15;

std::size_t mixed(std::size_t seed, std::size_t more) noexcept {
  return (seed ^ more) * kFactor + (seed >> 7);
}

std::size_t text_hash(std::string_view text) noexcept {
  return std::hash<std::string_view>{}(text);
}

// A double counts as the integer that it equals.
std::size_t number_hash(const Value& value) noexcept {
  const std::int64_t integer = value.as_int(0);
  if (integer != 0 || value == Value(0)) {
    return mixed(1, static_cast<std::size_t>(integer));
  }
  return mixed(2, std::hash<double>{}(value.as_double()));
}

}  // namespace

std::size_t hash_of(const Value& value) noexcept {
  switch (value.type()) {
    case Value::Type::Null:
      return 0;
    case Value::Type::Bool:
      return value.as_bool() ? 3 : 4;
    case Value::Type::Int:
    case Value::Type::Uint:
    case Value::Type::Double:
      return number_hash(value);
    case Value::Type::String:
      return text_hash(value.as_string());
    case Value::Type::List: {
      std::size_t hash = 5;
      for (const Value& item : value.items()) {
        hash = mixed(hash, hash_of(item));
      }
      return hash;
    }
    case Value::Type::Object: {
      std::size_t sum = 6;  // of the members, whose order does not count
      for (const Member& member : value.members()) {
        sum += mixed(text_hash(member.key()), hash_of(member.value));
      }
      return sum;
    }
  }
  return 0;
}

}  // namespace athanor
