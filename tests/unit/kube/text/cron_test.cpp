// SPDX-License-Identifier: Apache-2.0
// Schedules: what comes next, also where clocks are changed.
#include "kube/text/cron.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::cron_test {
namespace {

// A TZif file without transitions: the footer alone decides.
TimeZone zone_of(const std::string& footer) {
  std::string header = "TZif2" + std::string(15, '\0');
  const auto number = [](int value) { return std::string(3, '\0') + static_cast<char>(value); };
  header += number(0) + number(0) + number(0) + number(0) + number(1) + number(1);
  const std::string body = std::string(6, '\0') + std::string(1, '\0');
  return TimeZone::parse(header + body + header + body + "\n" + footer + "\n").value();
}

std::string next(const char* schedule, const char* after, const TimeZone& zone = {}) {
  const auto parsed = CronSchedule::parse(schedule);
  EXPECT_TRUE(parsed.ok()) << schedule;
  const auto found = parsed->next(parse_time(after).value(), zone);
  return found ? format_time(*found) : "never";
}

TEST(Cron, TheNextTime) {
  struct Case {
    const char* schedule;
    const char* after;
    const char* expected;
  };
  for (const Case& c : {
           Case{"* * * * *", "2026-01-05T10:00:00Z", "2026-01-05T10:01:00Z"},
           Case{"*/15 * * * *", "2026-01-05T10:46:10Z", "2026-01-05T11:00:00Z"},
           Case{"5/20 * * * *", "2026-01-05T10:26:00Z", "2026-01-05T10:45:00Z"},
           Case{"30 4 1,15 * *", "2026-01-05T10:00:00Z", "2026-01-15T04:30:00Z"},
           Case{"0 9 * * MON-FRI", "2026-01-09T10:00:00Z", "2026-01-12T09:00:00Z"},
           Case{"0 0 13 * 5", "2026-01-05T00:00:00Z", "2026-01-09T00:00:00Z"},  // either day
           Case{"0 0 */2 * 5", "2026-01-05T00:00:00Z", "2026-01-07T00:00:00Z"},
           Case{"0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
           Case{"0 0 31 feb *", "2026-03-01T00:00:00Z", "never"},
           Case{"@hourly", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z"},
           Case{"@weekly", "2026-01-05T10:00:00Z", "2026-01-11T00:00:00Z"},
           Case{"@yearly", "2026-01-05T10:00:00Z", "2027-01-01T00:00:00Z"},
           Case{"@every 1h30m", "2026-01-05T10:00:00Z", "2026-01-05T11:30:00Z"},
       }) {
    EXPECT_EQ(next(c.schedule, c.after), c.expected) << c.schedule;
  }
}

TEST(Cron, RefusesSchedulesAsKubernetesDoes) {
  struct Case {
    const char* schedule;
    const char* expected;
  };
  for (const Case& c : {
           Case{"", "expected exactly 5 fields, found 0: []"},
           Case{"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
           Case{"60 * * * *", "end of range (60) above maximum (59): 60"},
           Case{"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
           Case{"a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"},
           Case{"* * * * 7", "end of range (7) above maximum (6): 7"},
           Case{"*/0 * * * *", "step of range should be a positive number: */0"},
           Case{"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
           Case{"1-2-3 * * * *", "too many hyphens: 1-2-3"},
           Case{"1/2/3 * * * *", "too many slashes: 1/2/3"},
           Case{"@never", "unrecognized descriptor: @never"},
           Case{"@every soon",
                "failed to parse duration @every soon: time: invalid duration \"soon\""},
       }) {
    const auto parsed = CronSchedule::parse(c.schedule);
    ASSERT_FALSE(parsed.ok()) << c.schedule;
    EXPECT_EQ(parsed.error().message, c.expected);
  }
}

TEST(Cron, FollowsTheClocksOfAZone) {
  const TimeZone berlin = zone_of("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(next("0 9 * * *", "2026-01-05T00:00:00Z", berlin), "2026-01-05T08:00:00Z");
  EXPECT_EQ(next("0 9 * * *", "2026-07-05T00:00:00Z", berlin), "2026-07-05T07:00:00Z");
  // 02:30 does not exist on 29 March; on 25 October it happens twice.
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00:00Z", berlin), "2026-03-30T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-24T12:00:00Z", berlin), "2026-10-25T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-25T00:30:00Z", berlin), "2026-10-25T01:30:00Z");
  const TimeZone kolkata = zone_of("IST-5:30");
  EXPECT_EQ(next("0 9 * * *", "2026-01-05T00:00:00Z", kolkata), "2026-01-05T03:30:00Z");
  const TimeZone sydney = zone_of("AEST-10AEDT,M10.1.0,M4.1.0/3");
  EXPECT_EQ(next("0 9 * * *", "2026-01-05T00:00:00Z", sydney), "2026-01-05T22:00:00Z");
  EXPECT_EQ(next("0 9 * * *", "2026-07-05T00:00:00Z", sydney), "2026-07-05T23:00:00Z");
  const TimeZone minus = zone_of("<-03>3");
  EXPECT_EQ(next("0 0 * * *", "2026-01-05T00:00:00Z", minus), "2026-01-05T03:00:00Z");
}

TEST(TimeZone, RefusesUnknownZones) {
  EXPECT_FALSE(TimeZone::parse(""));
  EXPECT_FALSE(TimeZone::parse("TZif"));
  EXPECT_FALSE(TimeZone::parse("TZif1" + std::string(60, '\0')));
  EXPECT_FALSE(TimeZone::parse("TZif2" + std::string(39, '\xff')));
}

}  // namespace
}  // namespace athanor::cron_test
