// SPDX-License-Identifier: Apache-2.0
// The engine's parts, each alone: queue, cache, read index, barrier, suppression, requests,
// metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "runtime/cache/cache.hpp"
#include "runtime/engine/barrier.hpp"
#include "runtime/engine/key_queue.hpp"
#include "runtime/engine/read_index.hpp"
#include "runtime/engine/suppress.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::runtime {
namespace {

using api::kConfigMap;
using api::kNode;
using api::kPod;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or({});
}

Object pod(std::string_view name, int version, std::string_view extra = "{}") {
  Value body = parsed(extra);
  body.set("apiVersion", "v1");
  body.set("kind", "Pod");
  body.set_path({"metadata", "name"}, name);
  body.set_path({"metadata", "namespace"}, "a");
  body.set_path({"metadata", "resourceVersion"}, std::to_string(version));
  return Object(std::move(body));
}

// ---- KeyQueue

TEST(KeyQueue, InteractiveComesFirst) {
  KeyQueue queue;
  queue.add(1, Priority::Resync, Instant{});
  queue.add(2, Priority::Interactive, Instant{});
  EXPECT_EQ(queue.take(nullptr)->id, 2U);
  EXPECT_EQ(queue.take(nullptr)->id, 1U);
  EXPECT_FALSE(queue.take(nullptr).has_value());
}

TEST(KeyQueue, AResyncThatBecomesInteractiveMovesUp) {
  KeyQueue queue;
  queue.add(1, Priority::Resync, Instant{});
  queue.add(2, Priority::Resync, Instant{});
  queue.add(2, Priority::Interactive, Instant{});
  EXPECT_EQ(queue.ready(), 2U);
  EXPECT_EQ(queue.take(nullptr)->id, 2U);
}

TEST(KeyQueue, KeepsEarlierWakeUp) {
  KeyQueue queue;
  queue.sleep(1, Instant{} + seconds(9));
  queue.sleep(1, Instant{} + seconds(3));
  queue.sleep(1, Instant{} + seconds(5));
  EXPECT_EQ(queue.next_wake(), Instant{} + seconds(3));
  queue.wake(Instant{} + seconds(2));
  EXPECT_EQ(queue.ready(), 0U);
  queue.wake(Instant{} + seconds(3));
  EXPECT_EQ(queue.ready(), 1U);
  EXPECT_FALSE(queue.next_wake().has_value());
}

TEST(KeyQueue, AnEventEndsASleep) {
  KeyQueue queue;
  queue.sleep(1, Instant{} + seconds(9));
  queue.add(1, Priority::Interactive, Instant{});
  EXPECT_FALSE(queue.next_wake().has_value());
  EXPECT_EQ(queue.ready(), 1U);
}

// ---- Cache

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

