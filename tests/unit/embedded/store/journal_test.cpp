// SPDX-License-Identifier: Apache-2.0
// The SQLite journal: restarts, kill -9, damage, a full disk.
#include "embedded/store/journal_sqlite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <map>
#include <thread>

#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::journal_test {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Key kA{"default", "a"};
const Key kB{"default", "b"};
constexpr Revision kJump = 1'000'000;

class JournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return place_.path() + "/store.db"; }
  [[nodiscard]] std::string mark() const { return place_.path() + "/revision"; }
  [[nodiscard]] std::unique_ptr<Store> open() const {
    return open_store(sqlite_journal(options()));
  }
  [[nodiscard]] SqliteOptions options() const {
    return {.path = file(), .mark = mark(), .probe_interval = std::chrono::milliseconds(10)};
  }
  void execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

 private:
  TemporaryDirectory place_{};
};

// The outcome of waiting for a revision; fails the test instead of hanging.
Result<void> durable(Store& store, Revision revision) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto outcome = promise->get_future();
  store.when_durable(revision,
                     [promise](Result<void> result) { promise->set_value(std::move(result)); });
  if (outcome.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    return Error::internal("never became durable");
  }
  return outcome.get();
}

TEST_F(JournalTest, ContinuesAfterACleanEnd) {
  {
    auto store = open();
    ASSERT_TRUE(commit(*store, {put(kA, "1"), put(kB, "1")}).ok());
    ASSERT_TRUE(commit(*store, {put(kA, "2"), remove(kB)}).ok());
    EXPECT_TRUE(durable(*store, 4).ok());
    EXPECT_EQ(store->durable_revision(), 4U);
  }
  auto store = open();
  EXPECT_EQ(store->revision(), 4U);
  EXPECT_EQ(store->durable_revision(), 4U);
  EXPECT_EQ(store->oldest_revision(), 0U);
  ASSERT_NE(store->get("configmaps", kA), nullptr);
  EXPECT_EQ(store->get("configmaps", kA)->body["data"], "2");
  EXPECT_EQ(store->get("configmaps", kA)->revision, 3U);
  EXPECT_EQ(store->get("configmaps", kB), nullptr);
}

TEST_F(JournalTest, ClosingWritesQueuedRecords) {
  {
    auto store = open();
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(commit(*store, {put({"n", std::to_string(i)}, "x")}).ok());
    }
  }
  EXPECT_EQ(open()->count("configmaps", "n"), 500U);
}

TEST_F(JournalTest, KeepsEventsInMemoryUnlessAsked) {
  Write write = put(kA, "x");
  write.resource = "events";
  {
    auto store = open();
    ASSERT_TRUE(commit(*store, {write}).ok());
    EXPECT_TRUE(durable(*store, 1).ok());
  }
  SqliteOptions keeping = options();
  keeping.journal_events = true;
  {
    auto store = open_store(sqlite_journal(keeping));
    EXPECT_EQ(store->count("events", ""), 0U);
    EXPECT_EQ(store->revision(), 1U);
    ASSERT_TRUE(commit(*store, {write}).ok());
  }
  EXPECT_EQ(open()->count("events", ""), 1U);
}

TEST_F(JournalTest, ReportsProgressOfDurability) {
  auto store = open();
  std::promise<Revision> grew;
  auto token = store->listen_durable([&](Revision revision) { grew.set_value(revision); });
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());
  EXPECT_EQ(grew.get_future().get(), 1U);
}

TEST_F(JournalTest, NamesDamagedRows) {
  {
    auto store = open();
    ASSERT_TRUE(commit(*store, {put(kA, "one"), put(kB, "two")}).ok());
  }
  execute(
      "UPDATE object SET body = replace(body, 'two', 'tow') WHERE key = 'configmaps/default/b'");
  const auto store = Store::open(sqlite_journal(options()), {});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().reason, "DataCorrupted");
  EXPECT_THAT(store.error().message,
              HasSubstr("1 stored objects are damaged: configmaps/default/b (checksum mismatch)"));
}

TEST_F(JournalTest, RefusesAnUnknownFormat) {
  open().reset();
  execute("UPDATE meta SET value = 7 WHERE name = 'format'");
  const auto store = Store::open(sqlite_journal(options()), {});
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("its format 7 is not known"));
}

TEST_F(JournalTest, RefusesAFileThatIsNoDatabase) {
  FILE* garbage = std::fopen(file().c_str(), "w");
  ASSERT_NE(garbage, nullptr);
  for (int i = 0; i < 1000; ++i) {
    std::fputs("no database ", garbage);
  }
  std::fclose(garbage);
  const auto store = Store::open(sqlite_journal(options()), {});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().reason, "DataCorrupted");
}

// What the child of the kill test tells its parent, in one atomic write.
struct Acknowledgement {
  int key = 0;
  Revision revision = 0;
};

