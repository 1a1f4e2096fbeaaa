// SPDX-License-Identifier: Apache-2.0
// The store in memory: expectations, revisions, lists now and then, events, owners, listeners.
#include "embedded/store/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "embedded/store/rows.hpp"
#include "kube/text/json.hpp"
#include "kube/value/value_extent.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::store_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Key kA{"default", "a"};
const Key kB{"default", "b"};
const Key kC{"other", "c"};

std::vector<std::string> texts(const Result<Page>& page) {
  std::vector<std::string> texts;
  if (!page.ok()) {
    texts.push_back(page.error().reason);
    return texts;
  }
  for (const StoredPtr& object : page->items) {
    texts.push_back(object->key.text() + "=" + object->body["data"].str());
  }
  return texts;
}

TEST(StoreTest, StampsEveryWriteWithItsOwnRevision) {
  auto store = open_store();
  const auto stored = commit(*store, {put(kA, "1"), put(kB, "1")});
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)[0]->revision, 1U);
  EXPECT_EQ((*stored)[1]->revision, 2U);
  EXPECT_EQ((*stored)[1]->body["metadata"]["resourceVersion"], "2");
  EXPECT_EQ(store->revision(), 2U);
  EXPECT_EQ(store->durable_revision(), 2U);
  EXPECT_EQ(store->get("configmaps", kB), (*stored)[1]);
  EXPECT_EQ(store->get("secrets", kB), nullptr);
}

TEST(StoreTest, FindsTheSameByHash) {
  auto store = open_store(memory_journal(), {.hash = true});
  ASSERT_TRUE(commit(*store, {put(kC, "1"), put(kB, "1"), put(kA, "1")}).ok());
  ASSERT_TRUE(commit(*store, {put(kB, "2"), remove(kA)}).ok());
  EXPECT_EQ(store->get("configmaps", kB)->body["data"], "2");
  EXPECT_EQ(store->get("configmaps", kA), nullptr);
  EXPECT_THAT(texts(store->list("configmaps", {})), ElementsAre("default/b=2", "other/c=1"));
  ASSERT_TRUE(commit(*store, {put(kA, "3")}).ok());
  EXPECT_THAT(texts(store->list("configmaps", {.ns = "default"})),
              ElementsAre("default/a=3", "default/b=2"));
  EXPECT_EQ(store->count("configmaps", ""), 3U);
}

struct Refusal {
  std::string name{};
  Write write{};
  int code = 0;
  std::string reason{};
  std::string message{};
};

TEST(StoreTest, RefusesWritesWhoseExpectationFails) {
  auto store = open_store();
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());
  const std::vector<Refusal> refusals = {
      {"create existing", put(kA, "2", 0), 409, "AlreadyExists",
       R"(configmaps "a" already exists)"},
      {"stale update", put(kA, "2", 7), 409, "Conflict",
       R"(Operation cannot be fulfilled on configmaps "a": the object has been modified; please )"
       "apply your changes to the latest version and try again"},
      {"update missing", put(kB, "2", 1), 404, "NotFound", R"(configmaps "b" not found)"},
      {"delete missing", remove(kB), 404, "NotFound", R"(configmaps "b" not found)"},
      {"stale delete", remove(kA, 7), 409, "Conflict",
       R"(Operation cannot be fulfilled on configmaps "a": the object has been modified; please )"
       "apply your changes to the latest version and try again"},
  };
  for (const Refusal& refusal : refusals) {
    // In a transaction behind a write that would work: nothing of it may stay.
    const auto outcome = commit(*store, {put(kC, "x"), refusal.write});
    ASSERT_FALSE(outcome.ok()) << refusal.name;
    EXPECT_EQ(outcome.error().code, refusal.code) << refusal.name;
    EXPECT_EQ(outcome.error().reason, refusal.reason) << refusal.name;
    EXPECT_EQ(outcome.error().message, refusal.message) << refusal.name;
  }
  EXPECT_EQ(store->revision(), 1U);
  EXPECT_EQ(store->get("configmaps", kC), nullptr);
}

TEST(StoreTest, AcceptsWritesWhoseExpectationHolds) {
  auto store = open_store();
  EXPECT_TRUE(commit(*store, {put(kA, "1", 0)}).ok());
  EXPECT_TRUE(commit(*store, {put(kA, "2", 1)}).ok());
  EXPECT_TRUE(commit(*store, {put(kA, "3")}).ok());
  const auto removed = commit(*store, {remove(kA, 3)});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ((*removed)[0]->body["data"], "3");
  EXPECT_EQ((*removed)[0]->body["metadata"]["resourceVersion"], "4");
  EXPECT_EQ(store->get("configmaps", kA), nullptr);
  EXPECT_EQ(store->count("configmaps", ""), 0U);
}

