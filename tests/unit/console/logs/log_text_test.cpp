// SPDX-License-Identifier: Apache-2.0
// Lines of logs: times, merging, searching (docs/spec/dashboard.md B7).
#include "console/logs/log_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::console::log_text_test {
namespace {

TEST(LogText, SplitsTimeFromText) {
  const auto lines = parse_log("2026-01-01T00:00:00.000000001Z a b\n2026-01-01T00:00:01Z \nplain");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text, "a b");
  EXPECT_EQ(nanoseconds_text(lines[0].at), "1767225600000000001");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "plain");
  EXPECT_EQ(nanoseconds_text(lines[2].at), "");
}

TEST(LogText, MergesByTimeKeepingOrder) {
  const auto merged =
      merge_logs({parse_log("2026-01-01T00:00:00.1Z a\nmore of a\n2026-01-01T00:00:02Z c"),
                  parse_log("2026-01-01T00:00:01Z b")});
  std::string text;
  for (const LogLine& line : merged) {
    text += line.text + ";";
  }
  EXPECT_EQ(text, "a;more of a;b;c;");
}

TEST(LogText, SearchesTheWholeLog) {
  std::string log;
  for (int i = 1; i <= 1000; ++i) {
    log += i % 100 == 0 ? "ERROR x\n" : "fine\n";
  }
  const auto lines = parse_log(log);
  const auto found = search_log(lines, {.text = "error"}, 3);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->total, 10U);
  EXPECT_EQ(found->numbers, (std::vector<std::size_t>{100, 200, 300}));
  EXPECT_EQ(search_log(lines, {.text = "error", .match_case = true}, 3)->total, 0U);
  EXPECT_EQ(search_log(lines, {.text = "^er+or", .regex = true}, 3)->total, 10U);
  EXPECT_FALSE(search_log(lines, {.text = "(", .regex = true}, 3).ok());
}

}  // namespace
}  // namespace athanor::console::log_text_test
