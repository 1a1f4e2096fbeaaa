// SPDX-License-Identifier: Apache-2.0
// The cache: versions, lists in parts, indexes, sums and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/cache/cache.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime::cache_test {
namespace {

using api::kPod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Cache, OlderEventsTellNothingNew) {
  Cache cache(kPod, {});
  cache.replace({pod("p", 5)}, 10);
  EXPECT_FALSE(cache.set(pod("gone", 7)).has_value()) << "deleted before the list: no resurrection";
  EXPECT_TRUE(cache.set(pod("p", 11)).has_value());
  EXPECT_FALSE(cache.remove(pod("p", 9)).has_value());
  EXPECT_NE(cache.find({"a", "p"}), nullptr);
}

Object pod_in(const std::string& ns, const std::string& name, int version) {
  return Object(Value::object(
      {{"metadata",
        Value::object(
            {{"namespace", ns}, {"name", name}, {"resourceVersion", std::to_string(version)}})}}));
}

TEST(Cache, KeepsVersionPerWatchedNamespace) {
  const std::string namespaces[] = {"a", "b"};
  Cache cache(kPod, {}, namespaces);
  cache.replace({pod_in("a", "p", 5)}, 10, "a");
  EXPECT_TRUE(cache.synced("a"));
  EXPECT_FALSE(cache.synced());
  cache.replace({pod_in("b", "q", 4)}, 7, "b");
  EXPECT_TRUE(cache.synced());
  EXPECT_EQ(cache.version("a"), 10U);
  EXPECT_EQ(cache.version("b"), 7U);
  EXPECT_TRUE(cache.set(pod_in("b", "q", 8)).has_value()) << "behind a's version, but news";
  EXPECT_FALSE(cache.set(pod_in("a", "p", 8)).has_value());
  EXPECT_FALSE(cache.set(pod_in("c", "r", 20)).has_value()) << "nobody watches c";
  EXPECT_FALSE(cache.watches("c"));
  cache.replace({}, 30, "a");
  EXPECT_EQ(cache.find({"a", "p"}), nullptr);
  EXPECT_NE(cache.find({"b", "q"}), nullptr) << "a list of one namespace says nothing of another";
}

TEST(Cache, ShowsListInPartsOnceWhole) {
  Cache cache(kPod, {}, {}, 1);
  cache.replace({pod("gone", 5), pod("p", 6)}, 10);
  const auto names = [&] {
    std::vector<std::string> found;
    for (const Object& object : cache.list({.labels = {{"app", "x"}}})) {
      found.emplace_back(object.name());
    }
    return found;
  };
  constexpr const char* kLabelled = R"({"metadata": {"labels": {"app": "x"}}})";
  EXPECT_THAT(names(), IsEmpty());
  cache.add({pod("early", 11)}, true);
  cache.add({pod("p", 12, kLabelled)}, true);
  cache.add({pod("q", 13, kLabelled), pod("r", 14, kLabelled)}, false);
  EXPECT_NE(cache.find({"a", "gone"}), nullptr);
  EXPECT_EQ(cache.find({"a", "q"}), nullptr);
  std::vector<std::string> told;
  cache.replace(20, "", [&](const Cache::Difference& one) {
    const Cache::Change change = one.change();
    EXPECT_EQ(change.newest().key(), one.key);
    EXPECT_EQ(change.after.has_value(), !one.gone);
    told.push_back((one.gone ? "-" : change.before ? "" : "+") + one.key.name);
  });
  EXPECT_THAT(told, ElementsAre("-gone", "p", "+q", "+r")) << "the first beginning counts no more";
  cache.rest(Instant{});
  EXPECT_THAT(names(), ElementsAre("p", "q", "r"));
  EXPECT_EQ(cache.version(), 20U);
  cache.add({pod("old", 3)}, true);
  cache.replace(15, "", [](const Cache::Difference&) { FAIL() << "older than what is known"; });
  EXPECT_EQ(cache.find({"a", "old"}), nullptr);
}

TEST(Cache, DropsManagedFields) {
  Cache cache(kPod, {});
  cache.replace({pod("p", 5, R"({"metadata": {"managedFields": [{"manager": "x"}]}})")}, 10);
  EXPECT_FALSE(cache.find({"a", "p"})->metadata().contains("managedFields"));
}

TEST(Cache, IndexesFollowChanges) {
  Cache cache(kPod, {});
  cache.replace(
      {pod("p", 5, R"({"metadata": {"labels": {"app": "x"}}, "spec": {"nodeName": "n"}})")}, 10);
  const Select by_label{.ns = "a", .labels = {{"app", "x"}}};
  const Select by_node{.index = "node", .index_value = "n"};
  EXPECT_EQ(cache.list(by_label).size(), 1U);
  EXPECT_EQ(cache.list(by_node).size(), 1U);
  cache.set(pod("q", 11, R"({"metadata": {"labels": {"app": "x"}}, "spec": {"nodeName": "n"}})"));
  cache.set(pod("p", 12, R"({"metadata": {"labels": {"app": "y"}}, "spec": {"nodeName": "n"}})"));
  EXPECT_EQ(cache.list(by_label).size(), 1U);
  EXPECT_EQ(cache.list(by_node).size(), 2U);
  cache.remove(pod("q", 13));
  EXPECT_EQ(cache.list(by_label).size(), 0U);
  EXPECT_EQ(cache.list(by_node).size(), 1U);
}

