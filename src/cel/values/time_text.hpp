// SPDX-License-Identifier: Apache-2.0
// Timestamps and durations with nanoseconds, as CEL reads and prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/values/val.hpp"

namespace athanor::cel {

// Parses RFC 3339 between the years 1 and 9999; nullopt for anything else.
std::optional<Val> parse_timestamp(std::string_view text);
// Returns RFC 3339 in UTC, with as many digits of the fraction as needed.
std::string timestamp_text(const Val& timestamp);
// Parses a date, "2026-11-20".
std::optional<Val> parse_date(std::string_view text);
// Parses a Go duration: "1h30m", "-1.5s".
std::optional<Val> parse_duration(std::string_view text);
// Seconds, as CEL's string() says them: "5400s", "1.5s".
std::string duration_text(std::int64_t nanoseconds);
// Returns true for seconds since 1970 between the years 1 and 9999.
bool timestamp_in_range(std::int64_t seconds);

// One part of a timestamp, shifted by an offset from UTC.
struct CivilTime {
  std::int64_t year = 1970;
  int month = 1;  // 1..12
  int day = 1;    // 1..31
  int day_of_year = 0;
  int day_of_week = 0;  // 0 is Sunday
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
};
// Splits seconds since 1970 into the parts of a date and time.
CivilTime civil_time(std::int64_t seconds);
// Returns "+02:00", "-7:30" or "UTC" in seconds; nullopt for a name of a zone (zones.hpp).
std::optional<std::int64_t> zone_offset(std::string_view text);

}  // namespace athanor::cel
