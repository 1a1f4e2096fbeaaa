// SPDX-License-Identifier: Apache-2.0
// Plans that settle, and keys that end with their object: what does not run a key again.
#include <string>

#include "engine_fixture.hpp"

namespace athanor::runtime {
namespace {

class EngineSettles : public EngineTest {
 protected:
  EngineSettles() { make_with(kFollower); }

  void make_with(const Operator& op, decltype(EngineOptions::on_settled) on_settled = {}) {
    const Operator* const operators[] = {&op};
    engine = std::make_unique<Engine>(
        operators, EngineOptions{.entropy = entropy.get(),
                                 .metrics = &metrics,
                                 .verify = true,
                                 .on_reconcile = [this](const Operator&, const Key&, std::size_t,
                                                        const Plan&) { ++runs; },
                                 .on_settled = std::move(on_settled)});
  }

  // A map whose plan writes "hi" into the status and settles.
  static Object map(int version, const std::string& status = "{}", const std::string& more = "") {
    return object(
        kConfigMap, "m", version,
        R"({"data": {"status": "hi", "settle": "yes")" + more + R"(}, "status": )" + status + "}");
  }
  std::uint64_t write() {
    const auto writes = take_sent();
    EXPECT_EQ(writes.size(), 1U);
    return writes.empty() ? 0 : writes[0].id;
  }