TEST(Cache, NamespacesWatchedOneByOneHaveVersionsOfTheirOwn) {
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

TEST(Cache, AListInPartsShowsOnceItIsWhole) {
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

// ---- ReadIndex

std::set<TaskId> readers(const ReadIndex& index, std::optional<Object> before,
                         std::optional<Object> after) {
  std::set<TaskId> out;
  index.readers_of(kPod, {.before = std::move(before), .after = std::move(after)}, out);
  return out;
}

TEST(ReadIndex, FindsReadersByObjectNamespaceLabelAndIndex) {
  ReadIndex index({});
  index.set(1, {.objects = {{&kPod, {"a", "p"}}}});
  index.set(2, {.lists = {{.kind = &kPod, .select = {.ns = "a"}}}});
  index.set(3, {.lists = {{.kind = &kPod, .select = {.labels = {{"app", "x"}}}}}});
  index.set(4, {.lists = {{.kind = &kPod, .select = {.index = "node", .index_value = "n"}}}});
  index.set(5, {.lists = {{.kind = &kPod, .select = {.ns = "b"}}}});
  index.set(6, {.lists = {{.kind = &kNode}}});
  const Object labelled = pod("p", 1, R"({"metadata": {"labels": {"app": "x"}}})");
  const Object placed = pod("q", 1, R"({"spec": {"nodeName": "n"}})");
  EXPECT_THAT(readers(index, std::nullopt, labelled), ElementsAre(1, 2, 3));
  EXPECT_THAT(readers(index, std::nullopt, placed), ElementsAre(2, 4));
  EXPECT_THAT(readers(index, labelled, pod("p", 2)), ElementsAre(1, 2, 3)) << "it left the list";
}

TEST(ReadIndex, NewReadsReplaceOldOnes) {
  ReadIndex index({});
  index.set(1, {.lists = {{.kind = &kPod, .select = {.ns = "a"}}}, .observations = {{"q", {}}}});
  index.set(1, {.objects = {{&kPod, {"a", "other"}}}});
  EXPECT_THAT(readers(index, std::nullopt, pod("p", 1)), IsEmpty());
  EXPECT_FALSE(index.is_observed("q"));
  index.remove(1);
  EXPECT_THAT(readers(index, std::nullopt, pod("other", 1)), IsEmpty());
}

// ---- Barrier

TEST(Barrier, OpensWhenAllThatWasWaitedForHasCome) {
  Barrier barrier;
  barrier.wait_version(1, {&kPod}, 10);
  barrier.wait_version(1, {&kPod}, 12);
  barrier.wait_change(1, {&kConfigMap, {"a", "m"}});
  barrier.wait_version(2, {&kPod}, 11);
  EXPECT_THAT(barrier.passed({&kPod}, 11), ElementsAre(2));
  EXPECT_THAT(barrier.passed({&kPod}, 12), IsEmpty());
  EXPECT_THAT(barrier.changed({&kConfigMap, {"a", "m"}}), ElementsAre(1));
  EXPECT_FALSE(barrier.waits(1));
}

TEST(Barrier, DroppedWaitsNeverOpen) {
  Barrier barrier;
  barrier.wait_version(1, {&kPod}, 10);
  barrier.wait_relist(1, {&kNode});
  EXPECT_EQ(barrier.watches(1).size(), 2U);
  barrier.drop(1);
  EXPECT_THAT(barrier.passed({&kPod}, 99), IsEmpty());
  EXPECT_THAT(barrier.relisted({&kNode}), IsEmpty());
}

// ---- suppression

constexpr const char* kLive =
    R"({"metadata": {"labels": {"a": "1"}, "uid": "u"}, "spec": {"x": {"y": 1, "z": 2}}, "status": {"s": 1}})";

bool is_nothing(const Outcome& outcome) {
  return std::holds_alternative<Nothing>(outcome);
}

TEST(Suppress, PatchesWhoseEffectIsThere) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Ref ref{&kPod, {"a", "p"}};
  EXPECT_TRUE(is_nothing(
      resolve(Patch{.target = ref, .merge = parsed(R"({"spec": {"x": {"y": 1}}})")}, known)));
  EXPECT_TRUE(is_nothing(
      resolve(Patch{.target = ref, .merge = parsed(R"({"spec": {"gone": null}})")}, known)));
  EXPECT_FALSE(is_nothing(
      resolve(Patch{.target = ref, .merge = parsed(R"({"spec": {"x": {"y": 2}}})")}, known)));
}

TEST(Suppress, AGuardForAnotherUidFailsWithoutARequest) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Outcome outcome =
      resolve(Delete{.target = {&kPod, {"a", "p"}}, .guard = {.uid = "v"}}, known);
  ASSERT_TRUE(std::holds_alternative<Error>(outcome));
  EXPECT_EQ(std::get<Error>(outcome).code, 409);
}

TEST(Suppress, AnAppliedListOfAStatusCarriesTheVersionSeen) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Outcome outcome = resolve(
      Status{.target = {&kPod, {"a", "p"}}, .status = parsed(R"({"conditions": [{"type": "A"}]})")},
      known);
  ASSERT_TRUE(std::holds_alternative<WriteRequest>(outcome));
  EXPECT_EQ(
      std::get<WriteRequest>(outcome).body,
      parsed(
          R"({"status": {"conditions": [{"type": "A"}]}, "metadata": {"resourceVersion": "7"}})"));
}

TEST(Suppress, AnApplyIsSentUntilThisProcessHasSentTheSame) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Apply step{.target = {&kPod, {"a", "p"}}, .fields = parsed(R"({"spec": {"x": {"y": 1}}})")};
  const Value more = parsed(R"({"spec": {"x": {"y": 1, "z": 2}}})");
  EXPECT_FALSE(is_nothing(resolve(step, known, nullptr)));
  EXPECT_FALSE(is_nothing(resolve(step, known, &more))) << "a field was given up";
  EXPECT_TRUE(is_nothing(resolve(step, known, &step.fields)));
}

