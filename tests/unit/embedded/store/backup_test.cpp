// SPDX-License-Identifier: Apache-2.0
// Backup and restore of a data directory.
#include "embedded/store/backup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "embedded/store/data_dir.hpp"
#include "embedded/store/journal_sqlite.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::backup_test {
namespace {

using ::testing::HasSubstr;

const Key kA{"default", "a"};

class BackupTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return place_.path() + "/" + name;
  }
  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string read_file(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::unique_ptr<Store> open(const std::string& name) const {
    return open_store(sqlite_journal({.path = path(name) + "/store.db"}));
  }
  [[nodiscard]] DataDirectory make_origin() const {
    auto directory = DataDirectory::open(path("origin"));
    EXPECT_TRUE(directory.ok());
    EXPECT_EQ(::mkdir(path("origin/pki").c_str(), 0700), 0);
    write_file("origin/pki/ca.key", "secret");
    write_file("origin/tokens.csv", "a,b");
    return *std::move(directory);
  }

 private:
  TemporaryDirectory place_{};
};

void settle(Store& store) {
  std::promise<void> settled;
  store.when_durable(store.revision(), [&](const Result<void>&) { settled.set_value(); });
  settled.get_future().wait();
}

TEST_F(BackupTest, ARunningStoreComesBackElsewhere) {
  const DataDirectory origin = make_origin();
  auto store = open("origin");
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());
  settle(*store);
  ASSERT_TRUE(backup(origin.path(), path("file")).ok());
  ASSERT_TRUE(commit(*store, {put(kA, "2")}).ok());
  const auto restored = restore(path("file"), path("copy"));
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  const auto copy = open("copy");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->get("configmaps", kA)->body["data"], "1");
  EXPECT_EQ(read_file("copy/pki/ca.key"), "secret");
  EXPECT_EQ(read_file("copy/tokens.csv"), "a,b");
  struct stat status {};
  ASSERT_EQ(::stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  // Revisions that the origin gave out since mean nothing here.
  EXPECT_GT(copy->revision(), store->revision());
  EXPECT_FALSE(copy->events_after("configmaps", 1, 0).ok());
}

// Each transaction writes two objects with one number: no backup has half of one.
TEST_F(BackupTest, IsConsistentUnderLoad) {
  const DataDirectory origin = make_origin();
  auto store = open("origin");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string text = std::to_string(i) + std::string(2000, 'x');
      const std::string name = std::to_string(i % 40);
      EXPECT_TRUE(commit(*store, {put({"n", name}, text), put({"twin", name}, text)}).ok());
      settle(*store);
    }
  });
  for (int round = 0; round < 3; ++round) {
    const auto done = backup(origin.path(), path("file"));
    EXPECT_TRUE(done.ok()) << done.error().message;
    const std::string name = "copy" + std::to_string(round);
    EXPECT_TRUE(restore(path("file"), path(name)).ok());
    const auto copy = open(name);
    for (int i = 0; copy != nullptr && i < 40; ++i) {
      const StoredPtr object = copy->get("configmaps", {"n", std::to_string(i)});
      const StoredPtr twin = copy->get("configmaps", {"twin", std::to_string(i)});
      ASSERT_EQ(object == nullptr, twin == nullptr);
      if (object != nullptr) {
        EXPECT_EQ(object->body["data"], twin->body["data"]);
      }
    }
  }
  stop = true;
  writer.join();
}

TEST_F(BackupTest, RefusesExistingTargetsAndUnreadableSources) {
  EXPECT_EQ(backup(path("nothing"), path("file")).error().code, 404);
  {
    const DataDirectory origin = make_origin();
    open("origin").reset();
    ASSERT_TRUE(backup(origin.path(), path("file")).ok());
    EXPECT_EQ(restore(path("file"), origin.path()).error().reason, "Locked");
  }
  EXPECT_EQ(restore(path("file"), path("origin")).error().reason, "AlreadyExists");
  EXPECT_EQ(restore(path("missing"), path("copy")).error().code, 404);
  write_file("garbage", std::string(5000, 'g'));
  const auto refused = restore(path("garbage"), path("copy"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("no complete backup"));
}

}  // namespace
}  // namespace athanor::store::backup_test
