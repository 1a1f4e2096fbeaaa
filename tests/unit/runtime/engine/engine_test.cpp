// SPDX-License-Identifier: Apache-2.0
// The engine's rules (docs/engine.md 2), one input at a time.
#include "runtime/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "runtime/view/failures.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_test {
namespace {

TEST_F(EngineTest, CountsListInPartsOnceWhole) {
  const auto map = [](const char* name) {
    return object(kConfigMap, name, 5, R"({"data": {"phase": "Seen"}})");
  };
  feed(Relisted{.kind = &kPod, .version = 100});
  feed(Relisted{.kind = &kConfigMap, .objects = {map("early")}, .version = 100, .last = false});
  feed(Relisted{.kind = &kConfigMap, .objects = {map("m")}, .version = 100, .last = false});
  feed(Relisted{
      .kind = &kConfigMap, .objects = {map("n")}, .version = 100, .first = false, .last = false});
  EXPECT_TRUE(sent.empty());
  feed(Relisted{.kind = &kConfigMap, .objects = {map("o")}, .version = 100, .first = false});
  ASSERT_EQ(sent.size(), 3U) << "the first beginning counts no more";
  EXPECT_EQ(sent[0].request.target.key.name, "m");
}

TEST_F(EngineTest, ItDecidesTheSameWithPackedCaches) {
  const Operator* const operators[] = {&kFollower};
  engine = std::make_unique<Engine>(
      operators,
      EngineOptions{
          .entropy = entropy.get(), .warm_objects = 1, .metrics = &metrics, .verify = true});
  std::vector<Object> pods;
  for (int i = 0; i < 50; ++i) {
    pods.push_back(
        object(kPod, "p" + std::to_string(i), 10 + i, R"({"metadata": {"labels": {"app": "x"}}})"));
  }
  start({object(kConfigMap, "m", 5, R"({"data": {"list": "x"}})"),
         object(kConfigMap, "n", 6, R"({"data": {"phase": "Done"}, "status": {"phase": "Done"}})")},
        std::move(pods));
  ASSERT_EQ(sent.size(), 1U) << "n is as it should be";
  EXPECT_EQ(sent[0].request.body["status"]["pods"].as_int(), 50);
  sent.clear();
  changed(
      object(kConfigMap, "n", 101, R"({"data": {"phase": "Over"}, "status": {"phase": "Done"}})"));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.target.key.name, "n");
  EXPECT_EQ(engine->cached(kPod, {"a", "p7"})->resource_version(), "17");
}

TEST_F(EngineTest, RunsNothingBeforeEveryKindIsListed) {
  feed(Relisted{.kind = &kConfigMap,
                .objects = {object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")},
                .version = 100});
  EXPECT_TRUE(sent.empty());
  feed(Relisted{.kind = &kPod, .version = 100});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.verb, WriteVerb::Create);
  EXPECT_EQ(sent[0].request.user, "system:serviceaccount:kube-system:follower");
}

TEST_F(EngineTest, WaitsForOwnWriteBeforeNextRun) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  changed(object(kConfigMap, "m", 101, R"({"data": {"create": "p", "x": "1"}})"));
  EXPECT_TRUE(sent.empty()) << "one reconcile per key at a time";
  feed(WriteResult{.id = first[0].id, .object = object(kPod, "p", 102)});
  EXPECT_TRUE(sent.empty()) << "the cache has not seen the pod: a run now would create it again";
  EXPECT_FALSE(engine->idle());
  changed(object(kPod, "p", 102));
  EXPECT_TRUE(sent.empty()) << "the pod is there";
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineTest, EndsBarrierThatNeverOpensByLiveRead) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto first = take_sent();
  feed(WriteResult{.id = first[0].id, .object = object(kPod, "p", 102)});
  wait(seconds(11));
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(std::get<Relist>(others[0]).kind, &kPod);
}

TEST_F(EngineTest, SendsSmallestStatusPatchOnceNoneAtRest) {
  start({object(kConfigMap, "m", 5, R"({"data": {"status": "hi"}, "status": {"other": 1}})")});
  auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].request.body, parsed(R"({"status": {"said": "hi"}})"));
  const Object after = object(
      kConfigMap, "m", 101, R"({"data": {"status": "hi"}, "status": {"other": 1, "said": "hi"}})");
  feed(WriteResult{.id = first[0].id, .object = after});
  changed(after);
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(engine->idle());
}

