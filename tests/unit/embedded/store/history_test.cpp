// SPDX-License-Identifier: Apache-2.0
// The past on disk: watches and exact lists beyond what memory holds, over restarts, within bounds.
#include "embedded/store/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <future>

#include "embedded/store/journal_sqlite.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::history_test {
namespace {

using ::testing::ElementsAre;

const Key kA{"default", "a"};
const Key kB{"default", "b"};
constexpr Duration kMinute = std::chrono::minutes(1);

class HistoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] SqliteOptions options() const { return {.path = place_.path() + "/store.db"}; }
  // Memory keeps three events, the disk has the rest.
  [[nodiscard]] static std::unique_ptr<Store> open(const SqliteOptions& journal) {
    return open_store(sqlite_journal(journal), {.recent_events = 3});
  }
  void execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(options().path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

 private:
  TemporaryDirectory place_{};
};

void settle(Store& store) {
  std::promise<void> settled;
  store.when_durable(store.revision(), [&](const Result<void>& result) {
    EXPECT_TRUE(result.ok());
    settled.set_value();
  });
  settled.get_future().wait();
}

void write(Store& store, std::vector<Write> writes, Instant now = kStart) {
  ASSERT_TRUE(commit(store, std::move(writes), now).ok());
  settle(store);
}

std::string summary(const Event& event) {
  const char* const types[] = {"+", "~", "-"};
  return types[static_cast<int>(event.type)] + std::to_string(event.revision) +
         event.object->key.name + event.object->body["data"].str() +
         (event.previous ? " was " + std::to_string(event.previous->revision) +
                               event.previous->key.name + event.previous->body["data"].str()
                         : "");
}

std::vector<std::string> events(const Store& store, Revision after) {
  const auto found = store.events_after("configmaps", after, 0);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  std::vector<std::string> texts;
  if (found.ok()) {
    for (const EventPtr& event : *found) {
      texts.push_back(summary(*event));
    }
  }
  return texts;
}

void tell_a_story(Store& store) {
  write(store, {put(kA, "1")});
  write(store, {put(kB, "1"), put(kA, "2")});
  write(store, {remove(kB)});
  write(store, {put(kA, "3")});
  write(store, {put(kB, "2")});
  write(store, {put(kA, "4")});
}

TEST_F(HistoryTest, EventsBeyondMemoryComeFromTheDisk) {
  auto store = open(options());
  tell_a_story(*store);
  EXPECT_THAT(events(*store, 0), ElementsAre("+1a1", "+2b1", "~3a2 was 1a1", "-4b1 was 2b1",
                                             "~5a3 was 3a2", "+6b2", "~7a4 was 5a3"));
  EXPECT_THAT(events(*store, 3),
              ElementsAre("-4b1 was 2b1", "~5a3 was 3a2", "+6b2", "~7a4 was 5a3"));
  EXPECT_THAT(events(*store, 6), ElementsAre("~7a4 was 5a3"));
  EXPECT_EQ(store->events_after("configmaps", 0, 2)->size(), 2U);
}

TEST_F(HistoryTest, ALargeTransactionIsReadBackWhole) {
  constexpr int kObjects = 40;
  const std::string large(20'000, 'x');
  const auto key = [](int number) { return Key{"default", "large-" + std::to_string(number)}; };
  {
    auto store = open(options());
    std::vector<Write> writes;
    for (int i = 0; i < kObjects; ++i) {
      writes.push_back(put(key(i), large));
    }
    write(*store, writes);
    writes.push_back(remove(key(0)));  // an object twice in one transaction
    write(*store, std::move(writes));
  }
  auto store = open(options());
  EXPECT_EQ(store->count("configmaps", ""), kObjects - 1U);
  EXPECT_EQ(store->get("configmaps", key(0)), nullptr);
  const auto found = store->events_after("configmaps", 0, 0);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2U * kObjects + 1);
  for (std::size_t i = 0; i < found->size(); ++i) {
    EXPECT_EQ((*found)[i]->revision, i + 1);
    EXPECT_EQ((*found)[i]->object->body["data"].as_string(), large);
    EXPECT_EQ((*found)[i]->previous == nullptr, i < kObjects) << i;
  }
}

TEST_F(HistoryTest, WatchesContinueAfterARestart) {
  {
    auto store = open(options());
    tell_a_story(*store);
  }
  auto store = open(options());
  EXPECT_EQ(store->oldest_revision(), 0U);
  EXPECT_THAT(events(*store, 4), ElementsAre("~5a3 was 3a2", "+6b2", "~7a4 was 5a3"));
  write(*store, {put(kA, "5")});
  EXPECT_THAT(events(*store, 6), ElementsAre("~7a4 was 5a3", "~8a5 was 7a4"));
}