TEST(StoreTest, SeesEarlierWritesOfTheSameTransaction) {
  auto store = open_store();
  EXPECT_TRUE(
      commit(*store, {put(kA, "1", 0), put(kA, "2", 1), remove(kA, 2), put(kA, "3", 0)}).ok());
  EXPECT_EQ(store->get("configmaps", kA)->body["data"], "3");
  EXPECT_EQ(store->revision(), 4U);
}

TEST(StoreTest, ListsInKeyOrderPageByPage) {
  auto store = open_store();
  ASSERT_TRUE(commit(*store, {put(kC, "3"), put(kB, "2"), put(kA, "1")}).ok());
  EXPECT_THAT(texts(store->list("configmaps", {})),
              ElementsAre("default/a=1", "default/b=2", "other/c=3"));
  EXPECT_THAT(texts(store->list("configmaps", {.ns = "default"})),
              ElementsAre("default/a=1", "default/b=2"));
  const auto page = store->list("configmaps", {.limit = 1});
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->remaining, 2U);
  EXPECT_EQ(store->list("configmaps", {.ns = "default", .limit = 1})->remaining, 1U);
  EXPECT_EQ(store->list("configmaps", {.limit = 1, .after = kA})->remaining, 1U);
  EXPECT_EQ(store->list("configmaps", {.exactly = 2, .limit = 1})->remaining, 1U);
  EXPECT_EQ(page->revision, 3U);
  EXPECT_THAT(texts(store->list("configmaps", {.after = page->items.back()->key})),
              ElementsAre("default/b=2", "other/c=3"));
  EXPECT_THAT(texts(store->list("configmaps", {.ns = "other", .after = kA})),
              ElementsAre("other/c=3"));
  EXPECT_THAT(texts(store->list("secrets", {})), IsEmpty());
  EXPECT_EQ(store->count("configmaps", "default"), 2U);
  EXPECT_THAT(store->resources(), ElementsAre("configmaps"));
}

TEST(StoreTest, ListsStateOfAnyKeptRevision) {
  auto store = open_store();
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());  // 1
  ASSERT_TRUE(commit(*store, {put(kB, "1")}).ok());  // 2
  ASSERT_TRUE(commit(*store, {put(kA, "2")}).ok());  // 3
  ASSERT_TRUE(commit(*store, {remove(kB)}).ok());    // 4
  ASSERT_TRUE(commit(*store, {put(kC, "1")}).ok());  // 5
  ASSERT_TRUE(commit(*store, {put(kB, "9")}).ok());  // 6
  const std::vector<std::vector<std::string>> states = {
      {},
      {"default/a=1"},
      {"default/a=1", "default/b=1"},
      {"default/a=2", "default/b=1"},
      {"default/a=2"},
      {"default/a=2", "other/c=1"},
      {"default/a=2", "default/b=9", "other/c=1"},
  };
  for (Revision revision = 0; revision < states.size(); ++revision) {
    EXPECT_EQ(texts(store->list("configmaps", {.exactly = revision})), states[revision])
        << revision;
  }
  EXPECT_THAT(texts(store->list("configmaps", {.ns = "default", .exactly = 2, .after = kA})),
              ElementsAre("default/b=1"));
  EXPECT_THAT(texts(store->list("configmaps", {.exactly = 7})), ElementsAre("Timeout"));
}

TEST(StoreTest, AnswersExpiredBehindItsHistory) {
  auto store = open_store(memory_journal(), {.event_window = 2});
  for (const char* data : {"1", "2", "3", "4"}) {
    ASSERT_TRUE(commit(*store, {put(kA, data)}).ok());
  }
  EXPECT_EQ(store->oldest_revision(), 2U);
  EXPECT_THAT(texts(store->list("configmaps", {.exactly = 2})), ElementsAre("default/a=2"));
  const auto list = store->list("configmaps", {.exactly = 1});
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, 410);
  EXPECT_EQ(list.error().message, "The resourceVersion for the provided list is too old.");
  const auto events = store->events_after("configmaps", 1, 0);
  ASSERT_FALSE(events.ok());
  EXPECT_EQ(events.error().reason, "Expired");
  EXPECT_EQ(events.error().message, "too old resource version: 1 (2)");
}