// The view had no phase; while the plan's first write was under way somebody else gave one.
TEST_F(EngineTest, GuardsVerdictByStateThatPlanSaw) {
  const std::string order = R"({"data":{"create":"p","phase":"Stopping"})";
  start({object(kConfigMap, "m", 5, order + "}")});
  const auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  changed(object(kConfigMap, "m", 101, order + R"(,"status":{"phase":"Stopped"}})"));
  feed(WriteResult{.id = first[0].id, .object = object(kPod, "p", 102)});
  const auto second = take_sent();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].request.body["metadata"]["resourceVersion"], Value("5"));
}

// A label is no reason to decide anew.
TEST_F(EngineTest, KeepsVerdictWhenOtherFieldsChange) {
  const std::string order = R"({"data":{"create":"p","phase":"Stopping"})";
  start({object(kConfigMap, "m", 5, order + "}")});
  const auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  changed(object(kConfigMap, "m", 101, order + R"(,"metadata":{"labels":{"a":"b"}}})"));
  feed(WriteResult{.id = first[0].id, .object = object(kPod, "p", 102)});
  const auto second = take_sent();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].request.body["metadata"]["resourceVersion"], Value("101"));
}

TEST_F(EngineTest, TheFirstFailureStopsThePlan) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p", "status": "hi"}})")});
  auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  feed(WriteResult{.id = first[0].id, .error = Error::internal("no")});
  EXPECT_TRUE(sent.empty());
  wait(milliseconds(4));
  EXPECT_TRUE(sent.empty()) << "backoff starts at 5 ms";
  wait(milliseconds(4));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(EngineTest, BackoffDoublesAndEndsWithSuccess) {
  start({object(kConfigMap, "m", 5, R"({"data": {"retry": "yes"}})")});
  Duration last{};
  for (int i = 0; i < 6; ++i) {
    const auto due = engine->next_due();
    ASSERT_TRUE(due.has_value());
    const Duration delay = *due - now;
    EXPECT_GT(delay, last);
    EXPECT_LT(delay, milliseconds(5) * (1 << i) * 5 / 4 + milliseconds(1));
    last = delay;
    now = *due;
    feed(Tick{});
  }
  changed(object(kConfigMap, "m", 101));
  EXPECT_FALSE(engine->next_due().has_value());
}

TEST_F(EngineTest, AConflictWaitsForTheNewerVersion) {
  start({object(kConfigMap, "m", 5, R"({"data": {"phase": "hi"}})")});
  auto first = take_sent();
  feed(WriteResult{.id = first[0].id, .error = Error::conflict("modified")});
  wait(seconds(1));
  EXPECT_TRUE(sent.empty()) << "no blind retry";
  changed(object(kConfigMap, "m", 101, R"({"data": {"phase": "hi"}, "status": {"x": 1}})"));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(EngineTest, WaitsForCacheAfterAlreadyExists) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto first = take_sent();
  feed(WriteResult{.id = first[0].id,
                   .error = Error{.code = 409, .reason = "AlreadyExists", .message = "there"}});
  EXPECT_TRUE(sent.empty());
  changed(object(kPod, "p", 101));
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineTest, AnUnknownOutcomeIsReadLive) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto first = take_sent();
  feed(WriteResult{.id = first[0].id, .unknown = true});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(std::get<Relist>(others[0]).kind, &kPod);
  wait(seconds(1));
  EXPECT_TRUE(sent.empty());
  feed(Relisted{.kind = &kPod, .objects = {object(kPod, "p", 102)}, .version = 103});
  wait(seconds(1));
  EXPECT_TRUE(sent.empty()) << "the lost write had happened";
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineTest, RetryAfterIsKept) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto first = take_sent();
  feed(WriteResult{.id = first[0].id,
                   .error = Error{.code = 429, .reason = "TooManyRequests", .message = "later"},
                   .retry_after = seconds(7)});
  wait(seconds(6));
  EXPECT_TRUE(sent.empty());
  wait(seconds(2));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(EngineTest, BoundsDelayOfOverloadAfterManyFailures) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")});
  auto attempt = take_sent();
  for (int failure = 0; failure < 16; ++failure) {
    ASSERT_EQ(attempt.size(), 1U);
    feed(WriteResult{.id = attempt[0].id, .error = Error::internal("no")});
    now = *engine->next_due();
    feed(Tick{});
    attempt = take_sent();
  }
  ASSERT_EQ(attempt.size(), 1U);
  feed(WriteResult{.id = attempt[0].id,
                   .error = Error{.code = 429, .reason = "TooManyRequests", .message = "later"},
                   .retry_after = seconds(1)});
  wait(seconds(29));
  EXPECT_TRUE(sent.empty()) << "what keeps failing keeps its pace, within reason";
  wait(seconds(2));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(EngineTest, AChangeRequeuesExactlyItsReaders) {
  start({object(kConfigMap, "reader", 5, R"({"data": {"list": "x"}})"),
         object(kConfigMap, "other", 6, R"({"data": {"list": "y"}})")});
  auto first = take_sent();
  ASSERT_EQ(first.size(), 2U);
  int version = 100;
  for (const SendWrite& send : first) {
    const auto name = send.request.target.key.name;
    const Object after =
        object(kConfigMap, name, ++version,
               name == "reader" ? R"({"data": {"list": "x"}, "status": {"pods": 0}})"
                                : R"({"data": {"list": "y"}, "status": {"pods": 0}})");
    feed(WriteResult{.id = send.id, .object = after});
    changed(after);
  }
  ASSERT_TRUE(sent.empty());
  changed(object(kPod, "p", 110, R"({"metadata": {"labels": {"app": "x"}}})"));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.target.key.name, "reader");
  EXPECT_EQ(sent[0].request.body, parsed(R"({"status": {"pods": 1}})"));
}

