// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/log_level.hpp"

namespace athanor::log_test {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class Log : public testing::Test {
 protected:
  ~Log() override { log::configure(log::Level::Info, log::Format::Auto); }
};

TEST_F(Log, WritesOneJsonLinePerRecord) {
  log::configure(log::Level::Info, log::Format::Json);
  testing::internal::CaptureStderr();
  log::info("json record", {{"key", "a/b"}, {"count", 3}, {"text", "say \"hi\"\n\x01"}});
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_NE(out.find(R"("level":"info","msg":"json record","key":"a/b","count":"3")"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(R"("text":"say \"hi\"\n\u0001"})"), std::string::npos) << out;
  EXPECT_EQ(count(out, "\n"), 1U);
  EXPECT_EQ(out.find("{\"ts\":\"20"), 0U);
}

TEST_F(Log, WritesTextForTerminals) {
  log::configure(log::Level::Info, log::Format::Text);
  testing::internal::CaptureStderr();
  log::warn("text record", {{"key", "two words"}});
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_NE(out.find("text record"), std::string::npos);
  EXPECT_NE(out.find("\"two words\""), std::string::npos);
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << "a file is no terminal";
}

TEST_F(Log, HidesRecordsBelowTheLevel) {
  log::configure(log::Level::Warn, log::Format::Json);
  EXPECT_TRUE(log::enabled(log::Level::Error));
  EXPECT_FALSE(log::enabled(log::Level::Info));
  testing::internal::CaptureStderr();
  log::info("hidden record");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Log, TheMostVerboseSourceCounts) {
  log::configure(log::Level::Info, log::Format::Json);
  log::at_least("one", log::Level::Trace);
  log::at_least("other", log::Level::Debug);
  EXPECT_TRUE(log::enabled(log::Level::Trace));
  log::at_least("one", log::Level::Error);
  EXPECT_FALSE(log::enabled(log::Level::Trace));
  EXPECT_TRUE(log::enabled(log::Level::Debug));
  log::at_least("other", log::Level::Error);
  EXPECT_FALSE(log::enabled(log::Level::Debug));
  EXPECT_TRUE(log::enabled(log::Level::Info)) << "never below the command line's";
}

// The level is computed from all sources: while another thread does so, none loses what it has
// said.
TEST_F(Log, KeepsLevelsOfTwoThreads) {
  log::configure(log::Level::Info, log::Format::Json);
  std::atomic<int> lost{0};
  const auto ask = [&lost](std::string_view source, log::Level level) {
    for (int i = 0; i < 50'000; ++i) {
      log::at_least(source, level);
      lost += log::enabled(level) ? 0 : 1;
      log::at_least(source, log::Level::Error);
    }
  };
  std::thread one(ask, "one", log::Level::Debug);
  std::thread other(ask, "other", log::Level::Trace);
  one.join();
  other.join();
  EXPECT_EQ(lost, 0);
  EXPECT_FALSE(log::enabled(log::Level::Debug));
  EXPECT_TRUE(log::enabled(log::Level::Info));
}

TEST_F(Log, LimitsTheRateOfOneMessage) {
  log::configure(log::Level::Info, log::Format::Json);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    log::info("noisy record");
  }
  log::info("quiet record");
  const std::string out = testing::internal::GetCapturedStderr();
  // The loop may cross a second or two on a slow machine.
  EXPECT_GE(count(out, "\"msg\":\"noisy record\""), 10U);
  EXPECT_LE(count(out, "\"msg\":\"noisy record\""), 200U);
  EXPECT_EQ(count(out, "quiet record"), 1U);
}

TEST_F(Log, WritesEveryRecordThatIsWanted) {
  log::configure(log::Level::Info, log::Format::Json);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) {
    log::write_always(log::Level::Info, "wanted record");
    log::write_always(log::Level::Debug, "hidden record");
  }
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(out, "wanted record"), 100U);
  EXPECT_EQ(count(out, "hidden record"), 0U);
}

}  // namespace
}  // namespace athanor::log_test
