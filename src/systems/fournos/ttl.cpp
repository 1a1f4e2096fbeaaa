// SPDX-License-Identifier: Apache-2.0
// Reading spec.ttl.
#include "systems/fournos/ttl.hpp"

#include <charconv>
#include <cstdint>

namespace athanor::fournos {

std::optional<Duration> parse_ttl(std::string_view text) {
  struct Unit {
    char letter = ' ';
    std::int64_t seconds = 0;
  };
  constexpr Unit kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
  constexpr std::int64_t kMost = 100LL * 366 * 86400;
  if (text.empty()) {
    return std::nullopt;
  }
  std::int64_t total = 0;
  for (const Unit& unit : kUnits) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (text.empty() || digits >= text.size() || text[digits] != unit.letter) {
      continue;
    }
    if (error != std::errc() || number < 0 || number > kMost / unit.seconds) {
      return std::nullopt;
    }
    total += number * unit.seconds;
    text.remove_prefix(digits + 1);
  }
  if (!text.empty() || total > kMost) {
    return std::nullopt;
  }
  return std::chrono::seconds(total);
}

}  // namespace athanor::fournos