TEST_F(EngineTest, ProbesOnceAndRunsReadersWithAnswer) {
  start({object(kConfigMap, "m", 5, R"({"data": {"ask": "q"}})")});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(std::get<Probe>(others[0]).query, "ask:q");
  feed(Observation{.query = "ask:q", .value = Value(7)});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.body, parsed(R"({"status": {"seen": 7}})"));
  EXPECT_EQ(others.size(), 1U) << "the answer is fresh";
}

TEST_F(EngineTest, DropsAnswerWithItsLastReader) {
  const auto asking = [](const std::string& name, int version) {
    return object(kConfigMap, name, version, R"({"data": {"ask": "q"}, "status": {"seen": 7}})");
  };
  const auto remove = [&](Object last) {
    feed(WatchEvent{
        .type = WatchEvent::Type::Deleted, .kind = &kConfigMap, .object = std::move(last)});
  };
  start({asking("m", 5), asking("n", 6)});
  feed(Observation{.query = "ask:q", .value = Value(7)});
  ASSERT_EQ(others.size(), 1U);
  remove(asking("m", 101));
  changed(asking("m", 102));
  EXPECT_EQ(others.size(), 1U) << "n has the answer still";
  remove(asking("m", 103));
  remove(asking("n", 104));
  changed(asking("m", 105));
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(std::get<Probe>(others[1]).query, "ask:q");
}

TEST_F(EngineTest, AnAnswerOlderThanNewsIsDropped) {
  start({object(kConfigMap, "m", 5, R"({"data": {"ask": "q"}})")});
  feed(Observation{.query = "ask:q", .value = Value("new")});
  feed(
      Observation{.query = "ask:q", .value = Value("old"), .asked = std::get<Probe>(others[0]).id});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.body, parsed(R"({"status": {"seen": "new"}})"));
  feed(WriteResult{.id = sent[0].id, .error = Error::internal("again")});
  wait(seconds(1));
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].request.body, sent[0].request.body);
}

// A pod goes and one of its name comes, all while the first one's state is still being asked for.
TEST_F(EngineTest, DropsAnswerOlderThanUnreadNews) {
  const Object asking = object(kConfigMap, "m", 5, R"({"data": {"ask": "q"}})");
  start({asking});
  ASSERT_EQ(others.size(), 1U);
  feed(WatchEvent{.type = WatchEvent::Type::Deleted,
                  .kind = &kConfigMap,
                  .object = object(kConfigMap, "m", 101, R"({"data": {"ask": "q"}})")});
  feed(Observation{.query = "ask:q", .value = Value("new")});
  changed(object(kConfigMap, "m", 102, R"({"data": {"ask": "q"}})"));
  feed(
      Observation{.query = "ask:q", .value = Value("old"), .asked = std::get<Probe>(others[0]).id});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.body, parsed(R"({"status": {"seen": "new"}})"));
}

