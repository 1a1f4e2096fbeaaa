// SPDX-License-Identifier: Apache-2.0
#include "cel/values/time_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <limits>

namespace athanor::cel {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kNanosInSecond = 1'000'000'000;
constexpr std::int64_t kFirstSecond = -62'135'596'800;  // year 1
constexpr std::int64_t kLastSecond = 253'402'300'799;   // year 9999

// `count` digits at the front of `text`, which moves on.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  int number = 0;
  if (text.size() < count) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    }
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool skip(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// "2026-11-20" at the front, in seconds.
std::optional<std::int64_t> date_seconds(std::string_view& text) {
  const auto year = digits(text, 4);
  if (!year || !skip(text, '-')) {
    return std::nullopt;
  }
  const auto month = digits(text, 2);
  if (!month || !skip(text, '-')) {
    return std::nullopt;
  }
  const auto day = digits(text, 2);
  if (!day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count() * kSecondsPerDay;
}

std::int32_t fraction(std::string_view& text) {
  std::int32_t nanoseconds = 0;
  std::int32_t unit = 100'000'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    nanoseconds += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return nanoseconds;
}

// "Z", "+02:00" at the end.
std::optional<std::int64_t> offset_seconds(std::string_view text) {
  if (text == "Z" || text == "z") {
    return 0;
  }
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  std::string_view rest = text.substr(1);
  const auto hours = digits(rest, 2);
  rest.remove_prefix(1);
  const auto minutes = digits(rest, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t offset = *hours * 3600 + *minutes * 60;
  return text[0] == '-' ? -offset : offset;
}

struct Unit {
  std::string_view name{};
  std::int64_t nanoseconds = 0;
};

constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\u00b5s", 1'000},
                                         {"\u03bcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", kNanosInSecond},
                                         {"m", 60 * kNanosInSecond},
                                         {"h", 3600 * kNanosInSecond}}};

__extension__ using Wide = __int128;

// "1.5h" at the front, in nanoseconds.
std::optional<Wide> duration_part(std::string_view& text) {
  std::size_t length = 0;
  Wide whole = 0;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') {
    whole = whole > kMost ? whole : whole * 10 + (text[length] - '0');
    ++length;
  }
  std::size_t digits_seen = length;
  Wide part = 0;
  Wide scale = 1;
  text.remove_prefix(length);
  if (skip(text, '.')) {
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      if (scale < kMost) {
        part = part * 10 + (text.front() - '0');
        scale *= 10;
      }
      ++digits_seen;
      text.remove_prefix(1);
    }
  }
  if (digits_seen == 0) {
    return std::nullopt;
  }
  std::size_t unit_size = 0;
  while (unit_size < text.size() && text[unit_size] != '.' &&
         (text[unit_size] < '0' || text[unit_size] > '9')) {
    ++unit_size;
  }
  for (const Unit& unit : kUnits) {
    if (text.substr(0, unit_size) == unit.name) {
      text.remove_prefix(unit_size);
      if (whole > kMost / unit.nanoseconds) {
        return std::nullopt;
      }
      return whole * unit.nanoseconds + part * unit.nanoseconds / scale;
    }
  }
  return std::nullopt;
}

}  // namespace

bool timestamp_in_range(std::int64_t seconds) {
  return seconds >= kFirstSecond && seconds <= kLastSecond;
}

std::optional<Val> parse_timestamp(std::string_view text) {
  const auto date = date_seconds(text);
  if (!date || text.empty() || (text.front() != 'T' && text.front() != 't')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto hours = digits(text, 2);
  const bool first = skip(text, ':');
  const auto minutes = digits(text, 2);
  const bool second = skip(text, ':');
  const auto seconds = digits(text, 2);
  if (!hours || !minutes || !seconds || !first || !second || *hours > 23 || *minutes > 59 ||
      *seconds > 59) {
    return std::nullopt;
  }
  const std::int32_t nanoseconds = skip(text, '.') ? fraction(text) : 0;
  const auto offset = offset_seconds(text);
  if (!offset) {
    return std::nullopt;
  }
  const std::int64_t total =
      *date + std::int64_t{*hours} * 3600 + std::int64_t{*minutes} * 60 + *seconds - *offset;
  if (!timestamp_in_range(total)) {
    return std::nullopt;
  }
  return Val::timestamp(total, nanoseconds);
}

std::optional<Val> parse_date(std::string_view text) {
  const auto date = date_seconds(text);
  if (!date || !text.empty()) {
    return std::nullopt;
  }
  return Val::timestamp(*date, 0);
}

std::string timestamp_text(const Val& timestamp) {
  const CivilTime at = civil_time(timestamp.seconds());
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", at.year, at.month, at.day,
                                 at.hours, at.minutes, at.seconds);
  if (timestamp.nanoseconds() != 0) {
    text += fmt::format(".{:09}", timestamp.nanoseconds());
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + "Z";
}

std::optional<Val> parse_duration(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) {
    text.remove_prefix(1);
  }
  if (text == "0") {
    return Val::duration(0);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  Wide total = 0;
  while (!text.empty()) {
    const auto part = duration_part(text);
    if (!part) {
      return std::nullopt;
    }
    total += *part;
    if (total > std::numeric_limits<std::int64_t>::max()) {
      return std::nullopt;
    }
  }
  const auto nanoseconds = static_cast<std::int64_t>(total);
  return Val::duration(negative ? -nanoseconds : nanoseconds);
}

std::string duration_text(std::int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const std::uint64_t amount = negative ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                        : static_cast<std::uint64_t>(nanoseconds);
  std::string text = fmt::format("{}{}", negative ? "-" : "", amount / kNanosInSecond);
  if (amount % kNanosInSecond != 0) {
    text += fmt::format(".{:09}", amount % kNanosInSecond);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + "s";
}

CivilTime civil_time(std::int64_t seconds) {
  std::int64_t days = seconds / kSecondsPerDay;
  std::int64_t rest = seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  const std::chrono::sys_days day{std::chrono::days(days)};
  const std::chrono::year_month_day date(day);
  const std::chrono::sys_days new_year(date.year() / std::chrono::January / 1);
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<int>(static_cast<unsigned>(date.month())),
          .day = static_cast<int>(static_cast<unsigned>(date.day())),
          .day_of_year = static_cast<int>((day - new_year).count()),
          .day_of_week = static_cast<int>(std::chrono::weekday(day).c_encoding()),
          .hours = static_cast<int>(rest / 3600),
          .minutes = static_cast<int>(rest / 60 % 60),
          .seconds = static_cast<int>(rest % 60)};
}

std::optional<std::int64_t> zone_offset(std::string_view text) {
  if (text.empty() || text == "UTC" || text == "Etc/UTC" || text == "GMT") {
    return 0;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const bool negative = text.front() == '-';
  const std::string_view hours_text = text.substr(
      negative || text.front() == '+' ? 1 : 0, colon - (negative || text.front() == '+' ? 1 : 0));
  const std::string_view minutes_text = text.substr(colon + 1);
  int hours = 0;
  int minutes = 0;
  const auto whole = [](std::string_view digits_text, int& number) {
    const char* end = digits_text.data() + digits_text.size();
    const auto [at, error] = std::from_chars(digits_text.data(), end, number);
    return error == std::errc() && at == end && !digits_text.empty();
  };
  if (!whole(hours_text, hours) || !whole(minutes_text, minutes) || hours > 23 || minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t offset = hours * 3600 + minutes * 60;
  return negative ? -offset : offset;
}

}  // namespace athanor::cel
