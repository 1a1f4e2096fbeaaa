// SPDX-License-Identifier: Apache-2.0
// The history of jobs: each uid once, beyond its object (docs/spec/dashboard.md B8).
#include "console/history/history.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "kube/text/yaml.hpp"

namespace athanor::console::history_test {
namespace {

Object job(const std::string& uid, const std::string& phase) {
  return Object(*yaml::parse(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: j, namespace: ns, "
      "uid: \"" +
      uid + "\", creationTimestamp: \"2026-01-01T00:00:0" + uid +
      "Z\"}, spec: {owner: ann}, status: {phase: " + phase +
      ", completionTime: \"2026-01-01T01:00:00Z\"}}"));
}

struct Folder {
  std::string path = testing::TempDir() + "console-history-" +
                     testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
  Folder() { clear(); }
  ~Folder() { clear(); }
  void clear() const {
    for (const char* end : {"", "-wal", "-shm"}) {
      std::remove((path + end).c_str());
    }
  }
};

std::unique_ptr<History> open(const std::string& path, const Clock& clock) {
  auto store = open_sqlite_history(path, "ns");
  EXPECT_TRUE(store.ok());
  return std::make_unique<History>(*std::move(store), clock, 0, nullptr);
}

TEST(History, KeepsEachUidOnceAcrossRestarts) {
  const Folder folder;
  const auto clock = wall_clock();
  {
    const auto history = open(folder.path, *clock);
    history->see(job("1", "Running"));
    history->see(job("1", "Succeeded"));
    history->see(job("1", "Succeeded"));
    history->see(job("2", "Failed"));
  }
  const auto store = open_sqlite_history(folder.path, "ns");
  ASSERT_TRUE(store.ok());
  const auto entries = (*store)->load(10);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().uid, "2") << "the newest first";
  EXPECT_EQ(entries->back().phase, "Succeeded");
  EXPECT_EQ((*store)->events("1")->size(), 2U);
}

// A lab runs for weeks: what is written moves from the log into the database meanwhile.
TEST(History, KeepsWriteAheadLogSmall) {
  const Folder folder;
  constexpr int kChanges = 4000;
  constexpr std::uintmax_t kMost = std::uintmax_t{8} << 20;
  const auto store = open_sqlite_history(folder.path, "ns");
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < kChanges; ++i) {
    ASSERT_TRUE((*store)
                    ->add_audit(Value::object({{"at", "2026-01-01T00:00:00Z"},
                                               {"user", std::to_string(i)},
                                               {"detail", std::string(4000, 'x')}}))
                    .ok());
  }
  EXPECT_LT(std::filesystem::file_size(folder.path + "-wal"), kMost);
}

TEST(History, TakesLateChangesOfEndedJobs) {
  const Folder folder;
  const auto clock = wall_clock();
  const auto history = open(folder.path, *clock);
  history->see(job("1", "Succeeded"));
  Value late = job("1", "Succeeded").body();
  late.set("spec", Value::object({{"owner", "bea"}}));
  history->see(Object(late));
  EXPECT_EQ((*history->rows())[0]["owner"].as_string(), "bea");
  EXPECT_EQ(history->find("ns", "j").front().object["spec"]["owner"].as_string(), "bea");
  const std::size_t events = history->events("1").size();
  EXPECT_LE(events, 1U) << "neither its phase nor its message changed";
}

TEST(History, ForgetsStatesOfDeletedJobs) {
  const auto clock = wall_clock();
  const auto history = open(":memory:", *clock);
  history->see(job("1", "Running"));
  history->see(job("2", "Running"));
  EXPECT_EQ(history->state().followed, 2U);
  history->gone(job("1", "Succeeded"));
  EXPECT_EQ(history->state().followed, 1U);
  EXPECT_EQ(history->find("ns", "j").front().phase, "Succeeded") << "its entry stays";
}

TEST(History, FindsTheNewestOfAName) {
  const auto clock = wall_clock();
  const auto history = open(":memory:", *clock);
  history->see(job("1", "Succeeded"));
  history->see(job("2", "Failed"));
  const auto found = history->find("ns", "j");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.front().uid, "2");
  EXPECT_EQ(history->rows()->size(), 2U);
  EXPECT_TRUE((*history->rows())[0]["archived"].as_bool());
  EXPECT_TRUE(history->find("other", "j").empty());
}

TEST(History, RemovesAnEntry) {
  const auto clock = wall_clock();
  const auto history = open(":memory:", *clock);
  history->see(job("1", "Succeeded"));
  EXPECT_TRUE(history->remove("1").ok());
  EXPECT_EQ(history->remove("1").error().code, 404);
  EXPECT_TRUE(history->rows()->empty());
}

TEST(History, ListsChangesNewestFirst) {
  const auto clock = wall_clock();
  const auto history = open(":memory:", *clock);
  history->note(Value::object({{"action", "first"}}));
  history->note(Value::object({{"action", "second"}}));
  const auto audit = history->audit(10);
  ASSERT_GE(audit.size(), 2U);
  EXPECT_EQ(audit[0]["action"].as_string(), "second");
}

}  // namespace
}  // namespace athanor::console::history_test