void count_by_node(const Object& pod, Totals& totals) {
  totals["pods"] += 1;
  totals["priority"] += pod.spec()["priority"].as_int();
}
std::string by_class(const Object& pod) {
  return pod.spec()["priorityClassName"].str();
}
std::string by_priority(const Object& pod) {
  return pod.spec()["priority"].str() + pod.spec()["order"].str();
}

Object placed(const std::string& name, int version, const std::string& node, int priority,
              const std::string& order) {
  return Object(Value::object(
      {{"metadata",
        Value::object(
            {{"namespace", "a"}, {"name", name}, {"resourceVersion", std::to_string(version)}})},
       {"spec", Value::object({{"nodeName", node},
                               {"priority", priority},
                               {"priorityClassName", priority > 5 ? "high" : "low"},
                               {"order", order}})}}));
}

TEST(Cache, SumsFollowChangesWithoutZeros) {
  Cache cache(kPod, {});
  const Select on_n1{.index = "node", .index_value = "n1"};
  cache.set(placed("one", 1, "n1", 3, "a"));
  EXPECT_EQ(cache.totals(on_n1, count_by_node), (Totals{{"pods", 1}, {"priority", 3}}));
  cache.set(placed("two", 2, "n1", 4, "a"));
  EXPECT_EQ(cache.totals(on_n1, count_by_node), (Totals{{"pods", 2}, {"priority", 7}}));
  cache.set(placed("two", 3, "n1", 0, "a"));
  EXPECT_EQ(cache.totals(on_n1, count_by_node), (Totals{{"pods", 2}, {"priority", 3}}));
  cache.set(placed("one", 4, "n2", 3, "a"));
  EXPECT_EQ(cache.totals(on_n1, count_by_node), (Totals{{"pods", 1}}));
  cache.remove(placed("two", 5, "n1", 0, "a"));
  EXPECT_EQ(cache.totals(on_n1, count_by_node), Totals{});
  cache.set(placed("three", 6, "n1", 2, "a"));
  const Totals kept = cache.totals(on_n1, count_by_node);
  cache.set(placed("three", 7, "n1", 5, "a"));
  EXPECT_EQ(kept, (Totals{{"pods", 1}, {"priority", 2}})) << "what was read stays as it was";
  EXPECT_EQ(cache.totals(on_n1, count_by_node), (Totals{{"pods", 1}, {"priority", 5}}));
}

TEST(Cache, RanksFollowChanges) {
  Cache cache(kPod, {});
  const Select on_n1{.index = "node", .index_value = "n1"};
  const Ranking ranking{.group = by_class, .place = by_priority};
  const auto names = [&](std::string_view group, const Object* after, std::size_t limit) {
    std::string text;
    for (const Object& pod : cache.ranked(on_n1, ranking, group, after, limit)) {
      text += std::string(pod.name()) + " ";
    }
    return text;
  };
  cache.set(placed("one", 1, "n1", 3, "b"));
  cache.set(placed("two", 2, "n1", 3, "a"));
  EXPECT_EQ(names("low", nullptr, 10), "two one ");
  cache.set(placed("three", 3, "n1", 9, "c"));
  cache.set(placed("four", 4, "n1", 3, "a"));
  EXPECT_EQ(names("low", nullptr, 10), "four two one ") << "equal places are ordered by key";
  const Object four = placed("four", 4, "n1", 3, "a");
  EXPECT_EQ(names("low", &four, 1), "two ");
  const auto groups = cache.groups(on_n1, ranking);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name + " " + std::to_string(groups[0].size), "high 1");
  EXPECT_EQ(groups[1].name + " " + std::to_string(groups[1].size), "low 3");
  cache.set(placed("two", 5, "n1", 9, "a"));
  cache.remove(placed("one", 6, "n1", 3, "b"));
  EXPECT_EQ(names("low", nullptr, 10), "four ");
  EXPECT_EQ(names("high", nullptr, 10), "two three ");
}

TEST(Cache, AListIsOfItsNamespaceAlone) {
  Cache cache(kPod, {});
  Value other = pod("p", 6).body();
  other.set_path({"metadata", "namespace"}, "b");
  cache.replace({pod("p", 5), Object(other)}, 10);
  EXPECT_EQ(cache.list({.ns = "a"}).size(), 1U);
  EXPECT_EQ(cache.list({}).size(), 2U);
}

}  // namespace
}  // namespace athanor::runtime::cache_test
