// SPDX-License-Identifier: Apache-2.0
// Events that lie packed are read, listed, changed and deleted like any other object.
#include "embedded/store/packed_objects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::packed_objects_test {
namespace {

// A store whose events lie packed after each trim(), beside what a plain map holds.
class ColdTest : public ::testing::Test {
 protected:
  static constexpr int kMany = 3000;

  static Key key(int number) {
    return {number % 3 == 0 ? "blue" : "green", "event-" + std::to_string(number)};
  }
  void write(int number, std::optional<std::string> data) {
    Write write{.resource = "events", .key = key(number)};
    if (data) {
      write.body = config_map(write.key, *data);
    }
    ASSERT_TRUE(commit(*store_, {write}).ok());
    if (data) {
      model_[write.key] = *data;
    } else {
      model_.erase(write.key);
    }
  }
  void fill() {
    for (int i = 0; i < kMany; ++i) {
      write(i, "first");
    }
    store_->trim(kStart);
  }
  void expect_as_in_the_model() {
    auto all = store_->list("events", {});
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(all->items.size(), model_.size());
    auto expected = model_.begin();
    for (const StoredPtr& item : all->items) {
      ASSERT_EQ(item->key, expected->first);
      ASSERT_EQ(item->body["data"].as_string(), expected->second);
      ++expected;
    }
    EXPECT_EQ(store_->count("events", ""), model_.size());
    EXPECT_EQ(store_->count("events", "blue") + store_->count("events", "green"), model_.size());
  }

  // NOLINTNEXTLINE(cppcoreguidelines-non-private-member-variables-in-classes): a fixture's
  std::unique_ptr<Store> store_ =
      open_store(memory_journal(), {.event_window = 10, .event_minimum = 1});
  std::map<Key, std::string> model_{};
};

TEST_F(ColdTest, ReadsAreTheSame) {
  fill();
  expect_as_in_the_model();
  const StoredPtr one = store_->get("events", key(7));
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->revision, 8U);
  EXPECT_EQ(one->body["metadata"]["resourceVersion"], "8");
  EXPECT_NE(one, store_->get("events", key(7))) << "it should have been packed";
  EXPECT_EQ(store_->get("events", {"green", "event-none"}), nullptr);
  EXPECT_EQ(store_->get("events", {"", ""}), nullptr);
}

TEST_F(ColdTest, PagesCoverEveryObjectOnce) {
  fill();
  write(1, "changed");  // of both kinds on one page
  std::vector<Key> seen;
  ListOptions options{.ns = "green", .limit = 70};
  std::size_t left = store_->count("events", "green");
  while (true) {
    const auto page = store_->list("events", options);
    ASSERT_TRUE(page.ok());
    left -= page->items.size();
    for (const StoredPtr& item : page->items) {
      EXPECT_EQ(item->key.ns, "green");
      seen.push_back(item->key);
    }
    if (!page->more) {
      break;
    }
    EXPECT_EQ(page->remaining, left);
    options.after = seen.back();
  }
  EXPECT_EQ(seen.size(), store_->count("events", "green"));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(ColdTest, APageMayStartBeforeTheNamespace) {
  fill();
  const auto page =
      store_->list("events", {.ns = "green", .limit = 1, .after = Key{"blue", "event-0"}});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0]->key.ns, "green");
}

TEST_F(ColdTest, OldObjectsAreFoundByTheirRevision) {
  fill();
  write(5, "changed");
  const auto old = store_->list("events", {.written_until = 10});
  ASSERT_TRUE(old.ok());
  std::vector<Revision> revisions;
  for (const StoredPtr& item : old->items) {
    revisions.push_back(item->revision);
  }
  EXPECT_THAT(revisions, ::testing::UnorderedElementsAre(1, 2, 3, 4, 5, 7, 8, 9, 10));
}

TEST_F(ColdTest, AnOlderStateIsListedOverPackedObjects) {
  fill();
  const Revision before = store_->revision();
  write(3, "changed");
  write(6, std::nullopt);
  write(kMany, "new");
  const auto then = store_->list("events", {.exactly = before});
  ASSERT_TRUE(then.ok());
  ASSERT_EQ(then->items.size(), static_cast<std::size_t>(kMany));
  for (const StoredPtr& item : then->items) {
    EXPECT_EQ(item->body["data"].as_string(), "first");
  }
}

TEST_F(ColdTest, AnExpectedRevisionIsChecked) {
  fill();
  const Write wrong{.resource = "events",
                    .key = key(4),
                    .body = config_map(key(4), "x"),
                    .expected = Revision{1}};
  EXPECT_FALSE(commit(*store_, {wrong}).ok());
  const Write again{.resource = "events",
                    .key = key(4),
                    .body = config_map(key(4), "x"),
                    .expected = Revision{0}};
  EXPECT_FALSE(commit(*store_, {again}).ok()) << "it exists";
  expect_as_in_the_model();
}

TEST_F(ColdTest, KeepsStateOverMixedWritesAndPacking) {
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 1500; ++i) {
      const int number = static_cast<int>(random() % kMany);
      const bool there = model_.contains(key(number));
      if (there && random() % 3 == 0) {
        write(number, std::nullopt);
      } else {
        write(number, std::to_string(random() % 100));
      }
    }
    store_->trim(kStart);
    expect_as_in_the_model();
  }
  while (!model_.empty()) {
    const std::string& name = model_.begin()->first.name;
    write(std::stoi(name.substr(name.find('-') + 1)), std::nullopt);
  }
  expect_as_in_the_model();
}

}  // namespace
}  // namespace athanor::store::packed_objects_test