  int runs = 0;
};

TEST_F(EngineSettles, WhatAPlanItselfWroteDoesNotRunItsKeyAgain) {
  start({map(5)});
  const Object after = map(101, R"({"said": "hi"})");
  feed(WriteResult{.id = write(), .object = after});
  changed(after);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(engine->idle());
  changed(map(102, R"({"said": "no"})"));
  EXPECT_EQ(runs, 2) << "somebody else changed it";
}

TEST_F(EngineSettles, TheWatchMayBeFasterThanTheAnswer) {
  start({map(5)});
  const Object after = map(101, R"({"said": "hi"})");
  const std::uint64_t id = write();
  changed(after);
  feed(WriteResult{.id = id, .object = after});
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineSettles, ANullThatTheServerAddsIsNobodysNews) {
  start({map(5, R"({"list": [{"a": 1}]})")});
  const Object after = map(101, R"({"said": "hi", "list": [{"a": 1, "probed": null}]})");
  feed(WriteResult{.id = write(), .object = after});
  changed(after);
  EXPECT_EQ(runs, 1);
}

TEST_F(EngineSettles, WhatOthersTookOutInTheSameEventIsSeen) {
  start({map(5, R"({"list": [{"a": 1}]})")});
  const Object after = map(102, R"({"said": "hi", "list": [{"a": null}]})");
  feed(WriteResult{.id = write(), .object = after});
  changed(after);
  EXPECT_EQ(runs, 2);
}

TEST_F(EngineSettles, WhatOthersChangedInTheSameEventIsSeen) {
  start({map(5)});
  const Object after = map(102, R"({"said": "hi"})", R"(, "x": "theirs")");
  feed(WriteResult{.id = write(), .object = after});
  changed(after);
  EXPECT_EQ(runs, 2);
}

TEST_F(EngineSettles, WhatOthersChangedAfterwardsIsSeen) {
  start({map(5)});
  feed(WriteResult{.id = write(), .object = map(101, R"({"said": "hi"})")});
  changed(map(102, R"({"said": "hi", "more": 1})"));
  EXPECT_EQ(runs, 2);
}

TEST_F(EngineSettles, ARefusedWriteRunsTheKeyWithWhatHasComeMeanwhile) {
  start({map(5)});
  const std::uint64_t id = write();
  changed(map(101, R"({"other": 1})"));
  feed(WriteResult{.id = id, .error = Error::conflict("the object has been modified")});
  EXPECT_EQ(runs, 2) << "the newer version is there already";
  EXPECT_EQ(take_sent().size(), 1U);
}

TEST_F(EngineSettles, AWakeUpIsKept) {
  start({map(5, "{}", R"(, "wake": 60)")});
  const Object after = map(101, R"({"said": "hi"})", R"(, "wake": 60)");
  feed(WriteResult{.id = write(), .object = after});
  changed(after);
  EXPECT_EQ(runs, 1);
  wait(seconds(60));
  EXPECT_EQ(runs, 2);
}

TEST_F(EngineSettles, AStepOfTheClockRunsAKeyWhosePlanIsUnderWay) {
  start({map(5, "{}", R"(, "wake": 60)")});
  const Object after = map(101, R"({"said": "hi"})", R"(, "wake": 60)");
  const std::uint64_t id = write();
  now -= std::chrono::hours(1);
  feed(ClockStep{.by = -std::chrono::hours(1)});
  feed(WriteResult{.id = id, .object = after});
  changed(after);
  EXPECT_EQ(runs, 2) << "it chose its wake-up by the old clock";
}

// What the write made may bear an earlier time than the plan, however late its answer comes.
TEST_F(EngineSettles, AClockThatWentBackMeanwhileRunsAKeyWhosePlanIsUnderWay) {
  start({map(5, "{}", R"(, "wake": 60)")});
  const Object after = map(101, R"({"said": "hi"})", R"(, "wake": 60)");
  const std::uint64_t id = write();
  now -= seconds(5);
  feed(WriteResult{.id = id, .object = after});
  now += seconds(10);
  changed(after);
  EXPECT_EQ(runs, 2);
}

// The pod is seen and the status is not: the promise was made for a view of both.
TEST_F(EngineSettles, AWatchThatHangsRunsTheKeyWithWhatHasCome) {
  start({map(5, "{}", R"(, "create": "p")")});
  const Object pod = object(kPod, "p", 101);
  feed(WriteResult{.id = write(), .object = pod});
  feed(WriteResult{.id = write(), .object = map(102, R"({"said": "hi"})", R"(, "create": "p")")});
  changed(pod);
  EXPECT_EQ(runs, 1);
  wait(seconds(11));
  EXPECT_EQ(runs, 2);
}

// Writes a status of its own each time.
Plan never_rests(const View& view, const Key& key, Instant) {
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return Plan::done();
  }
  Plan plan;
  plan.then(Status{.target = {&kConfigMap, key},
                   .status = Value::object({{"count", map->status()["count"].as_int() + 1}})});
  plan.settle();
  return plan;
}

TEST_F(EngineSettles, APromiseThatIsNotKeptEndsTheProgramWherePlansAreVerified) {
  Operator op = kFollower;
  op.reconcile = never_rests;
  make_with(op);
  start({object(kConfigMap, "m", 5)});
  const Object after = object(kConfigMap, "m", 101, R"({"status": {"count": 1}})");
  feed(WriteResult{.id = write(), .object = after});
  EXPECT_DEATH(changed(after), "a plan that settles leaves nothing to do");
}

TEST_F(EngineSettles, AKeyThatEndsWithItsObjectDoesNotRunForItsEnd) {
  Operator op = kFollower;
  op.ends_with_object = true;
  make_with(op);
  start({object(kConfigMap, "m", 5, R"({"data": {"list": "x"}, "status": {"pods": 0}})")});
  EXPECT_EQ(runs, 1);
  const auto known = [&] { return engine->debug(now, 0)["known"].as_int(); };
  EXPECT_EQ(known(), 1);
  feed(WatchEvent{.type = WatchEvent::Type::Deleted,
                  .kind = &kConfigMap,
                  .object = object(kConfigMap, "m", 101)});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(known(), 0);
  changed(object(kPod, "p", 102, R"({"metadata": {"labels": {"app": "x"}}})"));
  EXPECT_EQ(runs, 1) << "it reads nothing any more";
}

// Makes a pod of a map that is gone.
Plan mourns(const View& view, const Key& key, Instant) {
  Plan plan;
  if (!view.get(kPod, key) && !view.get(kConfigMap, key)) {
    plan.then(Create{.target = {&kPod, key}, .object = Value::object()});
  }
  return plan;
}

TEST_F(EngineSettles, AKeyThatDoesNotEndWithItsObjectIsToldAndRuns) {
  Operator op = kFollower;
  op.ends_with_object = true;
  op.reconcile = mourns;
  std::string told;
  make_with(op, [&](const Operator&, const Key&, std::string_view broken) { told = broken; });
  start({object(kConfigMap, "m", 5)});
  EXPECT_TRUE(take_sent().empty());
  feed(WatchEvent{.type = WatchEvent::Type::Deleted,
                  .kind = &kConfigMap,
                  .object = object(kConfigMap, "m", 101)});
  EXPECT_EQ(told, "acts although its object is gone");
  EXPECT_EQ(take_sent().size(), 1U);
}

}  // namespace
}  // namespace athanor::runtime
