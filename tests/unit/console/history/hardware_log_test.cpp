// SPDX-License-Identifier: Apache-2.0
// Records of the GPUs of clusters (docs/spec/dashboard.md B4.5).
#include "console/history/hardware_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

#include "console/history/history.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::hardware_log_test {
namespace {

const Instant kNow = *parse_time("2026-01-31T00:00:00Z");

Object cluster(const std::string& gpus) {
  return Object(*yaml::parse("{metadata: {name: c1, namespace: h}, spec: {hardware: {gpus: [" +
                             gpus + "]}}}"));
}
Object a100(int count) {
  return cluster("{shortName: a100, count: " + std::to_string(count) + "}");
}

TEST(HardwareLog, RecordsChangesAlone) {
  HardwareLog log;
  EXPECT_FALSE(log.see(Object(*yaml::parse("{metadata: {name: c1}, spec: {}}")), kNow))
      << "not discovered";
  const auto first = log.see(a100(8), kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)["gpus"]["a100"].as_int(), 8);
  EXPECT_FALSE(log.see(a100(8), kNow));
  EXPECT_TRUE(log.see(a100(6), kNow));
  // Two models of one short name are one number.
  EXPECT_FALSE(log.see(cluster("{shortName: a100, count: 4}, {shortName: a100, count: 2}"), kNow));
}

TEST(HardwareLog, BoundsSumsOfHugeCounts) {
  const std::string huge = "count: 9223372036854775807";
  HardwareLog log;
  const auto record = log.see(cluster("{shortName: a100, " + huge + "}, {shortName: a100, " + huge +
                                      "}, {shortName: h200, " + huge + "}"),
                              kNow);
  ASSERT_TRUE(record);
  EXPECT_EQ((*record)["gpus"]["a100"].as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(log.course("c1", kNow, kNow)[0]["gpus"].as_int(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(HardwareLog, ShowsTheStateBeforeTheRange) {
  HardwareLog log;
  log.see(a100(8), kNow - std::chrono::days(40));
  log.see(a100(6), kNow - std::chrono::days(10));
  const Value course = log.course("c1", kNow - std::chrono::days(30), kNow);
  ASSERT_EQ(course.size(), 3U);
  EXPECT_EQ(course[0]["at"].str(), "2026-01-01T00:00:00Z");
  EXPECT_EQ(course[0]["gpus"].as_int(), 8);
  EXPECT_EQ(course[1]["gpus"].as_int(), 6);
  EXPECT_EQ(course[2]["at"].str(), "2026-01-31T00:00:00Z");
  EXPECT_EQ(log.course("c1", kNow - std::chrono::days(5), kNow).size(), 2U);
  EXPECT_EQ(log.course("other", kNow - std::chrono::days(5), kNow).size(), 0U);
}

TEST(HardwareLog, GoesOnAfterRestart) {
  HardwareLog before;
  const Value stored = *before.see(a100(8), kNow - std::chrono::days(2));
  HardwareLog log;
  const auto again = log.see(a100(8), kNow);
  ASSERT_TRUE(again) << "the store has not been read";
  log.load({stored});
  EXPECT_FALSE(log.is_news(*again));
  EXPECT_EQ(log.course("c1", kNow - std::chrono::days(5), kNow).size(), 2U);
  const auto other = log.see(a100(4), kNow);
  ASSERT_TRUE(other);
  EXPECT_TRUE(log.is_news(*other));
  log.stored(*other);
  EXPECT_FALSE(log.is_news(*other));
}

TEST(HardwareLog, KeepsTheNewestRecordInTheStore) {
  auto store = open_sqlite_history(":memory:", "jobs");
  ASSERT_TRUE(store.ok());
  HardwareLog log;
  for (const int days : {100, 95, 1}) {
    ASSERT_TRUE((*store)->add_hardware(*log.see(a100(days), kNow - std::chrono::days(days))).ok());
  }
  ASSERT_TRUE((*store)->remove_older(kNow - std::chrono::days(90)).ok());
  EXPECT_EQ((*store)->hardware(10)->size(), 1U);
  ASSERT_TRUE((*store)->remove_older(kNow).ok());
  const auto left = (*store)->hardware(10);
  ASSERT_EQ(left->size(), 1U) << "it is what the cluster has now";
  EXPECT_EQ((*left)[0]["gpus"]["a100"].as_int(), 1);
}

}  // namespace
}  // namespace athanor::console::hardware_log_test