TEST_F(HistoryTest, OlderStatesAreListedExactly) {
  auto store = open(options());
  tell_a_story(*store);
  const std::vector<std::vector<std::string>> states = {{},    {"1"}, {"1", "1"}, {"2", "1"},
                                                        {"2"}, {"3"}, {"3", "2"}, {"4", "2"}};
  for (std::size_t revision = 0; revision < states.size(); ++revision) {
    const auto page = store->list("configmaps", {.exactly = revision});
    ASSERT_TRUE(page.ok()) << revision;
    std::vector<std::string> data;
    for (const StoredPtr& item : page->items) {
      data.push_back(item->body["data"].str());
    }
    EXPECT_EQ(data, states[revision]) << revision;
  }
}

TEST_F(HistoryTest, ExactStatesEndAfterFiveMinutesWatchesLater) {
  auto store = open(options());
  tell_a_story(*store);
  for (int minute = 0; minute <= 4; ++minute) {
    store->trim(kStart + minute * kMinute);
  }
  EXPECT_TRUE(store->list("configmaps", {.exactly = 5}).ok());
  write(*store, {put(kA, "5")}, kStart + 5 * kMinute);
  store->trim(kStart + 6 * kMinute);
  const auto page = store->list("configmaps", {.exactly = 5});
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, 410);
  EXPECT_EQ(events(*store, 5).size(), 3U);
}

TEST_F(HistoryTest, CarriesDistantStateInEvent) {
  auto store = open(options());
  write(*store, {put(kA, "1")});
  std::vector<Write> filler;
  for (Revision i = 0; i <= kNear; ++i) {
    filler.push_back(put({"other", "x"}, "x"));
  }
  write(*store, std::move(filler));
  write(*store, {put(kA, "2")});
  write(*store, {put(kB, "1"), put(kB, "2"), put(kB, "3")});
  const Revision change = kNear + 3;
  EXPECT_EQ(events(*store, change - 1).front(), "~" + std::to_string(change) + "a2 was 1a1");
}

TEST_F(HistoryTest, SizeBoundsTheHistory) {
  SqliteOptions small = options();
  small.history.max_bytes = 200'000;
  auto store = open(small);
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(commit(*store, {put(kA, std::string(1000, 'x'))}).ok());
    settle(*store);
  }
  // What is left reaches less far than what a reader needs before its start.
  EXPECT_GT(store->oldest_revision(), 0U);
  const auto gone = store->events_after("configmaps", 1, 0);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, 410);
  EXPECT_EQ(events(*store, 598).size(), 2U);
  const Revision oldest = store->oldest_revision();
  store.reset();
  store = open(small);
  EXPECT_GE(store->oldest_revision(), std::min<Revision>(oldest, 600));
}

TEST_F(HistoryTest, EventObjectsHaveNoPastBehindARestart) {
  Write event = put(kA, "x");
  event.resource = "events";
  {
    auto store = open(options());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(commit(*store, {event}).ok());
    }
    EXPECT_EQ(store->events_after("events", 0, 0)->size(), 8U);
  }
  auto store = open(options());
  const auto gone = store->events_after("events", 3, 0);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, 410);
}

TEST_F(HistoryTest, AFormatWithoutHistoryIsUpgraded) {
  {
    auto store = open(options());
    write(*store, {put(kA, "1")});
  }
  execute(
      "DROP TABLE history; DELETE FROM meta WHERE name IN ('begin', 'pruned');"
      "UPDATE meta SET value = 1 WHERE name = 'format'");
  {
    auto store = open(options());
    EXPECT_EQ(store->oldest_revision(), 1U);
    EXPECT_FALSE(store->events_after("configmaps", 0, 0).ok());
    tell_a_story(*store);
  }
  auto store = open(options());
  EXPECT_EQ(events(*store, 1).front(), "~2a1 was 1a1");
}

TEST_F(HistoryTest, DamagedHistoryIsNotServed) {
  {
    auto store = open(options());
    tell_a_story(*store);
  }
  execute("UPDATE history SET body = zeroblob(length(body)) WHERE rv = 4");
  auto store = open(options());
  const auto gone = store->events_after("configmaps", 3, 0);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, 410);
}

TEST_F(HistoryTest, RepairGoesOnWithoutDamagedObjects) {
  {
    auto store = open(options());
    tell_a_story(*store);
  }
  execute("UPDATE object SET body = 'x' WHERE key = 'configmaps/default/b'");
  ASSERT_FALSE(Store::open(sqlite_journal(options()), {}).ok());
  SqliteOptions repairing = options();
  repairing.repair = true;
  {
    auto store = open(repairing);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->get("configmaps", kB), nullptr);
    EXPECT_NE(store->get("configmaps", kA), nullptr);
    EXPECT_FALSE(store->events_after("configmaps", 6, 0).ok());
  }
  EXPECT_NE(open(options()), nullptr);
}

}  // namespace
}  // namespace athanor::store::history_test