TEST_F(EngineTest, AnAnswerToAFormerQuestionIsDropped) {
  start({object(kConfigMap, "m", 5, R"({"data": {"ask": "q"}})")});
  feed(Observation{.query = "ask:q", .value = Value("news")});
  feed(WatchEvent{.type = WatchEvent::Type::Deleted,
                  .kind = &kConfigMap,
                  .object = object(kConfigMap, "m", 101, R"({"data": {"ask": "q"}})")});
  feed(WriteResult{.id = take_sent().at(0).id, .error = Error::not_found("gone")});
  changed(object(kConfigMap, "n", 102, R"({"data": {"ask": "q"}})"));
  const auto question = [&](std::size_t number) { return std::get<Probe>(others.at(number)).id; };
  ASSERT_EQ(others.size(), 2U) << "the news went with the only key that read it";
  feed(Observation{.query = "ask:q", .value = Value("old"), .asked = question(0)});
  EXPECT_EQ(sent.size(), 0U);
  feed(Observation{.query = "ask:q", .value = Value("new"), .asked = question(1)});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.body, parsed(R"({"status": {"seen": "new"}})"));
}

TEST_F(EngineTest, AnActIsExecutedOnce) {
  start({object(kConfigMap, "m", 5, R"({"data": {"act": "1"}})")});
  changed(object(kConfigMap, "m", 101, R"({"data": {"act": "1", "x": "2"}})"));
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(std::get<Execute>(others[0]).id, "1");
}

TEST_F(EngineTest, RunsSameIdUnderAnotherVerb) {
  start({object(kConfigMap, "m", 5, R"({"data": {"act": "1"}})")});
  changed(object(kConfigMap, "m", 101, R"({"data": {"act": "1", "verb": "undo"}})"));
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(std::get<Execute>(others[1]).verb, "undo");
}

TEST_F(EngineTest, EqualEventsAreCountedNotRepeated) {
  start({object(kConfigMap, "m", 5, R"({"data": {"emit": "hello"}})")});
  auto first = take_sent();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].request.verb, WriteVerb::Create);
  EXPECT_EQ(first[0].request.body["message"].as_string(), "hello");
  EXPECT_EQ(first[0].request.body["involvedObject"]["uid"].as_string(), "uid-m");
  EXPECT_THAT(first[0].request.target.key.name, ::testing::MatchesRegex("m\\.[0-9a-f]+"));
  feed(WriteResult{.id = first[0].id, .object = object(api::kEvent, "e", 101)});
  changed(object(kConfigMap, "m", 102, R"({"data": {"emit": "hello", "x": "2"}})"));
  auto second = take_sent();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].request.verb, WriteVerb::MergePatch);
  EXPECT_EQ(second[0].request.body["count"].as_int(), 2);
  feed(WriteResult{.id = second[0].id, .error = Error::not_found("expired")});
  changed(object(kConfigMap, "m", 103, R"({"data": {"emit": "hello", "x": "3"}})"));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.verb, WriteVerb::Create) << "the former event is gone";
}

TEST_F(EngineTest, AnEventWithAnIdIsWrittenOnce) {
  start({object(kConfigMap, "m", 5, R"({"data": {"emit": "hello", "emitId": "1"}})")});
  ASSERT_EQ(take_sent().size(), 1U);
  changed(object(kConfigMap, "m", 102, R"({"data": {"emit": "hello", "emitId": "1", "x": "2"}})"));
  EXPECT_EQ(take_sent().size(), 0U);
  changed(object(kConfigMap, "m", 103, R"({"data": {"emit": "hello", "emitId": "2"}})"));
  const auto second = take_sent();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].request.body["count"].as_int(), 2);
}

TEST_F(EngineTest, WakesWhenAsked) {
  start({object(kConfigMap, "m", 5, R"({"data": {"wake": 30}})")});
  ASSERT_TRUE(timer_at.has_value());
  EXPECT_EQ(*timer_at, now + seconds(30));
}

TEST_F(EngineTest, ResyncsAfterTenHoursAtLowPriority) {
  start({object(kConfigMap, "m", 5)});
  EXPECT_FALSE(engine->next_due().has_value()) << "resyncs do not count as work to do";
  ASSERT_TRUE(timer_at.has_value());
  EXPECT_GE(*timer_at - now, std::chrono::hours(10));
  EXPECT_LE(*timer_at - now, std::chrono::hours(11));
}

TEST_F(EngineTest, AListOlderThanTheCacheIsIgnored) {
  start({object(kConfigMap, "m", 5)});
  changed(object(kConfigMap, "m", 105, R"({"data": {"x": "new"}})"));
  feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 100});
  EXPECT_EQ(engine->cached(kConfigMap, {"a", "m"})->resource_version(), "105");
}

