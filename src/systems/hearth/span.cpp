// SPDX-License-Identifier: Apache-2.0
// Spans, times and texts of bounded length.
#include "systems/hearth/span.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace athanor::hearth {
namespace {

constexpr std::chrono::sys_seconds kLastInstant =
    std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::hours(24) -
    std::chrono::seconds(1);
constexpr std::chrono::seconds kLongest = kLastInstant.time_since_epoch();
constexpr std::size_t kMostBytes = 1024;

}  // namespace

std::optional<Duration> parse_span(std::string_view text) {
  if (text.size() < 2 || text.find_first_not_of("0123456789") != text.size() - 1) {
    return std::nullopt;
  }
  std::int64_t unit = 0;
  switch (text.back()) {
    case 'm':
      unit = 60;
      break;
    case 'h':
      unit = 3600;
      break;
    case 'd':
      unit = 86400;
      break;
    default:
      return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, number);
  if (error == std::errc::result_out_of_range || number > kLongest.count() / unit) {
    return kLongest;
  }
  return std::chrono::seconds(number * unit);
}

std::optional<Instant> read_time(std::string_view text) {
  if (const auto time = parse_time(text)) {
    return time;
  }
  return parse_time(std::string(text) + "Z");
}

Instant end_of(Instant start, Duration span) {
  return start > kLastInstant - span ? Instant(kLastInstant) : start + span;
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.size() > kMostBytes) {
    std::size_t end = kMostBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
      --end;
    }
    text.resize(end);
  }
  return text;
}

}  // namespace athanor::hearth
