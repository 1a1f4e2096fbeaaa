// SPDX-License-Identifier: Apache-2.0
// Objects that two writers write in turn (docs/engine.md 2, rule 10): both slow down and an Event
// names both; whoever makes progress, or writes alone, is not slowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kube/apply/patch.hpp"
#include "runtime/engine/plans/write_loops.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_loops_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

Plan set_value(const View& view, const Key& key, std::string_view field, std::string_view value) {
  Plan plan;
  const auto map = view.get(kConfigMap, key);
  if (map && map->body()["data"][field] != Value(value)) {
    plan.then(Patch{.target = {&kConfigMap, key},
                    .merge = Value::object({{"data", Value::object({{field, value}})}})});
  }
  return plan;
}
Plan want_a(const View& view, const Key& key, Instant /*now*/) {
  return set_value(view, key, "v", "a");
}
Plan want_b(const View& view, const Key& key, Instant /*now*/) {
  return set_value(view, key, "v", "b");
}
// Counts the other's writes: progress.
Plan count(const View& view, const Key& key, Instant /*now*/) {
  const auto map = view.get(kConfigMap, key);
  return map ? set_value(view, key, "n", map->body()["data"]["tick"].as_string()) : Plan::done();
}
// Follows an outside input back and forth, alone.
Plan copy(const View& view, const Key& key, Instant /*now*/) {
  const auto map = view.get(kConfigMap, key);
  const auto pod = view.get(kPod, key);
  return map && pod ? set_value(view, key, "n", pod->label("x")) : Plan::done();
}

Operator named(std::string_view name, Plan (*reconcile)(const View&, const Key&, Instant)) {
  return {.name = name,
          .primary = &kConfigMap,
          .reads = kReads,
          .writes = kWrites,
          .reconcile = reconcile};
}
const Operator kA = named("alpha", want_a);
const Operator kB = named("beta", want_b);
const Operator kCounter = named("counter", count);
const Operator kCopier = named("copier", copy);

// A server of one ConfigMap "m".
class EngineLoops : public EngineTest {
 protected:
  void run_with(std::vector<const Operator*> operators) {
    engine = std::make_unique<Engine>(operators,
                                      EngineOptions{.entropy = entropy.get(), .metrics = &metrics});
    start({Object(body)}, {object(kPod, "m", 50)});
  }

  // Changes the object as a client does.
  Object change(const Value& merge, std::string_view manager) {
    body = apply_merge_patch(body, merge);
    body.set_path({"metadata", "resourceVersion"}, std::to_string(++version));
    body.set_path({"metadata", "managedFields"},
                  Value::list({Value::object({{"manager", manager}, {"time", format_time(now)}})}));
    feed(WatchEvent{.kind = &kConfigMap, .object = Object(body)});
    return Object(body);
  }

  // Carries out one write.
  void serve(const SendWrite& send) {
    if (send.request.target.kind == &api::kEvent) {
      if (send.request.verb == WriteVerb::Create) {
        notes.push_back(send.request.body["message"].str());
        abouts.push_back(send.request.body["involvedObject"]["name"].str());
      }
      feed(WriteResult{.id = send.id, .object = Object(send.request.body)});
      return;
    }
    ++writes;
    const Object after = change(send.request.body, send.request.manager);
    feed(WriteResult{.id = send.id, .object = after});
  }

  // Serves what comes for so long; a write takes 5 ms.
  void serve_for(Duration duration) {
    const Instant end = now + duration;
    while (now < end) {
      const std::vector<SendWrite> batch = take_sent();
      for (const SendWrite& send : batch) {
        serve(send);
      }
      now = batch.empty() ? std::min(end, timer_at.value_or(end)) : now + milliseconds(5);
      feed(Tick{});
    }
  }

  Value body = object(kConfigMap, "m", 50, R"({"data": {"v": "a"}})").body();
  int version = 100;
  int writes = 0;
  std::vector<std::string> notes{};
  std::vector<std::string> abouts{};
};

TEST_F(EngineLoops, SlowsTwoControllersThatUndoEachOther) {
  run_with({&kA, &kB});
  serve_for(seconds(10));
  EXPECT_LE(writes, 2 * (WriteLoops::kMostRepeats + 10)) << "5 ms a write";
  EXPECT_THAT(notes, Contains(AllOf(HasSubstr("alpha (a/m)"), HasSubstr("beta (a/m)"))));
  EXPECT_THAT(abouts, ::testing::Each("m"));
  writes = 0;
  serve_for(std::chrono::minutes(10));
  EXPECT_LE(writes, 2 * 20) << "the pauses double up to a minute";
  EXPECT_GE(writes, 2) << "they never end for good";
  EXPECT_LE(notes.size(), 2U) << "equal Events are counted";
  EXPECT_THAT(metrics.text(), HasSubstr(R"(athanor_write_loops_total{controller="alpha"})"));
}