TEST_F(EngineTest, RelistShowsMissedChanges) {
  start({object(kConfigMap, "m", 5)}, {object(kPod, "p", 6)});
  feed(Relisted{.kind = &kPod, .objects = {object(kPod, "q", 110)}, .version = 111});
  EXPECT_EQ(engine->cached(kPod, {"a", "p"}), nullptr);
  EXPECT_NE(engine->cached(kPod, {"a", "q"}), nullptr);
}

TEST_F(EngineTest, CountsReconcilesByResult) {
  start({object(kConfigMap, "m", 5)});
  EXPECT_THAT(
      metrics.text(),
      ::testing::HasSubstr(
          R"(controller_runtime_reconcile_total{controller="follower",result="success"} 1)"));
}

// Asks for a pod; answers a refusal in its status.
Plan ask_and_answer(const View& view, const Key& key, Instant) {
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return Plan::done();
  }
  const Step create = Create{.target = {&kPod, {"a", "p"}}, .object = Value::object()};
  Plan plan;
  if (const auto error = refused(view, create)) {
    plan.then(
        Status{.target = {&kConfigMap, key}, .status = Value::object({{"error", error->message}})});
  } else if (!view.get(kPod, {"a", "p"})) {
    plan.then(create);
  }
  return plan;
}
const Operator kAnswerer{.name = "answerer",
                         .primary = &kConfigMap,
                         .reads = kReads,
                         .writes = kWrites,
                         .reconcile = ask_and_answer};

TEST(EngineRefusals, AreObservationsThatTheKeySeesAtOnce) {
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kAnswerer};
  Engine engine(operators, {.entropy = entropy.get()});
  std::vector<Effect> effects;
  const auto send = [&]() -> const SendWrite* {
    for (const Effect& effect : effects) {
      if (const auto* one = std::get_if<SendWrite>(&effect)) {
        return one;
      }
    }
    return nullptr;
  };
  engine.absorb(Relisted{.kind = &kPod, .version = 9}, Instant{});
  engine.feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
              Instant{}, effects);
  ASSERT_NE(send(), nullptr);
  const std::uint64_t id = send()->id;
  effects.clear();
  engine.feed(
      WriteResult{.id = id, .error = Error{.code = 403, .reason = "Forbidden", .message = "no"}},
      Instant{}, effects);
  ASSERT_NE(send(), nullptr) << "no backoff: somebody reads the refusal";
  EXPECT_EQ(send()->request.body, parsed(R"({"status": {"error": "no"}})"));
}

// Asks for a pod in two ways; tells in its status that neither was granted.
Plan ask_twice(const View& view, const Key& key, Instant) {
  Plan plan;
  std::string told;
  for (const char* way : {"first", "second"}) {
    const Step create =
        Create{.target = {&kPod, {"a", "p"}}, .object = Value::object({{"x", way}})};
    const auto error = refused(view, create);
    if (!error) {
      plan.then(create);
      return plan;
    }
    told += error->message + " ";
  }
  plan.then(Status{.target = {&kConfigMap, key}, .status = Value::object({{"error", told}})});
  return plan;
}

TEST(EngineRefusals, AnotherFieldIsAnotherQuestion) {
  const Operator asker{.name = "asker",
                       .primary = &kConfigMap,
                       .reads = kReads,
                       .writes = kWrites,
                       .reconcile = ask_twice};
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&asker};
  Engine engine(operators, {.entropy = entropy.get()});
  std::vector<Effect> effects;
  engine.absorb(Relisted{.kind = &kPod, .version = 9}, Instant{});
  engine.feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
              Instant{}, effects);
  // Answers the write under way; the body of the next one.
  const auto refuse = [&](const std::string& message) {
    std::uint64_t id = 0;
    for (const Effect& effect : effects) {
      if (const auto* one = std::get_if<SendWrite>(&effect)) {
        id = one->id;
      }
    }
    effects.clear();
    engine.feed(WriteResult{.id = id,
                            .error = Error{.code = 403, .reason = "Forbidden", .message = message}},
                Instant{}, effects);
    for (const Effect& effect : effects) {
      if (const auto* one = std::get_if<SendWrite>(&effect)) {
        return one->request.body;
      }
    }
    return Value();
  };
  EXPECT_EQ(refuse("no")["x"].as_string(), "second");
  EXPECT_EQ(refuse("no"), parsed(R"({"status": {"error": "no no "}})"))
      << "the same words, about another step";
}

