// SPDX-License-Identifier: Apache-2.0
#include "kube/text/cron.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace athanor {
namespace {

constexpr std::array<const char*, 13> kMonths{"jan", "feb", "mar", "apr", "may", "jun",  "jul",
                                              "aug", "sep", "oct", "nov", "dec", nullptr};
constexpr std::array<const char*, 8> kDays{"sun", "mon", "tue", "wed",
                                           "thu", "fri", "sat", nullptr};
constexpr std::array<const char*, 1> kNoNames{nullptr};

std::string_view without_macro(std::string_view text) {
  return text == "@yearly" || text == "@annually"  ? "0 0 1 1 *"
         : text == "@monthly"                      ? "0 0 1 * *"
         : text == "@weekly"                       ? "0 0 * * 0"
         : text == "@daily" || text == "@midnight" ? "0 0 * * *"
         : text == "@hourly"                       ? "0 * * * *"
                                                   : text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    if (const std::string_view part = text.substr(0, end); !part.empty()) {
      parts.push_back(part);
    }
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number_of(std::string_view text, int least, const char* const* names) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  for (int i = 0; names[i] != nullptr; ++i) {
    if (lower == names[i]) {
      return i + least;
    }
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

constexpr bool has(std::uint64_t bits, unsigned bit) {
  return ((bits >> bit) & 1U) != 0;
}

}  // namespace

Result<CronSchedule::Field> CronSchedule::parse_field(std::string_view text, int least, int most,
                                                      const char* const* names) {
  Field field;
  for (const std::string_view part : split(text, ',')) {
    const auto slash = split(part, '/');
    const std::string_view range = slash.empty() ? part : slash[0];
    const auto step = slash.size() == 2 ? number_of(slash[1], 0, kNoNames.data()) : 1;
    int first = least;
    int last = most;
    if (range == "*" || range == "?") {
      field.any = field.any || step == 1;
    } else {
      const auto ends = split(range, '-');
      const auto low = ends.empty() ? std::nullopt : number_of(ends[0], least, names);
      const auto high = ends.size() == 2 ? number_of(ends[1], least, names) : low;
      if (!low || !high) {
        return Error::bad_request(fmt::format("failed to parse {}", part));
      }
      first = *low;
      last = ends.size() == 1 && slash.size() == 2 ? most : *high;
    }
    if (!step || *step <= 0 || first < least || last > most || first > last) {
      return Error::bad_request(fmt::format("failed to parse {}", part));
    }
    for (int value = first; value <= last; value += *step) {
      field.bits |= std::uint64_t{1} << static_cast<unsigned>(value);
    }
  }
  return field;
}

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  constexpr std::string_view kEvery = "@every ";
  CronSchedule schedule;
  if (text.starts_with(kEvery)) {
    ATHANOR_TRY(schedule.every_, parse_go_duration(text.substr(kEvery.size())));
    schedule.every_ = std::max<Duration>(std::chrono::floor<std::chrono::seconds>(schedule.every_),
                                         std::chrono::seconds(1));
    return schedule;
  }
  const auto fields = split(without_macro(text), ' ');
  constexpr std::size_t kFields = 5;
  if (fields.size() != kFields) {
    return Error::bad_request(
        fmt::format("expected exactly 5 fields, found {}: {}", fields.size(), text));
  }
  ATHANOR_TRY(schedule.minute_, parse_field(fields[0], 0, 59, kNoNames.data()));
  ATHANOR_TRY(schedule.hour_, parse_field(fields[1], 0, 23, kNoNames.data()));
  ATHANOR_TRY(schedule.day_, parse_field(fields[2], 1, 31, kNoNames.data()));
  ATHANOR_TRY(schedule.month_, parse_field(fields[3], 1, 12, kMonths.data()));
  ATHANOR_TRY(schedule.weekday_, parse_field(fields[4], 0, 6, kDays.data()));
  return schedule;
}

bool CronSchedule::day_matches(unsigned day, unsigned weekday) const {
  const bool by_day = has(day_.bits, day);
  const bool by_weekday = has(weekday_.bits, weekday);
  return day_.any || weekday_.any ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<Instant> CronSchedule::next(Instant after, const TimeZone& zone) const {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar arithmetic
  if (every_ > Duration::zero()) {
    return floor<seconds>(after) + every_;
  }
  constexpr auto kFar = days(5 * 366);
  Instant at = floor<minutes>(after) + minutes(1);
  while (at < after + kFar) {
    const auto local = at + seconds(zone.offset(at));
    const auto date = floor<days>(local);
    const year_month_day calendar{sys_days(date)};
    const hh_mm_ss time(floor<minutes>(local - date));
    const bool day_fits =
        has(month_.bits, static_cast<unsigned>(calendar.month())) &&
        day_matches(static_cast<unsigned>(calendar.day()), weekday(sys_days(date)).c_encoding());
    if (!day_fits || !has(hour_.bits, static_cast<unsigned>(time.hours().count()))) {
      at += hours(1) - time.minutes();
    } else if (!has(minute_.bits, static_cast<unsigned>(time.minutes().count()))) {
      at += minutes(1);
    } else {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace athanor
