// SPDX-License-Identifier: Apache-2.0
#include "kube/value/value.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/growth.hpp"

namespace athanor::value_test {
namespace {

Value pod() {
  return Value::object(
      {{"kind", "Pod"},
       {"metadata", Value::object({{"name", "a"}, {"creationTimestamp", "2026-11-20T10:20:35Z"}})},
       {"spec", Value::object({{"containers", Value::list({"x", "y"})}})}});
}

TEST(Value, HoldsEveryScalar) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(true).as_bool());
  EXPECT_EQ(Value(-3).as_int(), -3);
  EXPECT_EQ(Value(3U).type(), Value::Type::Int);
  EXPECT_EQ(Value(std::numeric_limits<std::uint64_t>::max()).type(), Value::Type::Uint);
  EXPECT_EQ(Value(std::numeric_limits<std::uint64_t>::max()).as_uint(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Value(2.5).as_double(), 2.5);
  EXPECT_EQ(Value(4.0).as_int(), 4);
  EXPECT_EQ(Value(4.5).as_int(7), 7);
  EXPECT_EQ(Value(1e300).as_int(7), 7);
  EXPECT_EQ(Value("text").as_bool(true), true);
  EXPECT_EQ(Value(-1).as_uint(9), 9U);
}

TEST(Value, HoldsStringsOfEveryLength) {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string text(length, 'x');
    const Value value(text);
    const Value copy =
        value;  // NOLINT(performance-unnecessary-copy-initialization): copies are tested
    EXPECT_EQ(copy.as_string(), text);
    EXPECT_EQ(copy, value);
    EXPECT_TRUE(copy.is_string());
  }
  EXPECT_EQ(Value(std::string_view("a\0b", 3)).as_string().size(), 3U);
}

TEST(Value, ReadsMissingPathsAsNull) {
  const Value value = pod();
  EXPECT_EQ(value["metadata"]["name"].as_string(), "a");
  EXPECT_EQ(value.at({"spec", "containers"})[1].as_string(), "y");
  EXPECT_TRUE(value["nope"]["deeper"][3].is_null());
  EXPECT_TRUE(value.at({"kind", "deeper"}).is_null());
  EXPECT_TRUE(value["spec"]["containers"][2].is_null());
  EXPECT_EQ(value.find("nope"), nullptr);
  EXPECT_EQ(value["kind"].size(), 0U);
}

TEST(Value, ChangesOneHandleAlone) {
  const Value original = pod();
  Value copy = original;
  EXPECT_TRUE(copy.identical(original));
  copy.set_path({"metadata", "labels", "app"}, "web");
  EXPECT_FALSE(original["metadata"].contains("labels"));
  EXPECT_EQ(copy["metadata"]["labels"]["app"].as_string(), "web");
  EXPECT_TRUE(copy["spec"].identical(original["spec"]));
  EXPECT_FALSE(copy.identical(original));
}

TEST(Value, ErasesMembersAndItems) {
  Value value = pod();
  const Value before = value;
  EXPECT_TRUE(value.erase("kind"));
  EXPECT_FALSE(value.erase("kind"));
  EXPECT_TRUE(value.erase_path({"metadata", "name"}));
  EXPECT_FALSE(value.erase_path({"metadata", "nope", "x"}));
  EXPECT_FALSE(value.erase_path({}));
  EXPECT_EQ(value.size(), 2U);
  EXPECT_EQ(value["metadata"].size(), 1U);
  EXPECT_EQ(before, pod());
  Value& list = value.member("spec").member("containers");
  list.erase_item(0);
  EXPECT_EQ(list, Value::list({"y"}));
  list.erase_item(0);
  EXPECT_TRUE(list.is_list());
  EXPECT_TRUE(list.empty());
}

// Wide objects are searched by a table, which follows each change.
TEST(Value, FindsMembersOfWideObjectsAfterChanges) {
  std::mt19937 random(17);
  Value object = Value::object();
  std::map<std::string, int> model;
  std::vector<std::pair<Value, std::map<std::string, int>>> copies;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key =
        (step % 2 == 0 ? "k" : "a-name-of-more-bytes-") + std::to_string(random() % 300);
    if (random() % 3 == 0 && model.size() > 100) {
      EXPECT_EQ(object.erase(key), model.erase(key) == 1);
    } else {
      object.set(key, step);
      model[key] = step;
    }
    const auto found = model.find(key);
    ASSERT_EQ(object.find(key) != nullptr, found != model.end()) << key;
    ASSERT_EQ(object[key], found == model.end() ? Value() : Value(found->second)) << key;
    if (step % 2'000 == 0) {
      copies.emplace_back(object, model);
    }
  }
  for (const auto& [copy, then] : copies) {
    ASSERT_EQ(copy.size(), then.size());
    for (const auto& [key, value] : then) {
      ASSERT_EQ(copy[key], Value(value)) << key;
    }
    EXPECT_FALSE(copy.contains("none"));
  }
}