TEST(EngineRefusals, RunsOperatorsDespiteUnlistableKind) {
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kAnswerer};
  Engine engine(operators, {.entropy = entropy.get()});
  std::vector<Effect> effects;
  engine.absorb(Relisted{.kind = &kPod, .error = Error::not_found("no such resource")}, Instant{});
  engine.feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
              Instant{}, effects);
  EXPECT_TRUE(std::any_of(effects.begin(), effects.end(), [](const Effect& effect) {
    return std::holds_alternative<SendWrite>(effect);
  }));
}

Plan delete_pod(const View& view, const Key& key, Instant) {
  Plan plan;
  if (view.get(kConfigMap, key)) {
    plan.then(Delete{.target = {&kPod, key}});
  }
  return plan;
}
const Operator kDeleter{.name = "deleter",
                        .primary = &kConfigMap,
                        .reads = kReads,
                        .writes = kReads,
                        .reconcile = delete_pod};

// What may not be listed may be there all the same.
TEST(EngineRefusedKinds, AreDeletedFromByName) {
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kDeleter};
  Engine engine(operators, {.entropy = entropy.get()});
  std::vector<Effect> effects;
  engine.absorb(Relisted{.kind = &kPod, .error = Error{.code = 403, .message = "no"}}, Instant{});
  engine.feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
              Instant{}, effects);
  EXPECT_TRUE(std::ranges::any_of(effects, [](const Effect& effect) {
    const auto* send = std::get_if<SendWrite>(&effect);
    return send != nullptr && send->request.verb == WriteVerb::Delete;
  }));
}

// Cleans up behind objects that are gone: asks first, then acts.
Plan clean_up(const View& view, const Key& key, Instant) {
  const Observed left = view.observe("left:" + key.name, std::chrono::hours(1));
  Plan plan;
  if (!view.get(kConfigMap, key) && left.value && left.value->as_int() > 0) {
    plan.then(Act{.id = key.name + left.value->str(), .verb = "clean"});
  }
  return plan;
}
const Operator kCleaner{
    .name = "cleaner", .primary = &kConfigMap, .reads = kReads, .reconcile = clean_up};

TEST(EngineGoneKeys, StayUntilTheirCleanUpIsDone) {
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kCleaner};
  Engine engine(operators, {.entropy = entropy.get()});
  std::vector<Effect> effects;
  const auto acts = [&] {
    return std::count_if(effects.begin(), effects.end(), [](const Effect& effect) {
      return std::holds_alternative<Execute>(effect);
    });
  };
  engine.absorb(Relisted{.kind = &kPod, .version = 9}, Instant{});
  engine.absorb(
      Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
      Instant{});
  engine.absorb(WatchEvent{.type = WatchEvent::Type::Deleted,
                           .kind = &kConfigMap,
                           .object = object(kConfigMap, "m", 10)},
                Instant{});
  engine.run(Instant{}, effects);
  EXPECT_EQ(acts(), 0) << "nobody knows yet what is left";
  engine.feed(Observation{.query = "left:m", .value = Value(1)}, Instant{}, effects);
  EXPECT_EQ(acts(), 1);
}

Plan read_secretly(const View& view, const Key& key, Instant) {
  return view.get(kPod, key) ? Plan::done() : Plan::done();
}

// Operator::pause: what changes within it is taken together.
TEST(EnginePause, RunsAtOnceAndThenAtItsPace) {
  const auto entropy = seeded_entropy(1);
  Operator slow = kFollower;
  slow.pause = milliseconds(100);
  const Operator* const operators[] = {&slow};
  Metrics metrics;
  Engine engine(operators, EngineOptions{.entropy = entropy.get(), .metrics = &metrics});
  Instant now = *parse_time("2026-01-05T00:00:00Z");
  std::vector<Effect> effects;
  const auto writes = [&] {
    return std::ranges::count_if(
        effects, [](const Effect& effect) { return std::holds_alternative<SendWrite>(effect); });
  };
  const auto told = [&](int version) {
    const std::string extra = R"({"data": {"emit": "v)" + std::to_string(version) + R"("}})";
    engine.feed(WatchEvent{.kind = &kConfigMap, .object = object(kConfigMap, "m", version, extra)},
                now, effects);
  };
  engine.feed(Relisted{.kind = &kPod, .version = 100}, now, effects);
  engine.feed(Relisted{.kind = &kConfigMap, .version = 100}, now, effects);
  told(101);
  EXPECT_EQ(writes(), 1);
  now += milliseconds(10);
  told(102);
  told(103);
  EXPECT_EQ(writes(), 1);
  now += milliseconds(90);
  engine.feed(Tick{}, now, effects);
  EXPECT_EQ(writes(), 2);
}

