// SPDX-License-Identifier: Apache-2.0
// Evictions that outlive their Workloads (docs/spec/dashboard.md B4.11).
#include "console/history/eviction_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "console/data/overview.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::eviction_log_test {
namespace {

const Instant kNow = *parse_time("2026-01-01T12:00:00Z");

Object workload(const std::string& ns, int count) {
  return Object(yaml::parse("{metadata: {name: w, namespace: " + ns + ", uid: u-" + ns +
                            "}, spec: {queueName: q}, status: {schedulingStats: {evictions: "
                            "[{reason: Preempted, count: " +
                            std::to_string(count) + "}]}}}")
                    .value());
}

TEST(EvictionLog, RecordsNewEvictions) {
  EvictionLog log;
  EXPECT_FALSE(log.see(workload("a", 0), kNow));
  EXPECT_TRUE(log.see(workload("a", 2), kNow));
  EXPECT_FALSE(log.see(workload("a", 2), kNow));
  EXPECT_TRUE(log.see(workload("a", 3), kNow + std::chrono::hours(1)));
  const auto found = log.since(format_time(kNow + std::chrono::minutes(1)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["count"].as_int(), 1);
}

TEST(EvictionLog, CountsNothingTwiceAfterLoading) {
  EvictionLog before;
  const auto record = before.see(workload("a", 2), kNow);
  EvictionLog log;
  const auto again = log.see(workload("a", 2), kNow + std::chrono::hours(2));
  ASSERT_TRUE(again);
  log.load({*record});
  EXPECT_FALSE(log.is_news(*again));
  ASSERT_EQ(log.since("").size(), 1U);
  EXPECT_EQ(log.since("")[0]["count"].as_int(), 2);
  EXPECT_TRUE(log.see(workload("a", 5), kNow));
  EXPECT_EQ(log.since("")[1]["count"].as_int(), 3);
}

TEST(EvictionLog, CountsOnlyNewEvictionsOfTheOldestRecord) {
  EvictionLog before;
  before.see(workload("a", 900), kNow);
  const auto kept = before.see(workload("a", 901), kNow);
  ASSERT_TRUE(kept);
  EvictionLog log;
  log.load({*kept});  // the store has dropped the record before
  EXPECT_EQ(log.since("")[0]["count"].as_int(), 1);
}

TEST(Insights, TellQueuesOfOneNameApart) {
  EvictionLog log;
  log.see(workload("a", 2), kNow);
  log.see(workload("b", 1), kNow);
  const std::vector<Value> evictions = log.since("");
  const Value page =
      insights({.evictions = evictions}, kNow - std::chrono::hours(24), kNow)["evictions"];
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0]["ns"].str() + "/" + page[0]["queue"].str(), "a/q");
  EXPECT_EQ(page[0]["count"].as_int(), 2);
}

TEST(Insights, MeasureHoursOfGpusAgainstQuota) {
  const std::vector<Value> clusters{
      *json::parse(R"({"name":"c","gpus":[{"type":"a100","total":8}]})")};
  // Half of the GPUs from 10:00 to 10:30, and a job without GPUs.
  const std::vector<Value> jobs{
      *json::parse(R"({"cluster":"c","phase":"Succeeded","hardware":{"gpuCount":4},)"
                   R"("started":"2026-01-01T10:00:00Z","completed":"2026-01-01T10:30:00Z"})"),
      *json::parse(R"({"cluster":"c","phase":"Running","started":"2026-01-01T10:00:00Z"})")};
  const Value hours = insights({.jobs = jobs, .clusters = clusters}, kNow - std::chrono::hours(24),
                               kNow)["utilisation"];
  ASSERT_EQ(hours.size(), 24U);
  EXPECT_DOUBLE_EQ(hours[10]["percent"].as_double(), 25.0);
  EXPECT_DOUBLE_EQ(hours[11]["percent"].as_double(), 0.0);
}

}  // namespace
}  // namespace athanor::console::eviction_log_test
