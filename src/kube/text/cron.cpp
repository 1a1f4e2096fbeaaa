// SPDX-License-Identifier: Apache-2.0
#include "kube/text/cron.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "kube/text/text.hpp"

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

// All parts, also empty ones.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

Result<int> number_of(std::string_view text, int least, const char* const* names) {
  const std::string name = lower(text);
  for (int i = 0; names[i] != nullptr; ++i) {
    if (name == names[i]) {
      return i + least;
    }
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return Error::bad_request(
        fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax", text,
                    go_quote(text)));
  }
  return value;
}

constexpr bool has(std::uint64_t bits, unsigned bit) {
  return ((bits >> bit) & 1U) != 0;
}

}  // namespace

// The messages are those of the parser that Kubernetes uses.
Result<CronSchedule::Field> CronSchedule::parse_field(std::string_view text, int least, int most,
                                                      const char* const* names) {
  Field field;
  for (const std::string_view part : words_of(text, ',')) {
    const auto refused = [&](std::string_view why) {
      return Error::bad_request(fmt::format("{}: {}", why, part));
    };
    const auto slash = split(part, '/');
    const auto ends = split(slash[0], '-');
    int first = least;
    int last = most;
    const bool all = slash[0] == "*" || slash[0] == "?";
    if (!all) {
      if (ends.size() > 2) {
        return refused("too many hyphens");
      }
      ATHANOR_TRY(first, number_of(ends[0], least, names));
      last = first;
      if (ends.size() == 2) {
        ATHANOR_TRY(last, number_of(ends[1], least, names));
      } else if (slash.size() == 2) {
        last = most;
      }
    }
    int step = 1;
    if (slash.size() > 2) {
      return refused("too many slashes");
    }
    if (slash.size() == 2) {
      ATHANOR_TRY(step, number_of(slash[1], 0, kNoNames.data()));
    }
    if (first < least) {
      return refused(fmt::format("beginning of range ({}) below minimum ({})", first, least));
    }
    if (last > most) {
      return refused(fmt::format("end of range ({}) above maximum ({})", last, most));
    }
    if (first > last) {
      return refused(fmt::format("beginning of range ({}) beyond end of range ({})", first, last));
    }
    if (step == 0) {
      return refused("step of range should be a positive number");
    }
    field.any = field.any || (all && step == 1);
    // A step may be as large as a number can be.
    for (std::int64_t value = first; value <= last; value += step) {
      field.bits |= std::uint64_t{1} << static_cast<unsigned>(value);
    }
  }
  return field;
}

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  constexpr std::string_view kEvery = "@every ";
  CronSchedule schedule;
  if (text.starts_with(kEvery)) {
    const auto every = parse_go_duration(text.substr(kEvery.size()));
    if (!every.ok()) {
      return Error::bad_request(
          fmt::format("failed to parse duration {}: {}", text, every.error().message));
    }
    schedule.every_ = std::max<Duration>(std::chrono::floor<std::chrono::seconds>(*every),
                                         std::chrono::seconds(1));
    return schedule;
  }
  const std::string_view spelled = without_macro(text);
  if (spelled.starts_with('@')) {
    return Error::bad_request(fmt::format("unrecognized descriptor: {}", text));
  }
  const auto fields = words_of(spelled, ' ');
  constexpr std::size_t kFields = 5;
  if (fields.size() != kFields) {
    return Error::bad_request(fmt::format("expected exactly 5 fields, found {}: [{}]",
                                          fields.size(), fmt::join(fields, " ")));
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
  for (const Field* field : {&minute_, &hour_, &day_, &month_, &weekday_}) {
    if (field->bits == 0) {
      return std::nullopt;  // of "," alone
    }
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
