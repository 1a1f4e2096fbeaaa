// SPDX-License-Identifier: Apache-2.0
// Logs that are asked for before their container wrote anything.
#include "embedded/nodes/process/logs/log_stream.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace athanor::nodes::log_stream_test {
namespace {

class LogStreamsTest : public ::testing::Test {
 protected:
  LogStreamsTest() {
    std::string name = ::testing::TempDir() + "athanor-logs-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~LogStreamsTest() override { std::filesystem::remove_all(folder); }
  LogStreamsTest(const LogStreamsTest&) = delete;
  LogStreamsTest& operator=(const LogStreamsTest&) = delete;

  Result<std::unique_ptr<net::Stream>> open(apiserver::LogOptions options, bool running) {
    options.container = "c";
    return logs.open((folder / "c.log").string(), "uid", options, running);
  }

  std::filesystem::path folder{};
  LogStreams logs{};
};

// The spawner makes the file a moment after the container counts as running.
TEST_F(LogStreamsTest, OpensLogOfRunningContainerBeforeItsFile) {
  EXPECT_TRUE(open({.follow = true}, true).ok());
  EXPECT_TRUE(open({}, true).ok());
}

TEST_F(LogStreamsTest, OneThatDoesNotRunHasNoneYet) {
  const auto log = open({.follow = true}, false);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, 404);
}

TEST_F(LogStreamsTest, MakesNoLogOfUnknownContainer) {
  EXPECT_FALSE(open({.previous = true}, true).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace athanor::nodes::log_stream_test