TEST(Value, SearchesWideObjectsFromManyThreads) {
  Value object = Value::object();
  for (int i = 0; i < 5'000; ++i) {
    object.set("k" + std::to_string(i), i);
  }
  const Value shared = object;  // searched by nobody yet: a copy of the node, without its table
  object.set("more", 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) {
        wrong += object["k" + std::to_string(i)].as_int() == i ? 0 : 1;
        wrong += shared["k" + std::to_string(i)].as_int() == i ? 0 : 1;
      }
      wrong += shared.contains("more") ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

// Four times as many take four times as long, sixteen if each looks at all others.
TEST(Value, ManyMembersCostNoMoreEach) {
  const auto time_of = [](std::size_t count) {
    const auto start = std::chrono::steady_clock::now();
    Value object = Value::object();
    for (std::size_t i = 0; i < count; ++i) {
      object.set("k" + std::to_string(i), 1);
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      found += object.contains("k" + std::to_string(count - i)) ? 1 : 0;
    }
    EXPECT_EQ(found, count - 1);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count();
  };
  EXPECT_LT(growth(time_of, 20'000), kLinear);
}

TEST(Value, GrowsLists) {
  Value list;
  for (int i = 0; i < 100; ++i) {
    list.push_back(i);
  }
  const Value snapshot = list;
  list.insert_item(0, "first");
  list.insert_item(101, "last");
  list.item(1) = "zero";
  EXPECT_EQ(list.size(), 102U);
  EXPECT_EQ(list[0].as_string(), "first");
  EXPECT_EQ(list[1].as_string(), "zero");
  EXPECT_EQ(list[101].as_string(), "last");
  EXPECT_EQ(snapshot[0].as_int(), 0);
  EXPECT_EQ(snapshot.size(), 100U);
}

TEST(Value, SurvivesBeingPutIntoItself) {
  Value value = pod();
  value.set("copy", value);
  EXPECT_EQ(value["copy"], pod());
  value = value["copy"];
  EXPECT_EQ(value, pod());
  value = std::move(value.member("metadata"));
  EXPECT_EQ(value["name"].as_string(), "a");
  Value list = Value::list({"only"});
  list.push_back(list);
  EXPECT_EQ(list[1], Value::list({"only"}));
  Value by_own_key = Value::object({{"a-key-longer-than-inline", 1}});
  by_own_key.set(by_own_key.members()[0].key(), 2);
  EXPECT_EQ(by_own_key["a-key-longer-than-inline"].as_int(), 2);
}

TEST(Value, ComparesObjectsWithoutOrder) {
  EXPECT_EQ(Value::object({{"a", 1}, {"b", 2}}), Value::object({{"b", 2}, {"a", 1}}));
  EXPECT_NE(Value::object({{"a", 1}, {"b", 2}}), Value::object({{"b", 2}, {"c", 1}}));
  EXPECT_NE(Value::object({{"a", 1}}), Value::object({{"a", 1}, {"b", 2}}));
  EXPECT_NE(Value::list({1, 2}), Value::list({2, 1}));
  EXPECT_NE(Value::object(), Value::list());
  EXPECT_NE(Value::object(), Value());
  std::vector<Member> forward;
  std::vector<Member> backward;
  for (int i = 0; i < 100; ++i) {
    forward.emplace_back(std::to_string(i), i);
    backward.emplace_back(std::to_string(99 - i), 99 - i);
  }
  EXPECT_EQ(Value::object(forward), Value::object(backward));
  backward.back().value = "other";
  EXPECT_NE(Value::object(forward), Value::object(backward));
}

TEST(Value, ComparesNumbersByValue) {
  EXPECT_EQ(Value(3), Value(3.0));
  EXPECT_NE(Value(3), Value(3.5));
  EXPECT_NE(Value(3), Value("3"));
  EXPECT_EQ(Value(0.0), Value(-0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(Value(nan), Value(nan));
  EXPECT_EQ(Value(std::uint64_t{1} << 63), Value(9223372036854775808.0));
  EXPECT_NE(Value(std::numeric_limits<std::int64_t>::max()), Value(9223372036854775808.0));
  EXPECT_NE(Value(std::uint64_t{1} << 63), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_NE(Value(std::numeric_limits<std::int64_t>::max()), Value(std::uint64_t{1} << 63));
}

TEST(Value, KeepsTheLastOfRepeatedKeys) {
  const Value small = Value::object({{"a", 1}, {"b", 2}, {"a", 3}});
  EXPECT_EQ(small, Value::object({{"a", 3}, {"b", 2}}));
  EXPECT_EQ(small.members()[0].key(), "a");
  std::vector<Member> many;
  for (int i = 0; i < 100; ++i) {
    many.emplace_back("key-number-with-a-long-name-" + std::to_string(i % 50), i);
  }
  const Value large = Value::object(std::move(many));
  EXPECT_EQ(large.size(), 50U);
  EXPECT_EQ(large["key-number-with-a-long-name-7"].as_int(), 57);
}

TEST(Value, CountsHeapBytes) {
  EXPECT_EQ(sizeof(Value), 16U);
  EXPECT_EQ(Value("short").heap_bytes(), 0U);
  EXPECT_EQ(Value::object().heap_bytes(), 0U);
  EXPECT_GT(Value(std::string(100, 'x')).heap_bytes(), 100U);
  EXPECT_GT(pod().heap_bytes(), 6 * sizeof(Member));
}

// Deeper than any entrance lets in (value_extent.hpp), as a row of an older version may be.
TEST(Value, DeepOnesAreCopiedComparedCountedAndEnded) {
  const auto nested = [](int innermost) {
    Value value = innermost;
    for (int level = 0; level < 2'000; ++level) {
      value = level % 2 == 0 ? Value::list({value}) : Value::object({{"a", value}});
    }
    return value;
  };
  Value value = nested(1);
  EXPECT_EQ(value, nested(1));
  EXPECT_FALSE(value == nested(2));
  EXPECT_GT(value.heap_bytes(), 2'000U);
  const Value copy = value;
  value.set("b", 1);
  EXPECT_EQ(copy, nested(1));
}

TEST(ValueDeathTest, RefusesMembersOutsideObjects) {
  Value text = "text";
  EXPECT_DEATH(text.set("a", 1), "broken invariant");
  EXPECT_DEATH(text.push_back(1), "broken invariant");
  EXPECT_DEATH(text.item(0), "broken invariant");
}

}  // namespace
}  // namespace athanor::value_test
