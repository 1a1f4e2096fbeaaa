// SPDX-License-Identifier: Apache-2.0
// Records of slices that came and went (docs/spec/dashboard.md B4.7).
#include "console/history/slice_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "console/history/history.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::slice_log_test {
namespace {

const Instant kNow = *parse_time("2026-01-02T00:00:00Z");

Object claim(const std::string& uid, int start) {
  return Object(*yaml::parse(
      "{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: {name: c" +
      uid + ", namespace: das, uid: \"" + uid +
      "\", creationTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {profile: 1g.5gb, podRef: {name: "
      "p, namespace: ns, uid: u}, migPlacement: {start: " +
      std::to_string(start) + ", size: 1}, gpuUUID: GPU-1, nodename: n1}}"));
}

TEST(SliceLog, RecordsClaimsThatComeAndGo) {
  SliceLog log;
  const auto came = log.see(claim("1", 4), kNow);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0]["type"].as_string(), "ADDED");
  EXPECT_EQ(came[0]["at"].as_string(), "2026-01-01T00:00:00.000000Z") << "made earlier than seen";
  EXPECT_EQ(came[0]["gpu"].as_string(), "GPU-1");
  EXPECT_EQ(came[0]["start"].as_int(), 4);
  EXPECT_EQ(came[0]["pod"].as_string(), "p");
  EXPECT_TRUE(log.see(claim("1", 4), kNow).empty());
  const auto went = log.gone(claim("1", 4), kNow);
  ASSERT_EQ(went.size(), 1U);
  EXPECT_EQ(went[0]["type"].as_string(), "DELETED");
  EXPECT_EQ(went[0]["at"].as_string(), "2026-01-02T00:00:00.000000Z");
  EXPECT_TRUE(log.gone(claim("1", 4), kNow).empty());
}

TEST(SliceLog, RecordsMoveAsTwoChanges) {
  SliceLog log;
  log.see(claim("1", 4), kNow);
  const auto moved = log.see(claim("1", 5), kNow);
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0]["type"].as_string(), "DELETED");
  EXPECT_EQ(moved[1]["start"].as_int(), 5);
}

TEST(SliceLog, IgnoresClaimsWithoutPlacement) {
  SliceLog log;
  EXPECT_TRUE(
      log.see(Object(*yaml::parse("{metadata: {name: c, uid: x}, spec: {}}")), kNow).empty());
}

TEST(SliceLog, FindsEndsAfterRestart) {
  SliceLog before;
  const auto first = before.see(claim("1", 1), kNow);
  const auto second = before.see(claim("2", 2), kNow);
  SliceLog log;
  EXPECT_TRUE(log.missed(kNow).empty()) << "neither loaded nor listed";
  log.load({first[0], second[0]});
  const auto again = log.see(claim("1", 1), kNow);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_FALSE(log.is_news(again[0])) << "the store has it";
  EXPECT_TRUE(log.listed({"1"}, kNow).empty());
  const auto ends = log.missed(kNow);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0]["claim"].as_string(), "2");
  EXPECT_EQ(ends[0]["type"].as_string(), "DELETED");
  EXPECT_TRUE(log.is_news(ends[0]));
  log.stored(ends[0]);
  EXPECT_FALSE(log.is_news(ends[0]));
  EXPECT_TRUE(log.missed(kNow).empty());
}

TEST(SliceLog, FindsEndsInLaterLists) {
  SliceLog log;
  log.see(claim("1", 1), kNow);
  const auto ends = log.listed({}, kNow);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0]["type"].as_string(), "DELETED");
}

TEST(History, KeepsChangesOfSlices) {
  const auto clock = wall_clock();
  auto store = open_sqlite_history(":memory:", "ns");
  ASSERT_TRUE(store.ok());
  History history(*std::move(store), *clock, 0, nullptr);
  history.see_slice(claim("1", 1));
  history.slices_listed({"1"});
  history.slice_gone(claim("1", 1));
  const auto changes = history.slice_changes(Instant{});
  ASSERT_TRUE(changes.ok());
  ASSERT_EQ(changes->size(), 2U) << "stored or queued";
  EXPECT_EQ(changes->front()["type"].as_string(), "ADDED");
  EXPECT_TRUE(history.slice_changes(clock->now() + std::chrono::hours(1))->empty());
}

}  // namespace
}  // namespace athanor::console::slice_log_test
