// SPDX-License-Identifier: Apache-2.0
// Power loss at any moment: acknowledged transactions are there, no half of another, no revision
// twice, and the history tells the same as the objects.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "embedded/store/journal_sqlite.hpp"
#include "unit/embedded/store/crash_disk.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::power_loss_test {
namespace {

constexpr int kKeys = 12;

Key key_of(const char* ns, int number) {
  return {ns, std::to_string(number)};
}

// The newest acknowledged revision of each key.
class Acknowledged {
 public:
  void note(int key, Revision revision) {
    const std::lock_guard lock(mutex_);
    newest_[key] = std::max(newest_[key], revision);
  }
  [[nodiscard]] std::map<int, Revision> all() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

 private:
  std::mutex mutex_{};
  std::map<int, Revision> newest_{};
};

// Writes pairs until the disk fails or enough is done.
void write_pairs(Store& store, std::mt19937& random, Acknowledged& acknowledged) {
  for (int i = 0; i < 150; ++i) {
    const int number = static_cast<int>(random() % kKeys);
    const std::string text(random() % 3000, 'x');
    const auto stored =
        commit(store, {put(key_of("n", number), text), put(key_of("twin", number), text)});
    if (!stored.ok()) {
      return;
    }
    const Revision revision = stored->front()->revision;
    store.when_durable(revision + 1, [&acknowledged, number, revision](const Result<void>& done) {
      if (done.ok()) {
        acknowledged.note(number, revision);
      }
    });
  }
}

void check_state(const Store& store, const std::map<int, Revision>& acknowledged) {
  for (int number = 0; number < kKeys; ++number) {
    const StoredPtr object = store.get("configmaps", key_of("n", number));
    const StoredPtr twin = store.get("configmaps", key_of("twin", number));
    ASSERT_EQ(object == nullptr, twin == nullptr) << "half of a transaction survived";
    if (object != nullptr) {
      EXPECT_EQ(object->revision + 1, twin->revision) << "half of a transaction survived";
    }
    if (const auto known = acknowledged.find(number); known != acknowledged.end()) {
      ASSERT_NE(object, nullptr);
      EXPECT_GE(object->revision, known->second) << "an acknowledged write is gone";
    }
  }
}

// The last event of each key is the object.
void check_history(const Store& store) {
  const auto events = store.events_after("configmaps", 0, 0);
  ASSERT_TRUE(events.ok()) << events.error().message;
  std::map<Key, Revision> newest;
  for (const EventPtr& event : *events) {
    newest[event->object->key] = event->revision;
  }
  for (const auto& [key, revision] : newest) {
    ASSERT_NE(store.get("configmaps", key), nullptr);
    EXPECT_EQ(store.get("configmaps", key)->revision, revision);
  }
  EXPECT_EQ(newest.size(), store.count("configmaps", ""));
}

class PowerLossTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(PowerLossTest, KeepsAcknowledgedWritesWhole) {
  const TemporaryDirectory place;
  CrashDisk disk(GetParam());
  std::mt19937 random(GetParam());
  Acknowledged acknowledged;
  Revision highest = 0;
  for (int round = 0; round < 4; ++round) {
    auto store = open_store(sqlite_journal({.path = place.path() + "/store.db",
                                            .mark = place.path() + "/revision",
                                            .probe_interval = std::chrono::milliseconds(1)}));
    ASSERT_NE(store, nullptr);
    EXPECT_GE(store->revision(), highest) << "revisions went back";
    check_state(*store, acknowledged.all());
    check_history(*store);
    const auto moment = acknowledged.all().size() + random() % kKeys;
    std::thread power([&] {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      while (acknowledged.all().size() < moment && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      disk.lose_power();
    });
    write_pairs(*store, random, acknowledged);
    power.join();
    highest = std::max(highest, store->durable_revision());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerLossTest, ::testing::Range(1U, 13U));

}  // namespace
}  // namespace athanor::store::power_loss_test