TEST_F(EngineLoops, NamesTheFieldManagerOfAnotherClient) {
  run_with({&kA});
  for (int i = 0; i < 200; ++i) {
    change(parsed(R"({"data": {"v": "x"}})"), "somebody-else");
    serve_for(milliseconds(20));
  }
  EXPECT_LE(writes, WriteLoops::kMostRepeats + 5);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], AllOf(HasSubstr("alpha (a/m)"), HasSubstr("somebody-else")));
}

TEST_F(EngineLoops, ForgetsALoopThatIsOver) {
  run_with({&kA});
  for (int i = 0; i < 60; ++i) {
    change(parsed(R"({"data": {"v": "x"}})"), "somebody-else");
    serve_for(milliseconds(20));
  }
  serve_for(std::chrono::minutes(2));
  EXPECT_EQ(body["data"]["v"].as_string(), "a") << "the last word";
  writes = 0;
  for (int i = 0; i < 5; ++i) {
    change(parsed(R"({"data": {"v": "x"}})"), "somebody-else");
    serve_for(milliseconds(20));
  }
  EXPECT_EQ(writes, 5);
}

TEST_F(EngineLoops, DoesNotSlowProgress) {
  run_with({&kCounter});
  for (int i = 0; i < 300; ++i) {
    change(Value::object({{"data", Value::object({{"tick", std::to_string(i)}})}}), "ticker");
    serve_for(milliseconds(10));
  }
  EXPECT_GE(writes, 300);
  EXPECT_TRUE(notes.empty());
}

TEST_F(EngineLoops, DoesNotSlowASoleWriter) {
  run_with({&kCopier});
  for (int i = 0; i < 300; ++i) {
    const std::string_view labels = i % 2 == 0 ? R"({"metadata": {"labels": {"x": "0"}}})"
                                               : R"({"metadata": {"labels": {"x": "1"}}})";
    feed(WatchEvent{.kind = &kPod, .object = object(kPod, "m", ++version, labels)});
    serve_for(milliseconds(10));
  }
  EXPECT_GE(writes, 300);
  EXPECT_TRUE(notes.empty());
}

// A user turns a switch on and off while others write the object's other fields.
TEST_F(EngineLoops, KeepsPaceOfOwnChanges) {
  run_with({&kCopier});
  for (int i = 0; i < 300; ++i) {
    change(Value::object({{"data", Value::object({{"tick", std::to_string(i)}})}}), "ticker");
    const std::string_view labels = i % 2 == 0 ? R"({"metadata": {"labels": {"x": "0"}}})"
                                               : R"({"metadata": {"labels": {"x": "1"}}})";
    feed(WatchEvent{.kind = &kPod, .object = object(kPod, "m", ++version, labels)});
    serve_for(milliseconds(10));
  }
  EXPECT_GE(writes, 300);
  EXPECT_TRUE(notes.empty());
}

// Times are no content.
Plan want_a_now(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto map = view.get(kConfigMap, key);
  if (map && map->body()["data"]["v"] != Value("a")) {
    plan.then(Patch{
        .target = {&kConfigMap, key},
        .merge = Value::object({{"data", Value::object({{"v", "a"}, {"at", format_time(now)}})}})});
  }
  return plan;
}

TEST_F(EngineLoops, OverlooksTimes) {
  const Operator timed = named("timed", want_a_now);
  run_with({&timed});
  for (int i = 0; i < 400; ++i) {
    change(parsed(R"({"data": {"v": "x"}})"), "somebody-else");
    serve_for(milliseconds(20));
  }
  EXPECT_LE(writes, WriteLoops::kMostRepeats + 8);
}

// The object's own key goes on with everything else.
Plan want_a_and_pods(const View& view, const Key& key, Instant now) {
  Plan plan = want_a(view, key, now);
  const auto map = view.get(kConfigMap, key);
  for (int i = 0; map && i < map->body()["data"]["pods"].as_int(); ++i) {
    const Key pod{"a", "pod-" + std::to_string(i)};
    if (!view.get(kPod, pod)) {
      plan.then(Create{.target = {&kPod, pod}, .object = Value::object()});
    }
  }
  return plan;
}

class EngineLoopSteps : public EngineLoops, public ::testing::WithParamInterface<bool> {};

TEST_P(EngineLoopSteps, GoOnWhereTheyAreIndependent) {
  Operator maker = named("maker", want_a_and_pods);
  maker.independent_steps = GetParam();
  run_with({&maker});
  for (int i = 0; i < 60; ++i) {
    change(parsed(R"({"data": {"v": "x"}})"), "somebody-else");
    serve_for(milliseconds(20));
  }
  sent.clear();
  change(parsed(R"({"data": {"v": "x", "pods": 1}})"), "somebody-else");
  const std::vector<SendWrite> last = take_sent();
  ASSERT_EQ(last.size(), GetParam() ? 1U : 0U) << "a step may rest on the one before it";
  EXPECT_TRUE(last.empty() || last[0].request.target.key.name == "pod-0");
}

INSTANTIATE_TEST_SUITE_P(Steps, EngineLoopSteps, ::testing::Bool());

}  // namespace
}  // namespace athanor::runtime::engine_loops_test
