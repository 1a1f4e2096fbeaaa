// SPDX-License-Identifier: Apache-2.0
// Operator::independent_steps: the writes of a plan on different objects are in flight together.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::independent_steps_test {
namespace {

constexpr int kPods = 5;

// Data of the primary: data.pods: a pod for each name that the view does not hold, and an Event
// about it; data.twice: two patches of each pod.
Plan make_pods(const View& view, const Key& key, Instant /*now*/) {
  const auto map = view.get(kConfigMap, key);
  Plan plan;
  if (!map) {
    return plan;
  }
  const Value& data = map->body()["data"];
  for (int i = 0; i < data["pods"].as_int(); ++i) {
    const Ref pod{&kPod, {"a", "pod-" + std::to_string(i)}};
    if (view.get(kPod, pod.key)) {
      continue;
    }
    if (data.contains("twice")) {
      for (const char* value : {"1", "2"}) {
        plan.then(Patch{.target = pod, .merge = Value::object({{"data", value}})});
      }
    } else {
      plan.then(Create{.target = pod, .object = Value::object()});
    }
    plan.then(
        Emit{.about = pod, .about_uid = "uid", .reason = "Made", .note = "made " + pod.key.name});
  }
  return plan;
}

const Operator kMaker{.name = "maker",
                      .primary = &kConfigMap,
                      .reads = kReads,
                      .writes = kWrites,
                      .reconcile = make_pods,
                      .independent_steps = true};

class IndependentSteps : public EngineTest {
 protected:
  void make(std::size_t most, std::size_t steps) {
    const Operator* const operators[] = {&kMaker};
    engine = std::make_unique<Engine>(operators, EngineOptions{.entropy = entropy.get(),
                                                               .metrics = &metrics,
                                                               .verify = true,
                                                               .steps_per_plan = steps,
                                                               .writes_per_plan = most});
  }
  void order(std::string_view data, std::size_t most = 64, std::size_t steps = kStepsPerPlan) {
    make(most, steps);
    start({object(kConfigMap, "x", 5, data)});
  }
  static bool is_event(const SendWrite& write) { return write.request.target.kind == &api::kEvent; }
  static std::vector<SendWrite> without_events(std::vector<SendWrite> writes) {
    std::erase_if(writes, is_event);
    return writes;
  }
  void answer(const SendWrite& write, int version) {
    feed(WriteResult{.id = write.id,
                     .object = object(kPod, write.request.target.key.name, version)});
  }
  void refuse(const SendWrite& write, Error error) {
    feed(WriteResult{.id = write.id, .error = std::move(error)});
  }
};

TEST_F(IndependentSteps, AreSentTogether) {
  order(R"({"data": {"pods": 5}})");
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), kPods);
  EXPECT_TRUE(std::ranges::none_of(writes, is_event));
}

TEST_F(IndependentSteps, EventsFollowTheirOwnWrite) {
  order(R"({"data": {"pods": 5}})");
  const auto writes = take_sent();
  answer(writes[3], 103);
  const auto events = take_sent();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].request.body["message"].as_string(), "made pod-3");
  answer(writes[0], 104);
  EXPECT_EQ(engine->debug(now, 1)["keys"][0]["step"].as_int(), 3) << "the Create of pod-1";
}

TEST_F(IndependentSteps, SendEventsOfLastExecutedStep) {
  order(R"({"data": {"pods": 5}})", 64, 1);
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), 1U);
  answer(writes[0], 101);
  const auto events = take_sent();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].request.body["message"].as_string(), "made pod-0");
  changed(object(kPod, "pod-0", 101));
  const auto next = take_sent();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].request.target.key.name, "pod-1");
}

TEST_F(IndependentSteps, NoMoreThanTheBoundAreInFlight) {
  order(R"({"data": {"pods": 5}})", 2);
  const auto first = take_sent();
  ASSERT_EQ(first.size(), 2U);
  answer(first[1], 101);
  const auto next = without_events(take_sent());
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].request.target.key.name, "pod-2");
}

TEST_F(IndependentSteps, WritesOnOneObjectKeepTheirOrder) {
  order(R"({"data": {"pods": 1, "twice": true}})");
  const auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].request.body["data"].as_string(), "1");
  answer(first[0], 101);
  const auto second = take_sent();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].request.body["data"].as_string(), "2");
}

TEST_F(IndependentSteps, RunKeyAgainOnceCachesShowAllWrites) {
  order(R"({"data": {"pods": 5}})");
  const auto writes = take_sent();
  for (int i = kPods - 1; i >= 0; --i) {
    answer(writes[static_cast<std::size_t>(i)], 101 + i);
  }
  sent.clear();
  changed(object(kConfigMap, "x", 106, R"({"data": {"pods": 6}})"));
  for (int i = 0; i < kPods; ++i) {
    EXPECT_TRUE(take_sent().empty()) << i;
    changed(object(kPod, "pod-" + std::to_string(i), 101 + i));
  }
  const auto more = take_sent();
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].request.target.key.name, "pod-5");
}

TEST_F(IndependentSteps, AFailureStopsThoseThatWereNotSent) {
  order(R"({"data": {"pods": 5}})", 3);
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), 3U);
  refuse(writes[0], Error{.code = 422, .reason = "Invalid", .message = "no"});
  EXPECT_TRUE(std::ranges::all_of(take_sent(), is_event));
  answer(writes[1], 101);
  answer(writes[2], 102);
  const auto events = take_sent();
  EXPECT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(events, is_event));
  // What was written changes what the key has read: it runs again with the rest.
  changed(object(kPod, "pod-1", 101));
  EXPECT_TRUE(take_sent().empty());
  changed(object(kPod, "pod-2", 102));
  const auto again = take_sent();
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].request.target.key.name, "pod-0");
  EXPECT_EQ(again[1].request.target.key.name, "pod-3");
}

TEST_F(IndependentSteps, OfSeveralFailuresTheLongestWaitCounts) {
  order(R"({"data": {"pods": 3}})");
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), 3U);
  refuse(writes[0], Error{.code = 500, .reason = "InternalError", .message = "no"});
  feed(WriteResult{.id = writes[1].id,
                   .error = Error{.code = 429, .reason = "TooManyRequests", .message = "later"},
                   .retry_after = seconds(20)});
  refuse(writes[2], Error{.code = 500, .reason = "InternalError", .message = "no"});
  wait(seconds(19));
  EXPECT_TRUE(take_sent().empty());
  wait(seconds(8));
  EXPECT_EQ(take_sent().size(), 3U);
}

TEST_F(IndependentSteps, WaitForNewListAfterLostAnswer) {
  order(R"({"data": {"pods": 2}})");
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), 2U);
  feed(WriteResult{.id = writes[0].id, .unknown = true});
  answer(writes[1], 101);
  sent.clear();
  wait(seconds(1));
  EXPECT_TRUE(take_sent().empty());
  feed(Relisted{.kind = &kPod,
                .objects = {object(kPod, "pod-0", 100), object(kPod, "pod-1", 101)},
                .version = 102});
  wait(seconds(1));
  EXPECT_TRUE(take_sent().empty());  // both are there
}

}  // namespace
}  // namespace athanor::runtime::independent_steps_test
