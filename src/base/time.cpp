// SPDX-License-Identifier: Apache-2.0
// RFC 3339 times, Go durations and kubectl ages.
#include "base/time.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace athanor {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads fixed-width decimal fields from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // Exactly `width` digits, or nullopt.
  std::optional<int> number(std::size_t width) {
    if (rest_.size() < width) {
      return std::nullopt;
    }
    int number = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (!is_digit(rest_[i])) {
        return std::nullopt;
      }
      number = number * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(width);
    return number;
  }

  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  // One or more digits as a fraction of a second, cut to microseconds.
  std::optional<Duration> fraction() {
    std::int64_t micros = 0;
    std::int64_t scale = 100'000;
    std::size_t count = 0;
    while (count < rest_.size() && is_digit(rest_[count])) {
      micros += scale * (rest_[count] - '0');
      scale /= 10;
      ++count;
    }
    rest_.remove_prefix(count);
    return count > 0 ? std::optional(Duration(micros)) : std::nullopt;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::optional<std::chrono::sys_days> parse_date(Scanner& scanner) {
  const auto year = scanner.number(4);
  if (!year || !scanner.skip('-')) {
    return std::nullopt;
  }
  const auto month = scanner.number(2);
  if (!month || !scanner.skip('-')) {
    return std::nullopt;
  }
  const auto day = scanner.number(2);
  if (!day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

std::optional<Duration> parse_time_of_day(Scanner& scanner) {
  const auto hour = scanner.number(2);
  if (!hour || *hour > 23 || !scanner.skip(':')) {
    return std::nullopt;
  }
  const auto minute = scanner.number(2);
  if (!minute || *minute > 59 || !scanner.skip(':')) {
    return std::nullopt;
  }
  const auto second = scanner.number(2);
  if (!second || *second > 59) {
    return std::nullopt;
  }
  Duration result =
      std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  if (scanner.skip('.') || scanner.skip(',')) {
    const auto fraction = scanner.fraction();
    if (!fraction) {
      return std::nullopt;
    }
    result += *fraction;
  }
  return result;
}

std::optional<Duration> parse_offset(Scanner& scanner) {
  if (scanner.skip('Z')) {
    return Duration(0);
  }
  const bool ahead = scanner.skip('+');
  if (!ahead && !scanner.skip('-')) {
    return std::nullopt;
  }
  const auto hour = scanner.number(2);
  if (!hour || *hour > 23 || !scanner.skip(':')) {
    return std::nullopt;
  }
  const auto minute = scanner.number(2);
  if (!minute || *minute > 59) {
    return std::nullopt;
  }
  const Duration offset = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  return ahead ? offset : -offset;
}

// As package time quotes its input: printable ASCII stays, everything else as \xNN.
std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x80) {
      out += fmt::format("\\x{:02x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

__extension__ using Wide = __int128;

// Nanoseconds of one unit; 0 when Go does not know it.
std::int64_t unit_nanos(std::string_view unit) {
  if (unit == "ns") {
    return 1;
  }
  if (unit == "us" || unit == "\xc2\xb5s" || unit == "\xce\xbcs") {
    return 1'000;
  }
  if (unit == "ms") {
    return 1'000'000;
  }
  if (unit == "s") {
    return 1'000'000'000;
  }
  if (unit == "m") {
    return 60'000'000'000;
  }
  return unit == "h" ? 3'600'000'000'000 : 0;
}

constexpr Wide kMaxNanos = std::numeric_limits<std::int64_t>::max();

// One "12.5ms" from the front of `rest`, in nanoseconds; `text` is the whole input, for errors.
Result<Wide> parse_duration_part(std::string_view& rest, std::string_view text) {
  const auto invalid = [&] { return Error::bad_request("time: invalid duration " + quote(text)); };
  Wide whole = 0;
  std::size_t i = 0;
  for (; i < rest.size() && is_digit(rest[i]); ++i) {
    whole = whole * 10 + (rest[i] - '0');
    if (whole > kMaxNanos) {
      return invalid();
    }
  }
  bool any_digit = i > 0;
  Wide fraction = 0;
  Wide scale = 1;
  if (i < rest.size() && rest[i] == '.') {
    ++i;
    for (; i < rest.size() && is_digit(rest[i]); ++i) {
      any_digit = true;
      if (scale < 1'000'000'000'000'000) {
        fraction = fraction * 10 + (rest[i] - '0');
        scale *= 10;
      }
    }
  }
  if (!any_digit) {
    return invalid();
  }
  const std::size_t unit_start = i;
  while (i < rest.size() && rest[i] != '.' && !is_digit(rest[i])) {
    ++i;
  }
  const std::string_view unit = rest.substr(unit_start, i - unit_start);
  if (unit.empty()) {
    return Error::bad_request("time: missing unit in duration " + quote(text));
  }
  const std::int64_t nanos = unit_nanos(unit);
  if (nanos == 0) {
    return Error::bad_request("time: unknown unit " + quote(unit) + " in duration " + quote(text));
  }
  rest.remove_prefix(i);
  return whole * nanos + fraction * nanos / scale;
}

// A count of micro units below one `unit` with its fraction, trailing zeros removed: 1.5 of
// 1500/1000.
std::string fraction_text(std::uint64_t count, std::uint64_t unit, int digits) {
  std::string text = fmt::format("{}.{:0{}}", count / unit, count % unit, digits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text;
}

std::string format_date_time(Instant instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(instant - day));
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) {
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year,
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       time.hours().count(), time.minutes().count(), time.seconds().count());
  }
  std::string text = "0000-00-00T00:00:00";
  // Every write stamps times: digits are cheaper than a format.
  const auto put = [&text](std::size_t end, std::int64_t number) {
    for (; number > 0; number /= 10) {
      text[--end] = static_cast<char>('0' + number % 10);
    }
  };
  put(4, year);
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, time.hours().count());
  put(16, time.minutes().count());
  put(19, time.seconds().count());
  return text;
}

}  // namespace

