// SPDX-License-Identifier: Apache-2.0
#include "base/time.hpp"

#include <gtest/gtest.h>

namespace athanor::time_test {
namespace {

using namespace std::chrono_literals;

Instant at(std::string_view text) {
  const auto instant = parse_time(text);
  EXPECT_TRUE(instant.has_value()) << text;
  return instant.value_or(Instant{});
}

TEST(Time, PrintsWholeSecondsAndMicroseconds) {
  const Instant instant = at("2026-11-20T10:20:35.123456789Z");
  EXPECT_EQ(format_time(instant), "2026-11-20T10:20:35Z");
  EXPECT_EQ(format_micro_time(instant), "2026-11-20T10:20:35.123456Z");
  EXPECT_EQ(format_micro_time(Instant{}), "1970-01-01T00:00:00.000000Z");
}

TEST(Time, ReadsOffsets) {
  EXPECT_EQ(at("2026-11-20T12:20:35+02:00"), at("2026-11-20T10:20:35Z"));
  EXPECT_EQ(at("2026-11-20T05:50:35.5-04:30"), at("2026-11-20T10:20:35.5Z"));
  EXPECT_EQ(format_time(at("1969-12-31T23:59:59Z")), "1969-12-31T23:59:59Z");
}

TEST(Time, RefusesEverythingElse) {
  for (const char* text :
       {"", "2026-11-20", "2026-11-20 10:20:35Z", "2026-11-20T10:20:35", "2026-13-20T10:20:35Z",
        "2026-02-30T10:20:35Z", "2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z",
        "2026-11-20T10:20:35.Z", "2026-11-20T10:20:35Zx", "2026-11-20T10:20:35+2:00"}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

TEST(GoDuration, PrintsAsGo) {
  const std::vector<std::pair<Duration, std::string>> table = {{0us, "0s"},
                                                               {1us, "1µs"},
                                                               {1500us, "1.5ms"},
                                                               {300ms, "300ms"},
                                                               {1s, "1s"},
                                                               {1500ms, "1.5s"},
                                                               {90s, "1m30s"},
                                                               {1h + 30min, "1h30m0s"},
                                                               {100h + 1us, "100h0m0.000001s"},
                                                               {-90s, "-1m30s"},
                                                               {60s, "1m0s"}};
  for (const auto& [duration, text] : table) {
    EXPECT_EQ(format_go_duration(duration), text);
  }
}

TEST(GoDuration, ReadsFormatsOfGo) {
  const std::vector<std::pair<std::string, Duration>> table = {
      {"0", 0us},         {"1h30m", 90min}, {"1.5h", 90min}, {"300ms", 300ms},
      {"-5s", -5s},       {"+5s", 5s},      {".5s", 500ms},  {"1.s", 1s},
      {"1500us", 1500us}, {"3µs", 3us},     {"2000ns", 2us}, {"1h0m0.000001s", 1h + 1us}};
  for (const auto& [text, duration] : table) {
    const auto result = parse_go_duration(text);
    ASSERT_TRUE(result.ok()) << text;
    EXPECT_EQ(*result, duration) << text;
  }
}

TEST(GoDuration, RefusesWithGoTexts) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"zz", "time: invalid duration \"zz\""},
      {"", "time: invalid duration \"\""},
      {"-", "time: invalid duration \"-\""},
      {"3", "time: missing unit in duration \"3\""},
      {"3x", "time: unknown unit \"x\" in duration \"3x\""},
      {".s", "time: invalid duration \".s\""},
      {"9999999999h", "time: invalid duration \"9999999999h\""},
      {"99999999999999999999s", "time: invalid duration \"99999999999999999999s\""},
      {"a\"b", "time: invalid duration \"a\\\"b\""}};
  for (const auto& [text, message] : table) {
    const auto result = parse_go_duration(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().message, message);
  }
}

TEST(Age, PrintsAsKubectl) {
  const std::vector<std::pair<Duration, std::string>> table = {
      {-2s, "<invalid>"}, {-1s, "0s"},         {0s, "0s"},           {119s, "119s"},
      {2min, "2m"},       {303s, "5m3s"},      {10min, "10m"},       {179min, "179m"},
      {3h, "3h"},         {3h + 5min, "3h5m"}, {8h + 5min, "8h"},    {47h, "47h"},
      {48h, "2d"},        {52h, "2d4h"},       {24h * 8, "8d"},      {24h * 729, "729d"},
      {24h * 730, "2y"},  {24h * 731, "2y1d"}, {24h * 365 * 8, "8y"}};
  for (const auto& [age, text] : table) {
    EXPECT_EQ(format_age(age), text);
  }
}

}  // namespace
}  // namespace athanor::time_test
