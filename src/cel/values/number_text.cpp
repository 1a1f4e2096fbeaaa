// SPDX-License-Identifier: Apache-2.0
#include "cel/values/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace athanor::cel {
namespace {

std::string special(double number) {
  if (std::isnan(number)) {
    return "NaN";
  }
  return number < 0 ? "-Inf" : "+Inf";
}

std::string printed(double number, std::chars_format format) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format).ptr;
  return {buffer.data(), end};
}

}  // namespace

std::string plain_double(double number) {
  return std::isfinite(number) ? printed(number, std::chars_format::fixed) : special(number);
}

std::string shortest_double(double number) {
  if (!std::isfinite(number)) {
    return special(number);
  }
  const double size = std::abs(number);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e21);
  return printed(number, exponent ? std::chars_format::scientific : std::chars_format::fixed);
}

}  // namespace athanor::cel
