// SPDX-License-Identifier: Apache-2.0
// Transitions of AppWrappers (docs/spec/dashboard.md B4.6).
#include "console/history/appwrapper_log.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "console/history/history.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::appwrapper_log_test {
namespace {

Object wrapper(const std::string& phase, int retries, const std::string& conditions = "") {
  return Object(*yaml::parse(
      "{kind: AppWrapper, metadata: {name: a, namespace: n, uid: u1, creationTimestamp: "
      "\"2026-01-01T00:00:00Z\"}, status: {phase: " +
      phase + ", resettingCount: " + std::to_string(retries) + ", conditions: [" + conditions +
      "]}}"));
}

constexpr const char* kReady =
    "{type: PodsReady, status: 'True', reason: SufficientPodsReady, message: 2 pods, "
    "lastTransitionTime: \"2026-01-01T00:00:07Z\"}";
constexpr const char* kUnhealthy =
    "{type: Unhealthy, status: 'True', reason: FoundFailedPods, message: 1 failed, "
    "lastTransitionTime: \"2026-01-01T00:00:05Z\"}";
const Instant kNow = *parse_time("2026-01-01T01:00:00Z");

TEST(AppWrapperLog, RecordsPhasesAndResets) {
  AppWrapperLog log;
  const auto first = log.see(wrapper("Running", 0, kReady), kNow);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)["at"].as_string(), "2026-01-01T00:00:07.000000Z") << "it was not seen before";
  EXPECT_EQ((*first)["reason"].as_string(), "SufficientPodsReady");
  EXPECT_FALSE(log.see(wrapper("Running", 0), kNow).has_value());
  const auto reset =
      log.see(wrapper("Resetting", 1, std::string(kReady) + ", " + kUnhealthy), kNow);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ((*reset)["at"].as_string(), "2026-01-01T01:00:00.000000Z");
  EXPECT_EQ((*reset)["condition"].as_string(), "Unhealthy") << "a fault explains more";
  EXPECT_EQ((*reset)["message"].as_string(), "1 failed");
  EXPECT_EQ((*reset)["retries"].as_int(), 1);
  EXPECT_TRUE(log.see(wrapper("Resetting", 2), kNow).has_value()) << "another reset";
}

TEST(AppWrapperLog, TakesTheTimeThatTheControllersNote) {
  AppWrapperLog log;
  ASSERT_TRUE(log.see(wrapper("Suspended", 0), kNow).has_value());
  const auto entered = log.see(wrapper("Resuming", 0,
                                       "{type: PhaseChanged, status: 'True', reason: Resuming, "
                                       "lastTransitionTime: \"2026-01-01T00:59:58Z\"}"),
                               kNow);
  ASSERT_TRUE(entered.has_value());
  EXPECT_EQ((*entered)["at"].as_string(), "2026-01-01T00:59:58.000000Z");
  EXPECT_FALSE(entered->contains("condition"));
}

TEST(AppWrapperLog, KeepsTransitionsAcrossRestarts) {
  const std::string path = testing::TempDir() + "console-transitions.db";
  const auto clear = [&] {
    for (const char* end : {"", "-wal", "-shm"}) {
      std::remove((path + end).c_str());
    }
  };
  clear();
  const auto clock = wall_clock();
  for (int start = 0; start < 2; ++start) {
    History history(*open_sqlite_history(path, "ns"), *clock, 0, nullptr);
    history.see_appwrapper(wrapper("Suspended", 0));
    if (start == 1) {
      history.see_appwrapper(wrapper("Running", 0));
      history.see_appwrapper(wrapper("Running", 0));
    }
    const auto seen = history.transitions("u1");
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(seen->size(), start == 0 ? 1U : 2U) << "also while they wait to be written";
    EXPECT_TRUE(history.transitions("other")->empty());
  }
  const auto store = open_sqlite_history(path, "ns");
  const auto kept = (*store)->transitions("u1", 10);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 2U);
  EXPECT_EQ((*kept)[1]["phase"].as_string(), "Running") << "the oldest first";
  EXPECT_EQ((*store)->transitions("u1", 1)->at(0)["phase"].as_string(), "Running");
  EXPECT_TRUE((*store)->remove_older(*parse_time("2100-01-01T00:00:00Z")).ok());
  EXPECT_TRUE((*store)->transitions("u1", 10)->empty());
  clear();
}

}  // namespace
}  // namespace athanor::console::appwrapper_log_test