TEST(Suppress, DeletesOfWhatIsGoneOrGoing) {
  const Ref ref{&kPod, {"a", "p"}};
  EXPECT_TRUE(is_nothing(resolve(Delete{.target = ref}, {.watched = true})));
  EXPECT_FALSE(is_nothing(resolve(Delete{.target = ref}, {.watched = false})));
  const Object going = pod("p", 7, R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z",
                                                    "deletionGracePeriodSeconds": 30}})");
  const Known known{.watched = true, .cached = &going, .newest = &going};
  EXPECT_TRUE(is_nothing(resolve(Delete{.target = ref}, known)));
  EXPECT_FALSE(is_nothing(resolve(Delete{.target = ref, .grace_seconds = 0}, known)))
      << "the kubelet ends it";
}

TEST(Suppress, CreatesOfWhatIsOurs) {
  const Object owned =
      pod("p", 7, R"({"metadata": {"ownerReferences": [{"uid": "me", "controller": true}]}})");
  const Known known{.watched = true, .cached = &owned, .newest = &owned};
  const auto create = [&](std::string_view uid) {
    return resolve(
        Create{.target = {&kPod, {"a", "p"}},
               .object = Value::object(
                   {{"metadata", Value::object({{"ownerReferences",
                                                 Value::list({Value::object(
                                                     {{"uid", uid}, {"controller", true}})})}})}})},
        known);
  };
  EXPECT_TRUE(is_nothing(create("me")));
  EXPECT_TRUE(std::holds_alternative<Error>(create("other")));
}

// ---- requests

TEST(WriteRequest, PathsAndMethods) {
  const Ref ref{&api::kJob, {"a", "j"}};
  const auto text = [](const WriteRequest& write) {
    const HttpForm form = http_form(write);
    return form.method + " " + form.path;
  };
  EXPECT_EQ(text(request_for(Create{.target = ref})), "POST /apis/batch/v1/namespaces/a/jobs");
  EXPECT_EQ(text(request_for(Apply{.target = ref})), "PATCH /apis/batch/v1/namespaces/a/jobs/j");
  EXPECT_EQ(text(request_for(Patch{.target = ref, .subresource = "scale"})),
            "PATCH /apis/batch/v1/namespaces/a/jobs/j/scale");
  EXPECT_EQ(text(request_for(Replace{.target = {&kPod, {"a", "p"}}, .subresource = "binding"})),
            "POST /api/v1/namespaces/a/pods/p/binding");
  EXPECT_EQ(text(request_for(
                Replace{.target = {&api::kNamespace, {"", "n"}}, .subresource = "finalize"})),
            "PUT /api/v1/namespaces/n/finalize");
  EXPECT_EQ(text(request_for(Delete{.target = ref})), "DELETE /apis/batch/v1/namespaces/a/jobs/j");
}

TEST(WriteRequest, ADeleteCarriesItsPreconditions) {
  const WriteRequest request = request_for(Delete{.target = {&kPod, {"a", "p"}},
                                                  .guard = {.uid = "u", .resource_version = "7"},
                                                  .mode = Propagation::Foreground,
                                                  .grace_seconds = 0});
  EXPECT_EQ(request.body["preconditions"], parsed(R"({"uid": "u", "resourceVersion": "7"})"));
  EXPECT_EQ(request.body["propagationPolicy"].as_string(), "Foreground");
  EXPECT_EQ(request.body["gracePeriodSeconds"].as_int(-1), 0);
}

// ---- Metrics

TEST(Metrics, PrintsWhatWasCounted) {
  Metrics metrics;
  metrics.counter("jobs_total", "Jobs.", {{"phase", "Done"}}).add(2);
  metrics.gauge("depth", "Depth.").set(3);
  metrics.histogram("seconds", "Seconds.", {1, 2}).observe(1.5);
  const std::string text = metrics.text();
  EXPECT_THAT(text, ::testing::HasSubstr("# HELP jobs_total Jobs.\n# TYPE jobs_total counter\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("jobs_total{phase=\"Done\"} 2\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("depth 3\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("seconds_bucket{le=\"2\"} 1\n"));
  EXPECT_EQ(metrics.counter("jobs_total", "", {{"phase", "Done"}}).value(), 2);
}

}  // namespace
}  // namespace athanor::runtime
