// SPDX-License-Identifier: Apache-2.0
// Packing shows in nothing but time and memory.
#include "runtime/cache/kept_objects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kube/text/json.hpp"

namespace athanor::runtime::kept_objects_test {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;

Object made(const std::string& name, const std::string& version = "1", Value data = {},
            const std::string& ns = "a") {
  return Object(Value::object(
      {{"metadata",
        Value::object({{"name", name}, {"namespace", ns}, {"resourceVersion", version}})},
       {"data", std::move(data)}}));
}

Key key_of(const std::string& name) {
  return {"a", name};
}

TEST(KeptObjects, ThoseUsedLastStayAsTheyAre) {
  KeptObjects kept(2);
  std::vector<Object> objects;
  for (const char* name : {"a", "b", "c"}) {
    objects.push_back(made(name));
    kept.put(key_of(name), objects.back());
  }
  EXPECT_TRUE(kept.find(key_of("a"))->body().identical(objects[0].body()));
  kept.rest(Instant{});
  EXPECT_EQ(kept.warm(), 2U);
  EXPECT_GT(kept.packed_bytes(), 0U);
  EXPECT_TRUE(kept.find(key_of("a"))->body().identical(objects[0].body())) << "used last";
  EXPECT_TRUE(kept.find(key_of("c"))->body().identical(objects[2].body()));
  const Object* packed = kept.find(key_of("b"));
  EXPECT_FALSE(packed->body().identical(objects[1].body()));
  EXPECT_EQ(json::print(packed->body()), json::print(objects[1].body()));
  EXPECT_EQ(kept.find(key_of("b")), packed) << "it stays where it is until the next rest";
}

TEST(KeptObjects, WithoutABoundNothingIsPacked) {
  KeptObjects kept;
  const Object object = made("m");
  kept.put(key_of("m"), object);
  kept.rest(Instant{});
  EXPECT_TRUE(kept.find(key_of("m"))->body().identical(object.body()));
  EXPECT_EQ(kept.packed_bytes(), 0U);
}

TEST(KeptObjects, NewStateReplacesPackedOne) {
  KeptObjects kept(0);
  for (const int number : {1, 2, 3}) {
    kept.put(key_of("m"), made("m", "1", number));
    EXPECT_EQ(kept.find(key_of("m"))->body()["data"].as_int(), number);
    kept.rest(Instant{});
    EXPECT_EQ(kept.find(key_of("m"))->body()["data"].as_int(), number);
    kept.rest(Instant{});
  }
  kept.erase(key_of("m"));
  kept.rest(Instant{});
  EXPECT_EQ(kept.find(key_of("m")), nullptr);
  EXPECT_EQ(kept.size(), 0U);
}

TEST(KeptObjects, KeepsFrequentlyUsedObjectsUnpacked) {
  KeptObjects kept(10);
  for (int i = 0; i < 100; ++i) {
    const std::string name = "m" + std::to_string(i);
    kept.put(key_of(name), made(name));
  }
  Instant now{};
  const auto look_at_all = [&] {
    kept.rest(now);
    kept.each(
        {}, [](const Key& /*key*/, const Object& object) { EXPECT_FALSE(object.name().empty()); });
  };
  for (int i = 0; i < 5; ++i) {
    look_at_all();
  }
  kept.rest(now);
  EXPECT_EQ(kept.warm(), 100U) << "a list that is made again and again";
  for (int i = 0; i < 5; ++i) {
    now += minutes(1);
    look_at_all();
  }
  kept.rest(now);
  EXPECT_EQ(kept.warm(), 100U) << "still is";
  now += minutes(5);
  kept.rest(now);
  EXPECT_EQ(kept.warm(), 10U) << "nobody has made it for a while";
}

TEST(KeptObjects, OneLookAtEachIsNoUse) {
  KeptObjects kept(10);
  for (int i = 0; i < 100; ++i) {
    const std::string name = "m" + std::to_string(i);
    kept.put(key_of(name), made(name));
  }
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) {
      kept.rest(Instant{} + minutes(10) * round);
      EXPECT_NE(kept.find(key_of("m" + std::to_string(i))), nullptr);
    }
  }
  kept.rest(Instant{} + minutes(45));
  EXPECT_EQ(kept.warm(), 10U);
}

TEST(KeptObjects, AreVisitedInOrderOfNamespaceAndName) {
  KeptObjects kept(1);
  for (const Key& key : {Key{"b", "x"}, Key{"a", "z"}, Key{"a", "y"}, Key{"c", "w"}}) {
    kept.put(key, made(key.name));
  }
  kept.rest(Instant{});
  std::vector<std::string> all;
  kept.each({}, [&](const Key& key, const Object& object) {
    EXPECT_EQ(object.name(), key.name);
    all.push_back(key.text());
  });
  EXPECT_THAT(all, ElementsAre("a/y", "a/z", "b/x", "c/w"));
  std::vector<std::string> some;
  kept.each_key("a", [&](const Key& key) { some.push_back(key.text()); });
  EXPECT_THAT(some, ElementsAre("a/y", "a/z"));
}