// Writes for ever from four threads; every acknowledged revision goes into the pipe.
[[noreturn]] void write_until_killed(const std::string& file, int pipe) {
  auto store = Store::open(sqlite_journal({.path = file}), {});
  if (!store.ok()) {
    ::_exit(1);
  }
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0;; ++i) {
        const int number = writer + (4 * (i % 50));
        auto stored = commit(**store, {put({"n", std::to_string(number)}, std::string(500, 'x')),
                                       put({"twin", std::to_string(number)}, "y")});
        std::promise<bool> acknowledged;
        const Revision revision = (*stored)[0]->revision;
        (*store)->when_durable(
            revision + 1, [&](const Result<void>& result) { acknowledged.set_value(result.ok()); });
        const Acknowledgement done{.key = number, .revision = revision};
        if (!acknowledged.get_future().get() ||
            ::write(pipe, &done, sizeof(done)) != sizeof(done)) {
          ::_exit(2);
        }
      }
    });
  }
  writers.front().join();
  ::_exit(3);
}

// Runs such a child until `count` acknowledgements came, kills it, and returns all that it made:
// the newest one of every key.
std::map<int, Revision> run_and_kill(const std::string& file, int count) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    write_until_killed(file, ends[1]);
  }
  ::close(ends[1]);
  std::map<int, Revision> newest;
  Acknowledgement done;
  for (int i = 0; ::read(ends[0], &done, sizeof(done)) == sizeof(done); ++i) {
    newest[done.key] = std::max(newest[done.key], done.revision);
    if (i == count) {
      ::kill(child, SIGKILL);
    }
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << status;
  return newest;
}

TEST_F(JournalTest, KeepsEveryAcknowledgedWriteWhenKilled) {
  Revision highest = 0;
  for (int round = 0; round < 4; ++round) {
    const auto acknowledged = run_and_kill(file(), 150 + (round * 37));
    auto store = open();
    ASSERT_NE(store, nullptr);
    ASSERT_FALSE(acknowledged.empty());
    for (const auto& [key, revision] : acknowledged) {
      const StoredPtr object = store->get("configmaps", {"n", std::to_string(key)});
      const StoredPtr twin = store->get("configmaps", {"twin", std::to_string(key)});
      ASSERT_NE(object, nullptr);
      ASSERT_NE(twin, nullptr);
      EXPECT_GE(object->revision, revision);
      EXPECT_EQ(object->revision + 1, twin->revision) << "half of a transaction survived";
      EXPECT_GT(revision, highest) << "a revision was used twice";
      EXPECT_GT(store->revision(), twin->revision);
    }
    EXPECT_GE(store->revision(), highest + kJump);
    highest = store->revision();
  }
}

TEST_F(JournalTest, ReportsAFullDatabaseAndRefusesCommits) {
  SqliteOptions small = options();
  small.max_pages = 40;
  auto store = open_store(sqlite_journal(small));
  ASSERT_TRUE(commit(*store, {put(kA, std::string(60'000, 'a'))}).ok());
  ASSERT_TRUE(durable(*store, 1).ok());
  ASSERT_TRUE(commit(*store, {put(kB, std::string(150'000, 'b'))}).ok());
  const auto full = durable(*store, 2);
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.error().message, HasSubstr("full"));
  // Visible, not durable, and whoever asks late hears so, too.
  EXPECT_NE(store->get("configmaps", kB), nullptr);
  EXPECT_EQ(store->durable_revision(), 1U);
  EXPECT_FALSE(durable(*store, 2).ok());
  const auto refused = commit(*store, {put(kA, "1")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 500);
  EXPECT_EQ(refused.error().reason, "InternalError");
  EXPECT_THAT(refused.error().message, HasSubstr("the store cannot be written: "));
  EXPECT_EQ(store->revision(), 2U);
}

// Files of this process cannot grow beyond a size while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(JournalTest, RecoversByItselfWhenSpaceReturns) {
  auto store = open();
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());
  ASSERT_TRUE(durable(*store, 1).ok());
  {
    const FileSizeLimit limit(100'000);
    ASSERT_TRUE(commit(*store, {put(kB, std::string(200'000, 'b'))}).ok());
    ASSERT_FALSE(durable(*store, 2).ok());
    EXPECT_FALSE(commit(*store, {put(kA, "2")}).ok());
  }
  // Memory and disk agree again without a further write, and the waiters hear of it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store->durable_revision() < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  ASSERT_EQ(store->durable_revision(), 2U);
  EXPECT_TRUE(durable(*store, 2).ok());
  ASSERT_TRUE(commit(*store, {put(kA, "3")}).ok());
  EXPECT_TRUE(durable(*store, 3).ok());
  store.reset();
  store = open();
  EXPECT_EQ(store->revision(), 3U);
  EXPECT_EQ(store->get("configmaps", kA)->body["data"], "3");
  EXPECT_EQ(store->get("configmaps", kB)->body["data"].as_string().size(), 200'000U);
}

}  // namespace
}  // namespace athanor::store::journal_test