TEST(StoreTest, TrimsEventsByAgeButKeepsTheNewest) {
  using std::chrono::minutes;
  auto store = open_store(memory_journal(), {.event_minimum = 1, .history = minutes(5)});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(commit(*store, {put(kA, "x")}, kStart + minutes(i)).ok());
  }
  store->trim(kStart + minutes(7));
  EXPECT_EQ(store->oldest_revision(), 2U);
  store->trim(kStart + minutes(60));
  EXPECT_EQ(store->oldest_revision(), 3U);
}

// An Event is packed when memory is given back: reads of it then make an object each.
bool is_packed(const Store& store, const Key& event) {
  return store.get("events", event) != store.get("events", event);
}

// Deletes so many objects, `a_sweep` of them between two sweeps; then sweeps `quiet` times more.
std::unique_ptr<Store> emptied_store(int count, int a_sweep, int quiet) {
  using std::chrono::seconds;
  auto store = open_store(memory_journal(), {.event_window = 1});
  Write event = put(kA, "x");
  event.resource = "events";
  EXPECT_TRUE(commit(*store, {event}).ok());
  const auto name = [](int number) { return Key{"default", "o" + std::to_string(number)}; };
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(commit(*store, {put(name(i), "x")}).ok());
  }
  Instant now = kStart;
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(commit(*store, {remove(name(i))}).ok());
    if ((i + 1) % a_sweep == 0 || i + 1 == count) {
      store->trim(now += seconds(10));
    }
  }
  for (int i = 0; i < quiet; ++i) {
    store->trim(now += seconds(10));
  }
  return store;
}

TEST(StoreTest, GivesMemoryBackAfterSlowDeletion) {
  EXPECT_TRUE(is_packed(*emptied_store(1'200, 300, 0), kA));
}

TEST(StoreTest, GivesMemoryBackWhenDeletionEnds) {
  EXPECT_FALSE(is_packed(*emptied_store(300, 100, 0), kA)) << "more may come";
  EXPECT_TRUE(is_packed(*emptied_store(300, 100, 2), kA));
}

TEST(StoreTest, IgnoresDeletionOfFewObjects) {
  EXPECT_FALSE(is_packed(*emptied_store(20, 10, 10), kA));
}

TEST(StoreTest, RecordsEventsThatShareTheStoredObjects) {
  auto store = open_store();
  ASSERT_TRUE(commit(*store, {put(kA, "1")}).ok());
  ASSERT_TRUE(commit(*store, {put(kB, "1")}).ok());
  ASSERT_TRUE(commit(*store, {put(kA, "2")}).ok());
  ASSERT_TRUE(commit(*store, {remove(kB)}).ok());
  const auto events = store->events_after("configmaps", 0, 0);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 4U);
  EXPECT_EQ((*events)[0]->type, Event::Type::Added);
  EXPECT_EQ((*events)[2]->type, Event::Type::Modified);
  EXPECT_EQ((*events)[2]->previous, (*events)[0]->object);
  EXPECT_EQ((*events)[2]->object, store->get("configmaps", kA));
  EXPECT_EQ((*events)[3]->type, Event::Type::Deleted);
  EXPECT_EQ((*events)[3]->object->body["metadata"]["resourceVersion"], "4");
  EXPECT_EQ((*events)[3]->previous->body["metadata"]["resourceVersion"], "2");
  const auto some = store->events_after("configmaps", 1, 2);
  ASSERT_EQ(some->size(), 2U);
  EXPECT_EQ((*some)[0]->revision, 2U);
  EXPECT_THAT(*store->events_after("secrets", 0, 0), IsEmpty());
}

TEST(StoreTest, FollowsOwnerReferences) {
  auto store = open_store();
  const auto owned = [](const Key& key, const char* uid) {
    Write write = put(key, "x");
    write.body->set_path({"metadata", "ownerReferences"},
                         Value::list({Value::object({{"uid", uid}})}));
    return write;
  };
  ASSERT_TRUE(commit(*store, {owned(kA, "u1"), owned(kB, "u1"), owned(kC, "u2")}).ok());
  EXPECT_EQ(store->owned_by("u1").size(), 2U);
  ASSERT_TRUE(commit(*store, {owned(kB, "u2"), remove(kA)}).ok());
  EXPECT_THAT(store->owned_by("u1"), IsEmpty());
  ASSERT_EQ(store->owned_by("u2").size(), 2U);
  EXPECT_EQ(store->owned_by("u2")[0], store->get("configmaps", kB));
}

TEST(StoreTest, NotifiesListenersInRevisionOrder) {
  auto store = open_store();
  std::vector<Revision> heard;
  auto token = store->listen([&](std::span<const EventPtr> events) {
    for (const EventPtr& event : events) {
      heard.push_back(event->revision);
      // Reads inside a listener see the commit.
      EXPECT_GE(store->revision(), event->revision);
    }
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&store, writer] {
      for (int i = 0; i < 100; ++i) {
        const Key key{"w" + std::to_string(writer), std::to_string(i)};
        EXPECT_TRUE(commit(*store, {put(key, "x", 0)}).ok());
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  ASSERT_EQ(heard.size(), 400U);
  for (std::size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i], i + 1);
  }
  token.reset();
  ASSERT_TRUE(commit(*store, {put(kA, "x")}).ok());
  EXPECT_EQ(heard.size(), 400U);
}

TEST(StoreTest, ReadersSeeWholeTransactionsOnly) {
  auto store = open_store();
  ASSERT_TRUE(commit(*store, {put(kA, "0"), put(kB, "0")}).ok());
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop.load()) {
      const auto page = store->list("configmaps", {});
      EXPECT_EQ(page->items[0]->body["data"], page->items[1]->body["data"]);
    }
  });
  for (int i = 1; i < 500; ++i) {
    const std::string data = std::to_string(i);
    ASSERT_TRUE(commit(*store, {put(kA, data), put(kB, data)}).ok());
  }
  stop = true;
  reader.join();
}