class ListsOfKeptObjects : public ::testing::TestWithParam<std::size_t> {
 protected:
  // "-x" gone, "+x" new, "x 1>2" changed.
  std::vector<std::string> end(std::uint32_t list, std::string_view ns = {}) {
    std::vector<std::string> told;
    for (const auto& one : kept.end_list(ns, list)) {
      EXPECT_TRUE(one.is_new() || kept.before(one).key() == one.key());
      if (one.is_gone()) {
        told.push_back("-" + one.key().name);
        continue;
      }
      const Object now = kept.after(one);
      EXPECT_EQ(now.key(), one.key());
      told.push_back(one.is_new()
                         ? "+" + one.key().name
                         : one.key().name + " " + std::string(kept.before(one).resource_version()) +
                               ">" + std::string(now.resource_version()));
    }
    return told;
  }
  KeptObjects kept{GetParam()};
};

TEST_P(ListsOfKeptObjects, ReportChangesOnceComplete) {
  kept.begin_list({});
  kept.add(made("b"), 1);
  kept.add(made("a"), 1);
  EXPECT_EQ(kept.find(key_of("a")), nullptr) << "not yet";
  kept.add(made("c"), 1);
  EXPECT_THAT(end(1), ElementsAre("+a", "+b", "+c"));
  EXPECT_EQ(kept.find(key_of("b"))->name(), "b");
  kept.rest(Instant{});
  kept.put(key_of("d"), made("d"));
  kept.begin_list({});
  kept.add(made("d"), 2);
  kept.add(made("c", "2"), 2);
  kept.add(made("a"), 2);
  kept.add(made("e"), 2);
  EXPECT_THAT(end(2), ElementsAre("-b", "c 1>2", "+e"));
  EXPECT_EQ(kept.find(key_of("b")), nullptr);
  EXPECT_EQ(kept.find(key_of("c"))->resource_version(), "2");
  kept.rest(Instant{});
  EXPECT_EQ(kept.find(key_of("d"))->resource_version(), "1");
}

TEST_P(ListsOfKeptObjects, ForgetFirstPartsOfRestartedList) {
  kept.begin_list({});
  kept.add(made("a"), 1);
  kept.add(made("b"), 1);
  kept.begin_list({});
  kept.add(made("b", "2"), 2);
  EXPECT_THAT(end(2), ElementsAre("+b"));
  EXPECT_EQ(kept.size(), 1U);
}

TEST_P(ListsOfKeptObjects, OfOneNamespaceSayNothingOfAnother) {
  kept.put({"b", "x"}, made("x", "1", {}, "b"));
  kept.put(key_of("y"), made("y"));
  kept.begin_list("a");
  kept.begin_list("b");
  kept.add(made("z"), 1);
  kept.add(made("w", "1", {}, "b"), 2);
  EXPECT_THAT(end(1, "a"), ElementsAre("-y", "+z"));
  EXPECT_EQ(kept.find({"b", "w"}), nullptr);
  EXPECT_THAT(end(2, "b"), ElementsAre("-x", "+w"));
}

INSTANTIATE_TEST_SUITE_P(Warm, ListsOfKeptObjects, ::testing::Values(0U, 2U, KeptObjects::kAll));

// 1 KiB of JSON each, of which a third is nothing but noise.
TEST(KeptObjects, TakeLittleMemoryAtRest) {
  constexpr std::size_t kCount = 5000;
  KeptObjects kept(100);
  std::mt19937_64 random(1);
  kept.begin_list({});
  for (std::size_t i = 0; i < kCount; ++i) {
    std::string noise;
    while (noise.size() < 384) {
      noise += static_cast<char>('!' + random() % 90);
    }
    Value body = made("job-" + std::to_string(i), std::to_string(1000 + i), noise).body();
    body.set_path({"metadata", "labels"},
                  Value::object({{"app.kubernetes.io/part-of", "bench"}, {"owner", "team"}}));
    body.set("spec", Value::object({{"cluster", "cluster-" + std::to_string(i % 20)},
                                    {"text", std::string(500, 'x')}}));
    kept.add(Object(body), 1);
  }
  EXPECT_EQ(kept.end_list({}, 1).size(), kCount);
  kept.rest(Instant{});
  EXPECT_LE(kept.warm(), 100U);
  EXPECT_LT(kept.packed_bytes() / kCount, 384U + 80U);
}

}  // namespace
}  // namespace athanor::runtime::kept_objects_test
