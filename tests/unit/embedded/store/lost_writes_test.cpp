// SPDX-License-Identifier: Apache-2.0
// Acknowledged writes that the database lost: the start is refused, and tells the way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "embedded/store/journal_sqlite.hpp"
#include "embedded/store/revision_mark.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::lost_writes_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kWrites = 40;

class LostWritesTest : public ::testing::Test {
 protected:
  [[nodiscard]] SqliteOptions options() const {
    return {.path = file(), .mark = place_.path() + "/revision"};
  }
  [[nodiscard]] std::string file() const { return place_.path() + "/store.db"; }
  [[nodiscard]] std::string log() const { return file() + "-wal"; }
  // Writes until all is acknowledged, then dies without closing: all is in the write-ahead log.
  void run_and_kill(const SqliteOptions& with) const {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::open(sqlite_journal(with), {});
      for (int i = 0; store.ok() && i < kWrites; ++i) {
        (void)commit(**store, {put({"n", std::to_string(i)}, std::string(300, 'x'))});
      }
      std::promise<void> settled;
      (*store)->when_durable((*store)->revision(),
                             [&](const Result<void>&) { settled.set_value(); });
      settled.get_future().wait();
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
  }
  void expect_refusal(std::string_view newest) const {
    const auto refused = Store::open(sqlite_journal(options()), {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().reason, "DataCorrupted");
    EXPECT_THAT(refused.error().message,
                HasSubstr("its newest revision is " + std::string(newest)));
    EXPECT_THAT(refused.error().message, HasSubstr("writes up to revision 40 were acknowledged"));
    EXPECT_THAT(refused.error().message, HasSubstr("--repair"));
  }

 private:
  TemporaryDirectory place_{};
};

TEST_F(LostWritesTest, LosesNothingByKillWithoutFalseAlarm) {
  run_and_kill(options());
  EXPECT_EQ(open_store(sqlite_journal(options()))->count("configmaps", ""), kWrites);
}

TEST_F(LostWritesTest, RefusesMissingLogUntilLossIsAccepted) {
  open_store(sqlite_journal(options())).reset();
  run_and_kill(options());
  fs::remove(log());
  fs::remove(file() + "-shm");
  expect_refusal("0");
  expect_refusal("0");  // a refusal accepts nothing
  SqliteOptions repair = options();
  repair.repair = true;
  auto store = open_store(sqlite_journal(repair));
  ASSERT_NE(store, nullptr);
  EXPECT_GE(store->revision(), Revision{40} + 1'000'000) << "no revision is given out twice";
  EXPECT_FALSE(store->events_after("configmaps", 0, 0).ok()) << "a watch went on over the loss";
  ASSERT_TRUE(commit(*store, {put({"n", "new"}, "1")}).ok());
  store.reset();
  EXPECT_EQ(open_store(sqlite_journal(options()))->count("configmaps", ""), 1U);
}

TEST_F(LostWritesTest, RefusesDamagedLogAndKeepsIt) {
  run_and_kill(options());
  {
    std::fstream bytes(log(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(32 + (20 * 4120) + 2000));
    bytes.put('\x5a');
  }
  const auto size = fs::file_size(log());
  const auto refused = Store::open(sqlite_journal(options()), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("were acknowledged"));
  EXPECT_EQ(fs::file_size(log()), size) << "what could be salvaged is gone";
}

TEST_F(LostWritesTest, AnEmptiedOrMissingDatabaseIsRefused) {
  run_and_kill(options());
  fs::resize_file(file(), 0);
  expect_refusal("0");
  EXPECT_TRUE(fs::exists(log()));
  fs::remove(file());
  expect_refusal("0");
}

TEST_F(LostWritesTest, AnOlderCopyIsRefused) {
  open_store(sqlite_journal(options())).reset();
  fs::copy_file(file(), file() + ".old");
  run_and_kill(options());
  open_store(sqlite_journal(options())).reset();
  fs::rename(file() + ".old", file());
  EXPECT_FALSE(Store::open(sqlite_journal(options()), {}).ok());
}

TEST_F(LostWritesTest, WarnsOnlyWithoutDiskSync) {
  SqliteOptions unsafe = options();
  unsafe.sync = false;
  run_and_kill(unsafe);
  fs::remove(log());
  fs::remove(file() + "-shm");
  EXPECT_NE(open_store(sqlite_journal(options())), nullptr);
}

TEST_F(LostWritesTest, AMarkSurvivesATornWriteOfItself) {
  const std::string path = options().mark;
  for (const std::size_t torn : {std::size_t{0}, std::size_t{512}}) {
    fs::remove(path);
    auto mark = RevisionMark::open(path);
    ASSERT_TRUE(mark.ok());
    EXPECT_FALSE(mark->last());
    EXPECT_FALSE(mark->damaged());
    ASSERT_TRUE(mark->note({.revision = 7, .synced = true}).ok());
    ASSERT_TRUE(mark->note({.revision = 9, .synced = true}).ok());
    ASSERT_TRUE(mark->sync().ok());
    {
      std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(static_cast<std::streamoff>(torn + 18));
      bytes.put('1');
    }
    const auto again = RevisionMark::open(path);
    ASSERT_TRUE(again->last());
    EXPECT_EQ(again->last()->revision, torn == 0 ? 9U : 7U);
  }
}

TEST_F(LostWritesTest, AnUnreadableMarkStopsNoStart) {
  run_and_kill(options());
  std::ofstream(options().mark) << std::string(1024, 'x');
  EXPECT_NE(open_store(sqlite_journal(options())), nullptr);
  EXPECT_TRUE(RevisionMark::open(options().mark)->last());
}

}  // namespace
}  // namespace athanor::store::lost_writes_test
