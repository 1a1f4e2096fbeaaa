// SPDX-License-Identifier: Apache-2.0
// What an unquoted YAML scalar means; for kube/yaml*.cpp only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::yaml {

struct PlainScalar {
  enum class Type : std::uint8_t {
    Null,
    Bool,
    Integer,
    Float,
    NotFinite,
    Timestamp,
    Merge,
    String
  };
  Type type = Type::String;
  // The value; of a Float in JSON's terms (1e3 is the integer 1000), of a Timestamp its text.
  Value value{};
  double number = 0;  // of a Float or NotFinite
};

// Reads YAML 1.1 as Go's parser does: yes is true, 0o12 and 012 are ten, 1e400 is a string.
PlainScalar resolve_plain(std::string_view text);

// Returns true for "1:30": a string here, a number to older readers, hence quoted when printed.
bool is_base60(std::string_view text);

// Returns strconv.FormatFloat(number, 'g', -1, 64): 0.5, 1e+06.
std::string format_g(double number);

}  // namespace athanor::yaml
