// SPDX-License-Identifier: Apache-2.0
// Locks that have ended (docs/spec/dashboard.md B4.2).
#include "console/history/lock_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "console/history/history.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::lock_log_test {
namespace {

const Instant kNow = *parse_time("2026-01-01T12:00:00Z");

Object locked(const std::string& owner, const std::string& since, const std::string& expires) {
  return Object(yaml::parse("{metadata: {name: c, namespace: h}, spec: {owner: " + owner +
                            "}, status: {locked: true, ownerSetAt: '" + since +
                            "', lockExpiresAt: '" + expires + "'}}")
                    .value());
}

Object unlocked() {
  return Object(yaml::parse("{metadata: {name: c, namespace: h}, spec: {}, status: {}}").value());
}

TEST(LockLog, KeepsALockThatEnded) {
  LockLog log;
  EXPECT_EQ(log.see(locked("bob", "2026-01-01T11:00:00Z", "2026-01-01T15:00:00Z"), kNow).size(),
            1U);
  EXPECT_TRUE(log.see(locked("bob", "2026-01-01T11:00:00Z", "2026-01-01T16:00:00Z"), kNow).empty());
  EXPECT_TRUE(log.ended_since("").empty());
  EXPECT_EQ(log.see(unlocked(), kNow).size(), 1U);
  const auto ended = log.ended_since("2026-01-01T11:30:00Z");
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0]["holder"].str(), "bob");
  EXPECT_EQ(ended[0]["from"].str(), "2026-01-01T11:00:00Z");
  EXPECT_EQ(ended[0]["to"].str(), "2026-01-01T12:00:00Z");
  EXPECT_TRUE(log.ended_since("2026-01-01T12:30:00Z").empty());
}

TEST(LockLog, EndsOneThatExpiredUnseen) {
  LockLog before;
  const auto began =
      before.see(locked("bob", "2026-01-01T08:00:00Z", "2026-01-01T10:00:00Z"), kNow);
  LockLog log;
  EXPECT_TRUE(log.load(began, kNow).empty());
  EXPECT_FALSE(log.is_news(began[0]));
  const auto records = log.see(locked("ann", "2026-01-01T11:00:00Z", ""), kNow);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0]["to"].str(), "2026-01-01T10:00:00Z") << "no later than it may last";
  EXPECT_EQ(records[1]["holder"].str(), "ann");
  EXPECT_TRUE(log.is_news(records[0]));
}

TEST(LockLog, EndsLocksThatWereGoneBeforeLoading) {
  LockLog before;
  const auto began = before.see(locked("bob", "2026-01-01T08:00:00Z", ""), kNow);
  LockLog without;
  without.see(unlocked(), kNow);
  const auto ended = without.load(began, kNow);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0]["to"].str(), "2026-01-01T12:00:00Z");
  LockLog replaced;
  replaced.see(locked("ann", "2026-01-01T11:00:00Z", ""), kNow);
  ASSERT_EQ(replaced.load(began, kNow).size(), 1U);
  EXPECT_EQ(replaced.ended_since("")[0]["holder"].str(), "bob");
}

TEST(LockLog, EndsLockOfDeletedCluster) {
  LockLog log;
  log.see(locked("bob", "2026-01-01T11:00:00Z", ""), kNow);
  EXPECT_EQ(log.gone(unlocked(), kNow).size(), 1U);
  EXPECT_TRUE(log.gone(unlocked(), kNow).empty());
}

TEST(HistoryStore, KeepsRecordsByKind) {
  auto store = open_sqlite_history(":memory:", "jobs").value();
  LockLog log;
  const auto began = log.see(locked("bob", "2026-01-01T11:00:00Z", ""), kNow);
  ASSERT_TRUE(store->add_record(RecordKind::Lock, began[0]).ok());
  EXPECT_EQ(store->records(RecordKind::Lock, 10).value(), began);
  EXPECT_TRUE(store->records(RecordKind::Eviction, 10).value().empty());
}

TEST(HistoryStore, ReadsPhasesOfAllJobs) {
  auto store = open_sqlite_history(":memory:", "jobs").value();
  HistoryEntry entry{.uid = "u", .ns = "other", .name = "j", .created = "2026-01-01T11:00:00Z"};
  for (const auto& [phase, at] : {std::pair{"Pending", "2026-01-01T11:00:00.000000Z"},
                                  {"Running", "2026-01-01T11:00:05.000000Z"}}) {
    ASSERT_TRUE(
        store->put_live(entry, {.uid = "u", .phase = phase, .message = "m", .at = at}).ok());
  }
  const auto all = store->phases("", 10).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].phase, "Running");
  EXPECT_EQ(store->phases("2026-01-01T11:00:01.000000Z", 10).value().size(), 1U);
}

}  // namespace
}  // namespace athanor::console::lock_log_test
