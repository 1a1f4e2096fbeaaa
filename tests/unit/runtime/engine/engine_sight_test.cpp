// SPDX-License-Identifier: Apache-2.0
// Operator::sees_all: nothing is done before all that a former leader did is seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "runtime/engine/engine.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_sight_test {
namespace {

// Makes one pod as long as it sees none.
Plan make_the_only_pod(const View& view, const Key&, Instant) {
  Plan plan;
  if (view.list(kPod, {}).empty()) {
    plan.then(Create{.target = {&kPod, {"a", "p"}}, .object = Value::object()});
  }
  return plan;
}
constexpr const Kind* kPods[] = {&kPod};
const Operator kMaker{.name = "maker",
                      .reads = kPods,
                      .writes = kPods,
                      .reconcile = make_the_only_pod,
                      .singleton = true,
                      .sees_all = true,
                      .small = kPods};

// The same with a key for each object: makes the pod of its name once.
Plan make_a_pod(const View& view, const Key& key, Instant) {
  Plan plan;
  if (view.get(kConfigMap, key) && !view.get(kPod, key)) {
    plan.then(Create{.target = {&kPod, key}, .object = Value::object()});
  }
  return plan;
}
const Operator kKeyedMaker{.name = "keyed-maker",
                           .primary = &kConfigMap,
                           .reads = kPods,
                           .writes = kPods,
                           .reconcile = make_a_pod,
                           .sees_all = true};

class EngineSight : public ::testing::Test {
 protected:
  // How many asked for a list, and how many wrote.
  std::pair<int, int> feed(const Input& input) { return feed(engine, input); }
  std::pair<int, int> feed(Engine& to, const Input& input) {
    std::vector<Effect> effects;
    to.feed(input, now, effects);
    const auto count = [&](auto is) {
      return static_cast<int>(std::ranges::count_if(effects, is));
    };
    return {count([](const Effect& one) { return std::holds_alternative<Relist>(one); }),
            count([](const Effect& one) { return std::holds_alternative<SendWrite>(one); })};
  }
  static Relisted none(int version, bool early = false) {
    return {.kind = &kPod, .version = static_cast<std::uint64_t>(version), .early = early};
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::array<const Operator*, 1> operators{&kMaker};
  std::array<const Operator*, 1> keyed_operators{&kKeyedMaker};
  Engine engine{operators, {.entropy = entropy.get()}};
  Engine keyed{keyed_operators, {.entropy = entropy.get()}};
  Instant now = *parse_time("2026-01-05T00:00:00Z");
  using Counts = std::pair<int, int>;
};

TEST_F(EngineSight, WaitsForCurrentListBeforeFirstRun) {
  EXPECT_EQ(feed(none(100)), Counts(1, 0)) << "kept warm before this one led: it may lag";
  now += seconds(60);
  EXPECT_EQ(feed(Tick{}), Counts(0, 0)) << "however long it takes";
  EXPECT_EQ(feed(none(100, true)), Counts(0, 0)) << "begun before it was asked for";
  EXPECT_EQ(feed(Relisted{.kind = &kPod, .objects = {object(kPod, "p", 101)}, .version = 102}),
            Counts(0, 0))
      << "the former leader had made it";
  const WatchEvent gone{
      .type = WatchEvent::Type::Deleted, .kind = &kPod, .object = object(kPod, "p", 103)};
  EXPECT_EQ(feed(gone), Counts(0, 1)) << "once is enough";
}

// The watch hangs, and what was promised is not seen: not to be promised again.
TEST_F(EngineSight, RelistsInsteadOfLateWatch) {
  feed(none(100));
  EXPECT_EQ(feed(none(101)), Counts(0, 1));
  EXPECT_EQ(feed(WriteResult{.id = 1, .object = object(kPod, "p", 102)}), Counts(0, 0));
  now += seconds(11);
  EXPECT_EQ(feed(Tick{}), Counts(1, 0)) << "it looks for itself";
  EXPECT_EQ(feed(none(101, true)), Counts(0, 0)) << "begun before it was asked for";
  EXPECT_EQ(feed(Relisted{.kind = &kPod, .objects = {object(kPod, "p", 102)}, .version = 103}),
            Counts(0, 0));
  EXPECT_TRUE(engine.idle());
}

TEST_F(EngineSight, IgnoresLateWatchOfRefusedKind) {
  feed(none(100));
  EXPECT_EQ(feed(none(101)), Counts(0, 1));
  feed(WriteResult{.id = 1, .object = object(kPod, "p", 102)});
  feed(Relisted{.kind = &kPod, .error = Error{.code = 403, .message = "no"}});
  now += seconds(11);
  feed(Tick{});
  EXPECT_TRUE(engine.idle()) << "no list will come";
}

TEST_F(EngineSight, SkipsWaitForRefusedKind) {
  EXPECT_EQ(feed(Relisted{.kind = &kPod, .error = Error{.code = 403, .message = "no"}}),
            Counts(0, 1));
}

// Secrets of one namespace may be listed, those of another may not.
TEST_F(EngineSight, KeepsRefusalDespiteListOfOtherNamespace) {
  Engine two(operators, {.entropy = entropy.get(), .namespaces = {"a", "b"}});
  const auto list = [](std::string ns) {
    return Relisted{.kind = &kPod, .version = 100, .ns = std::move(ns)};
  };
  Relisted refused = list("a");
  refused.error = Error{.code = 403, .message = "no"};
  EXPECT_EQ(feed(two, refused), Counts(0, 0));
  EXPECT_EQ(feed(two, list("b")), Counts(1, 0)) << "asks for b alone";
  EXPECT_EQ(feed(two, list("b")), Counts(0, 1)) << "no list of a will come";
}

TEST_F(EngineSight, CountsLaterRefusedListAsSeen) {
  Engine two(operators, {.entropy = entropy.get(), .namespaces = {"a", "b"}});
  const auto list = [](std::string ns) {
    return Relisted{.kind = &kPod, .version = 100, .ns = std::move(ns)};
  };
  feed(two, list("a"));
  EXPECT_EQ(feed(two, list("b")), Counts(2, 0));
  feed(two, list("b"));
  Relisted refused = list("a");
  refused.error = Error{.code = 403, .message = "no"};
  refused.early = true;
  EXPECT_EQ(feed(two, refused), Counts(0, 1));
}

TEST_F(EngineSight, ShowsKeyThatWaitsOverTenSeconds) {
  Metrics metrics;
  Engine slow(operators, {.entropy = entropy.get(), .metrics = &metrics});
  feed(slow, none(100));
  now += seconds(11);
  feed(slow, Tick{});
  const Value shown = slow.debug(now, 10);
  EXPECT_EQ(shown["keys"][0]["state"].as_string(), "waiting for the first lists");
  EXPECT_EQ(shown["keys"][0]["waitsFor"][0].as_string(), "pods");
  EXPECT_TRUE(shown["keys"][0]["overdue"].as_bool());
  EXPECT_EQ(shown["controllers"]["maker"]["waitsForFirstLists"][0].as_string(), "pods");
  const auto has = [&](const char* line) { return metrics.text().find(line) != std::string::npos; };
  EXPECT_TRUE(has("athanor_overdue_keys{controller=\"maker\",for=\"sight\"} 1")) << metrics.text();
  feed(slow, none(100));
  EXPECT_TRUE(has("athanor_overdue_keys{controller=\"maker\",for=\"sight\"} 0")) << metrics.text();
  EXPECT_TRUE(has("athanor_overdue_keys_total{controller=\"maker\",for=\"sight\"} 1"));
}

TEST_F(EngineSight, ShowsKeyThatWaitsForItsWrites) {
  Metrics metrics;
  Engine slow(operators, {.entropy = entropy.get(), .metrics = &metrics});
  feed(slow, none(100));
  ASSERT_EQ(feed(slow, none(101)), Counts(0, 1));
  feed(slow, WriteResult{.id = 1, .object = object(kPod, "p", 102)});
  now += seconds(11);
  feed(slow, Tick{});
  const Value shown = slow.debug(now, 10);
  EXPECT_EQ(shown["keys"][0]["state"].as_string(), "waiting for its own writes");
  EXPECT_EQ(shown["keys"][0]["waitsFor"][0].as_string(), "pods");
  EXPECT_TRUE(shown["keys"][0]["overdue"].as_bool());
  EXPECT_NE(metrics.text().find("athanor_overdue_keys{controller=\"maker\",for=\"writes\"} 1"),
            std::string::npos)
      << metrics.text();
}

// With a wall clock; the simulator has none, and its faults make watches late all the time.
TEST_F(EngineSight, LogsKeysWaitingOverTenSecondsOnce) {
  const std::unique_ptr<Clock> stopwatch = wall_clock();
  Engine slow(operators, {.entropy = entropy.get(), .stopwatch = stopwatch.get()});
  log::configure(log::Level::Warn, log::Format::Json);
  const auto logged = [&](Duration later) {
    now += later;
    testing::internal::CaptureStderr();
    feed(slow, Tick{});
    const std::string text = testing::internal::GetCapturedStderr();
    const std::size_t at = text.find("\"level\"");
    return at == std::string::npos ? text : text.substr(at);
  };
  feed(slow, none(100));
  EXPECT_EQ(logged(seconds(9)), "");
  EXPECT_EQ(logged(seconds(2)),
            R"("level":"warn","msg":"keys wait too long for the caches","controller":"maker",)"
            R"("for":"sight","keys":"1","key":"singleton","waits_for":"pods"})"
            "\n");
  EXPECT_EQ(logged(seconds(11)), "") << "once for each wait";
  EXPECT_EQ(feed(slow, none(101)), Counts(0, 1));
  feed(slow, WriteResult{.id = 1, .object = object(kPod, "p", 102)});
  EXPECT_EQ(logged(seconds(11)),
            R"("level":"warn","msg":"keys wait too long for the caches","controller":"maker",)"
            R"("for":"writes","keys":"1","key":"singleton","waits_for":"pods"})"
            "\n");
  log::configure(log::Level::Info, log::Format::Auto);
}

// It is restarted over a list that is older than what it did before: of one kind, then of the
// other.
TEST_F(EngineSight, WaitsForAllListsPerObjectKey) {
  const auto maps = [](int version) {
    return Relisted{.kind = &kConfigMap,
                    .objects = {object(kConfigMap, "m", 5), object(kConfigMap, "n", 6)},
                    .version = static_cast<std::uint64_t>(version)};
  };
  EXPECT_EQ(feed(keyed, maps(90)), Counts(0, 0)) << "not all is listed";
  EXPECT_EQ(feed(keyed, none(90)), Counts(2, 0)) << "one list of each kind, whatever the keys";
  EXPECT_EQ(feed(keyed, maps(100)), Counts(0, 0));
  const WatchEvent late{.type = WatchEvent::Type::Changed,
                        .kind = &kConfigMap,
                        .object = object(kConfigMap, "o", 101)};
  EXPECT_EQ(feed(keyed, late), Counts(0, 0)) << "waits for what is still to come";
  EXPECT_EQ(
      feed(keyed, Relisted{.kind = &kPod, .objects = {object(kPod, "m", 99)}, .version = 102}),
      Counts(0, 2))
      << "for n and o: m had been served";
}

}  // namespace
}  // namespace athanor::runtime::engine_sight_test
