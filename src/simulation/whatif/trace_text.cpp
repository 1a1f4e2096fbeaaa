// SPDX-License-Identifier: Apache-2.0
#include "simulation/whatif/trace_text.hpp"

#include <charconv>
#include <chrono>

namespace athanor::whatif {
namespace {

constexpr Duration kLongest = std::chrono::hours(24 * 365);

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<Duration> span_of(std::string_view text) {
  if (const auto seconds = whole_number(text)) {
    return *seconds < 0 ||
                   *seconds > std::chrono::duration_cast<std::chrono::seconds>(kLongest).count()
               ? std::nullopt
               : std::optional<Duration>(std::chrono::seconds(*seconds));
  }
  Duration days{};
  if (const auto at = text.find('d'); at != std::string_view::npos) {
    const auto count = whole_number(text.substr(0, at));
    if (!count || *count < 0 || *count > 365) {
      return std::nullopt;
    }
    days = std::chrono::hours(24 * *count);
    text.remove_prefix(at + 1);
    if (text.empty()) {
      return days;
    }
  }
  const auto rest = parse_go_duration(text);
  if (!rest.ok() || *rest < Duration::zero() || *rest > kLongest) {
    return std::nullopt;
  }
  return days + *rest;
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

}  // namespace athanor::whatif