std::string format_time(Instant instant) {
  return format_date_time(instant) + "Z";
}

std::string format_micro_time(Instant instant) {
  const auto micros = (instant - std::chrono::floor<std::chrono::seconds>(instant)).count();
  return format_date_time(instant) + fmt::format(".{:06}Z", micros);
}

std::optional<Instant> parse_time(std::string_view text) {
  Scanner scanner(text);
  const auto date = parse_date(scanner);
  if (!date || !scanner.skip('T')) {
    return std::nullopt;
  }
  const auto time = parse_time_of_day(scanner);
  if (!time) {
    return std::nullopt;
  }
  const auto offset = parse_offset(scanner);
  if (!offset || !scanner.rest().empty()) {
    return std::nullopt;
  }
  return Instant(*date) + *time - *offset;
}

std::string format_go_duration(Duration duration) {
  if (duration.count() == 0) {
    return "0s";
  }
  const bool negative = duration.count() < 0;
  const auto signed_count = duration.count();
  const std::uint64_t micros = negative ? 0 - static_cast<std::uint64_t>(signed_count)
                                        : static_cast<std::uint64_t>(signed_count);
  const std::string sign = negative ? "-" : "";
  if (micros < 1'000) {
    return fmt::format("{}{}\xc2\xb5s", sign, micros);
  }
  if (micros < 1'000'000) {
    return sign + fraction_text(micros, 1'000, 3) + "ms";
  }
  const std::uint64_t total_minutes = micros / 60'000'000;
  const std::string second_text = fraction_text(micros % 60'000'000, 1'000'000, 6) + "s";
  if (total_minutes == 0) {
    return sign + second_text;
  }
  if (total_minutes < 60) {
    return fmt::format("{}{}m{}", sign, total_minutes, second_text);
  }
  return fmt::format("{}{}h{}m{}", sign, total_minutes / 60, total_minutes % 60, second_text);
}

Result<Duration> parse_go_duration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") {
    return Duration(0);
  }
  if (rest.empty()) {
    return Error::bad_request("time: invalid duration " + quote(text));
  }
  Wide nanos = 0;
  while (!rest.empty()) {
    ATHANOR_TRY(const Wide part, parse_duration_part(rest, text));
    nanos += part;
    if (nanos > kMaxNanos) {
      return Error::bad_request("time: invalid duration " + quote(text));
    }
  }
  const auto micros = static_cast<std::int64_t>(nanos / 1'000);
  return Duration(negative ? -micros : micros);
}

std::string format_age(Duration age) {
  const std::int64_t total_seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (total_seconds < -1) {
    return "<invalid>";
  }
  if (total_seconds <= 0) {
    return "0s";
  }
  // "5m3s": the larger unit, and the smaller one unless it is zero.
  const auto pair = [](std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", large, large_unit)
                      : fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
  };
  const std::int64_t minutes = total_seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t whole_days = hours / 24;
  constexpr std::int64_t kDaysPerYear = 365;
  if (total_seconds < 120) {
    return fmt::format("{}s", total_seconds);
  }
  if (minutes < 10) {
    return pair(minutes, 'm', total_seconds % 60, 's');
  }
  if (minutes < 180) {
    return fmt::format("{}m", minutes);
  }
  if (hours < 8) {
    return pair(hours, 'h', minutes % 60, 'm');
  }
  if (hours < 48) {
    return fmt::format("{}h", hours);
  }
  if (whole_days < 8) {
    return pair(whole_days, 'd', hours % 24, 'h');
  }
  if (whole_days < 2 * kDaysPerYear) {
    return fmt::format("{}d", whole_days);
  }
  if (whole_days < 8 * kDaysPerYear) {
    return pair(whole_days / kDaysPerYear, 'y', whole_days % kDaysPerYear, 'd');
  }
  return fmt::format("{}y", whole_days / kDaysPerYear);
}

}  // namespace athanor
