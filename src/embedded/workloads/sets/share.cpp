// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/sets/share.hpp"

#include <charconv>
#include <string_view>

namespace athanor::workloads {

std::int64_t share(const Value& value, std::int64_t of, Rounding rounding) {
  constexpr std::int64_t kPercent = 100;
  if (!value.is_string()) {
    return value.as_int();
  }
  const std::string_view text = value.as_string();
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  const std::int64_t product = of * number;
  return rounding == Rounding::Up ? (product + kPercent - 1) / kPercent : product / kPercent;
}

}  // namespace athanor::workloads