// Operator::overlooks: what a key reads may change without a run, where that makes no difference.
TEST(EngineOverlooks, ChangesThatMakeNoDifferenceRunNothing) {
  const auto entropy = seeded_entropy(1);
  Operator op = kFollower;
  op.overlooks = [](const Kind& kind, const Object& before, const Object& after) {
    return &kind == &kPod && before.label("app") == after.label("app");
  };
  const Operator* const operators[] = {&op};
  Metrics metrics;
  Engine engine(operators, EngineOptions{.entropy = entropy.get(), .metrics = &metrics});
  const Instant now = *parse_time("2026-01-05T00:00:00Z");
  std::vector<Effect> effects;
  const auto runs = [&] {
    return metrics.counter("workqueue_adds_total", "", {{"name", "follower"}}).value();
  };
  const auto pod = [](int version, const std::string& app) {
    return object(kPod, "p", version, R"({"metadata": {"labels": {"app": ")" + app + R"("}}})");
  };
  const auto changed = [&](Object body) {
    engine.feed(WatchEvent{.kind = &kPod, .object = std::move(body)}, now, effects);
  };
  engine.feed(Relisted{.kind = &kPod, .objects = {pod(50, "x")}, .version = 100}, now, effects);
  engine.feed(Relisted{.kind = &kConfigMap,
                       .objects = {object(kConfigMap, "m", 5, R"({"data": {"create": "p"}})")},
                       .version = 100},
              now, effects);
  const double before = runs();
  changed(pod(101, "x"));
  EXPECT_EQ(runs(), before) << "overlooked";
  changed(pod(102, "y"));
  EXPECT_EQ(runs(), before + 1);
  engine.feed(WatchEvent{.type = WatchEvent::Type::Deleted, .kind = &kPod, .object = pod(103, "y")},
              now, effects);
  EXPECT_EQ(runs(), before + 2) << "that it is gone is no mere change";
}

constexpr const Kind* kPods[] = {&kPod};

// View::derived: made once for all readers, until one of its objects changes.
int derivations = 0;
std::shared_ptr<const void> count_pods(const View& view) {
  ++derivations;
  return std::make_shared<const std::size_t>(view.list(kPod).size());
}
std::size_t counted = 0;
Plan look_at_pods(const View& view, const Key& /*key*/, Instant /*now*/) {
  counted = *view.derived<std::size_t>({.kinds = kPods, .make = count_pods});
  return Plan::done();
}

TEST(EngineDerivations, RecomputeWhenOneOfTheirObjectsChanges) {
  static const Operator kLooker{.name = "looker",
                                .primary = &kConfigMap,
                                .reads = kReads,
                                .reconcile = look_at_pods,
                                .small = kPods};
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kLooker};
  Engine engine(operators, {.entropy = entropy.get()});
  const Instant now = *parse_time("2026-01-05T00:00:00Z");
  std::vector<Effect> effects;
  derivations = 0;
  engine.feed(Relisted{.kind = &kPod, .objects = {object(kPod, "p", 50)}, .version = 100}, now,
              effects);
  engine.feed(Relisted{.kind = &kConfigMap,
                       .objects = {object(kConfigMap, "m", 5), object(kConfigMap, "n", 6)},
                       .version = 100},
              now, effects);
  EXPECT_EQ(counted, 1U);
  EXPECT_EQ(derivations, 1) << "two keys, one derivation";
  engine.feed(WatchEvent{.kind = &kPod, .object = object(kPod, "q", 101)}, now, effects);
  EXPECT_EQ(counted, 2U) << "its change runs its readers";
  EXPECT_EQ(derivations, 2);
  engine.feed(
      WatchEvent{
          .type = WatchEvent::Type::Deleted, .kind = &kPod, .object = object(kPod, "q", 102)},
      now, effects);
  EXPECT_EQ(counted, 1U);
}

