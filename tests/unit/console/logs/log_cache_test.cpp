// SPDX-License-Identifier: Apache-2.0
// Logs that are read in parts (docs/spec/dashboard.md L5).
#include "console/logs/log_cache.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace athanor::console::log_cache_test {
namespace {

using std::chrono::seconds;

ReadLog log_of(std::size_t bytes) {
  return {.lines = std::make_shared<const std::vector<LogLine>>(
              std::vector<LogLine>{{.text = std::string(bytes, 'x')}})};
}

TEST(LogCache, KeepsALogWhileItsPartsAreRead) {
  LogCache cache;
  const Instant now{};
  cache.keep("a", log_of(10), now);
  EXPECT_TRUE(cache.find("a", now + seconds(9)));
  EXPECT_TRUE(cache.find("a", now + seconds(18))) << "each part renews it";
  EXPECT_FALSE(cache.find("a", now + seconds(40)));
  EXPECT_FALSE(cache.find("b", now));
}

TEST(LogCache, LetsGoOfTheOldestFirst) {
  LogCache cache;
  const Instant now{};
  constexpr std::size_t kPart = std::size_t{12} << 20;
  cache.keep("a", log_of(kPart), now);
  cache.keep("b", log_of(kPart), now);
  cache.keep("c", log_of(kPart), now);
  EXPECT_FALSE(cache.find("a", now));
  EXPECT_TRUE(cache.find("b", now));
  EXPECT_TRUE(cache.find("c", now));
  cache.keep("d", log_of(4 * kPart), now);
  EXPECT_FALSE(cache.find("d", now)) << "more than all room";
  EXPECT_TRUE(cache.find("c", now));
}

}  // namespace
}  // namespace athanor::console::log_cache_test
