// SPDX-License-Identifier: Apache-2.0
// Parts of timestamps and durations: getFullYear(), getHours("+02:00"), ...
#include <array>
#include <chrono>
#include <string>

#include "base/files/time_zone_files.hpp"
#include "cel/functions/functions.hpp"
#include "cel/values/time_text.hpp"

namespace athanor::cel {
namespace {

enum class Part : std::uint8_t {
  FullYear,
  Month,
  Date,
  DayOfMonth,
  DayOfWeek,
  DayOfYear,
  Hours,
  Minutes,
  Seconds,
  Milliseconds,
};

std::int64_t part_of(const CivilTime& time, Part part, std::int32_t nanoseconds) {
  switch (part) {
    case Part::FullYear:
      return time.year;
    case Part::Month:
      return time.month - 1;
    case Part::Date:
      return time.day;
    case Part::DayOfMonth:
      return time.day - 1;
    case Part::DayOfWeek:
      return time.day_of_week;
    case Part::DayOfYear:
      return time.day_of_year;
    case Part::Hours:
      return time.hours;
    case Part::Minutes:
      return time.minutes;
    case Part::Seconds:
      return time.seconds;
    case Part::Milliseconds:
      return nanoseconds / 1'000'000;
  }
  return 0;
}

template <Part kPart>
Val timestamp_part(Arguments a, Runtime&) {
  std::int64_t offset = 0;
  if (a.size() == 2) {
    if (const auto fixed = zone_offset(a[1].text())) {
      offset = *fixed;
    } else if (const auto zone = find_time_zone(a[1].text()); zone.ok()) {
      offset = zone->offset(Instant(std::chrono::seconds(a[0].seconds())));
    } else {
      return Val::error(zone.error().message);
    }
  }
  return Val::integer(part_of(civil_time(a[0].seconds() + offset), kPart, a[0].nanoseconds()));
}

template <std::int64_t kUnit, std::int64_t kModulus>
Val duration_part_of(Arguments a, Runtime&) {
  const std::int64_t whole = a[0].as_int() / kUnit;
  return Val::integer(kModulus == 0 ? whole : whole % kModulus);
}

template <Part kPart>
void add_part(FunctionTable& table, const std::string& name) {
  table.add(name, "timestamp_" + name, "timestamp.() -> int", timestamp_part<kPart>);
  table.add(name, "timestamp_" + name + "_with_tz", "timestamp.(string) -> int",
            timestamp_part<kPart>);
}

}  // namespace

void add_time_functions(FunctionTable& table) {
  add_part<Part::FullYear>(table, "getFullYear");
  add_part<Part::Month>(table, "getMonth");
  add_part<Part::Date>(table, "getDate");
  add_part<Part::DayOfMonth>(table, "getDayOfMonth");
  add_part<Part::DayOfWeek>(table, "getDayOfWeek");
  add_part<Part::DayOfYear>(table, "getDayOfYear");
  add_part<Part::Hours>(table, "getHours");
  add_part<Part::Minutes>(table, "getMinutes");
  add_part<Part::Seconds>(table, "getSeconds");
  add_part<Part::Milliseconds>(table, "getMilliseconds");
  constexpr std::int64_t kMilli = 1'000'000;
  table.add("getHours", "duration_to_hours", "duration.() -> int",
            duration_part_of<3'600'000 * kMilli, 0>);
  table.add("getMinutes", "duration_to_minutes", "duration.() -> int",
            duration_part_of<60'000 * kMilli, 0>);
  table.add("getSeconds", "duration_to_seconds", "duration.() -> int",
            duration_part_of<1000 * kMilli, 0>);
  table.add("getMilliseconds", "duration_to_milliseconds", "duration.() -> int",
            duration_part_of<kMilli, 1000>);
}

}  // namespace athanor::cel