TEST(StoreTest, RefusesCommitsOnceClosed) {
  auto store = open_store();
  store->close();
  const auto outcome = commit(*store, {put(kA, "1")});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, 503);
}

// A config map that is nested that deep.
Value deep_map(const Key& key, std::size_t levels) {
  Value data = "x";
  for (std::size_t i = 1; i < levels; ++i) {
    data = Value::object({{"a", data}});
  }
  Value object = config_map(key, "");
  object.set("data", std::move(data));
  return object;
}

TEST(StoreTest, RefusesDeeplyNestedObjects) {
  const auto store = open_store();
  const auto write = [&](std::size_t levels) {
    return commit(*store, {{.resource = "configmaps", .key = kA, .body = deep_map(kA, levels)}});
  };
  EXPECT_TRUE(write(kMaxObjectLevels).ok());
  const auto refused = write(kMaxObjectLevels + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 400);
}

// Holds one object from before there was a limit.
class OldJournal final : public Journal {
 public:
  Result<Recovered> recover() override {
    const std::string key = "configmaps/" + kA.ns + "/" + kA.name;
    Value body = deep_map(kA, 1500);
    body.set_path({"metadata", "resourceVersion"}, "7");
    const std::string text = json::print(body);
    ATHANOR_TRY(const StoredPtr row, read_row(key, 7, row_checksum(key, 7, text), text));
    return Recovered{.objects = {row}, .revision = 7};
  }
  void append(Revision /*revision*/, std::span<const EventPtr> /*events*/,
              std::function<void(Result<void>)> done) override {
    done({});
  }
  Result<void> writable() override { return {}; }
  void close() override {}
};

TEST(StoreTest, ReadsAndEndsDeepObjectsOfOldRows) {
  const auto store = open_store(std::make_unique<OldJournal>());
  ASSERT_NE(store, nullptr);
  const StoredPtr old = store->get("configmaps", kA);
  ASSERT_NE(old, nullptr);
  Value ending = old->body;
  ending.set_path({"metadata", "deletionTimestamp"}, "2026-11-20T10:00:00Z");
  EXPECT_TRUE(commit(*store, {{.resource = "configmaps", .key = kA, .body = ending}}).ok());
  EXPECT_FALSE(commit(*store, {{.resource = "configmaps", .key = kB, .body = ending}}).ok());
  EXPECT_TRUE(commit(*store, {remove(kA)}).ok());
}

TEST(StoreTest, NamesResourcesByPluralAndGroup) {
  EXPECT_EQ(resource_name("pods", ""), "pods");
  EXPECT_EQ(resource_name("deployments", "apps"), "deployments.apps");
}

}  // namespace
}  // namespace athanor::store::store_test