std::size_t seen_revision = 0;
std::shared_ptr<const void> take_newest(const View& view) {
  ++derivations;
  std::size_t newest = 0;
  for (const Object& pod : view.list(kPod)) {
    newest = std::max<std::size_t>(newest, std::stoul(std::string(pod.resource_version())));
  }
  return std::make_shared<const std::size_t>(newest);
}
bool keeps_phase(const Kind& /*kind*/, const Object& before, const Object& after) {
  return before.status()["phase"] == after.status()["phase"];
}
Plan look_at_phases(const View& view, const Key& /*key*/, Instant /*now*/) {
  seen_revision =
      *view.derived<std::size_t>({.kinds = kPods, .make = take_newest, .overlooks = keeps_phase});
  return Plan::done();
}

TEST(EngineDerivations, AreKeptThroughChangesThatTheyOverlook) {
  static const Operator kLooker{.name = "looker",
                                .primary = &kConfigMap,
                                .reads = kReads,
                                .reconcile = look_at_phases,
                                .small = kPods};
  const auto entropy = seeded_entropy(1);
  const Operator* const operators[] = {&kLooker};
  Engine engine(operators, {.entropy = entropy.get()});
  const Instant now = *parse_time("2026-01-05T00:00:00Z");
  std::vector<Effect> effects;
  const auto changed = [&](int version, const char* phase) {
    Value body = object(kPod, "p", version).body();
    body.set_path({"status", "phase"}, phase);
    engine.feed(WatchEvent{.kind = &kPod, .object = Object(body)}, now, effects);
  };
  derivations = 0;
  engine.feed(Relisted{.kind = &kPod, .objects = {object(kPod, "q", 50)}, .version = 90}, now,
              effects);
  engine.feed(Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 90},
              now, effects);
  changed(100, "Pending");
  EXPECT_EQ(derivations, 2) << "a pod more";
  changed(101, "Pending");
  changed(102, "Pending");
  EXPECT_EQ(derivations, 2);
  EXPECT_EQ(seen_revision, 100U);
  changed(103, "Running");
  EXPECT_EQ(derivations, 3);
  EXPECT_EQ(seen_revision, 103U);
  engine.feed(
      WatchEvent{
          .type = WatchEvent::Type::Deleted, .kind = &kPod, .object = object(kPod, "p", 104)},
      now, effects);
  EXPECT_EQ(seen_revision, 50U);
}

TEST(EngineInvariants, AnUndeclaredReadEndsTheProgram) {
  static constexpr const Kind* kOnlyMaps[] = {&kConfigMap};
  static const Operator kSneaky{
      .name = "sneaky", .primary = &kConfigMap, .reads = kOnlyMaps, .reconcile = read_secretly};
  const auto run = [] {
    const auto entropy = seeded_entropy(1);
    const Operator* const operators[] = {&kSneaky};
    Engine engine(operators, {.entropy = entropy.get()});
    std::vector<Effect> effects;
    engine.feed(
        Relisted{.kind = &kConfigMap, .objects = {object(kConfigMap, "m", 5)}, .version = 9},
        Instant{}, effects);
  };
  EXPECT_DEATH(run(), "declared");
}

TEST_F(EngineTest, ReportsItsState) {
  start({object(kConfigMap, "m", 5, R"({"data": {"create": "p", "status": "made"}})")});
  const Value busy = engine->debug(now, 10);
  ASSERT_EQ(busy["keys"].size(), 1U);
  EXPECT_EQ(busy["keys"][0]["controller"].as_string(), "follower");
  EXPECT_EQ(busy["keys"][0]["key"].as_string(), "a/m");
  EXPECT_EQ(busy["keys"][0]["state"].as_string(), "writing");
  EXPECT_EQ(busy["keys"][0]["reason"].as_string(), "caches listed");
  EXPECT_EQ(busy["keys"][0]["step"].as_int(), 1);
  EXPECT_EQ(busy["keys"][0]["steps"].as_int(), 2);
  const auto writes = take_sent();
  feed(WriteResult{.id = writes[0].id, .error = Error::internal("broken")});
  const Value later = engine->debug(now, 10);
  EXPECT_EQ(later["keys"][0]["state"].as_string(), "backoff");
  EXPECT_EQ(later["keys"][0]["error"].as_string(), "broken");
  EXPECT_EQ(later["keys"][0]["failures"].as_int(), 1);
  EXPECT_EQ(engine->debug(now, 0)["busy"].as_int(), 1);
}

}  // namespace
}  // namespace athanor::runtime::engine_test
