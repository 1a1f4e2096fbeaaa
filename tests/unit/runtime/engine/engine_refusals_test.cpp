// SPDX-License-Identifier: Apache-2.0
// Refused writes are visible to people: an Event about the key's object, unless its controller
// reads the refusal (docs/engine.md 2, rule 4).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/view/failures.hpp"
#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_refusals_test {
namespace {

const Step kCreatePod = Create{.target = {&kPod, {"a", "p"}}, .object = Value::object()};
const Step kPatchMap = Patch{.target = {&kConfigMap, {"a", "m"}}, .merge = parsed(R"({"x": 1})")};
const Step kApplyPod =
    Apply{.target = {&kPod, {"a", "p"}}, .fields = parsed(R"({"x": 1})"), .force = false};
const Step kDeletePod = Delete{.target = {&kPod, {"a", "old"}}};
const Step* step_now = nullptr;

Plan take_step(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (view.get(kConfigMap, key)) {
    plan.then(*step_now);
  }
  return plan;
}
const Operator kTaker{.name = "taker",
                      .primary = &kConfigMap,
                      .reads = kReads,
                      .writes = kWrites,
                      .reconcile = take_step};

Plan read_refusal(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (view.get(kConfigMap, key) && !refused(view, *step_now)) {
    plan.then(*step_now);
  }
  return plan;
}
const Operator kReader{.name = "reader",
                       .primary = &kConfigMap,
                       .reads = kReads,
                       .writes = kWrites,
                       .reconcile = read_refusal};

// One key for all objects.
Plan serve_all(const View& view, const Key& /*key*/, Instant /*now*/) {
  Plan plan;
  if (const auto map = view.get(kConfigMap, {"a", "m"})) {
    Value child = Value::object();
    child.set_path({"metadata", "ownerReferences"},
                   Value::list({OwnerReference{.api_version = "v1",
                                               .kind = "ConfigMap",
                                               .name = "m",
                                               .uid = std::string(map->uid()),
                                               .controller = true}
                                    .to_value()}));
    plan.then(Create{.target = {&kPod, {"a", "p"}}, .object = child});
  }
  return plan;
}
const Operator kServer{.name = "server",
                       .primary = &kConfigMap,
                       .reads = kReads,
                       .writes = kWrites,
                       .reconcile = serve_all,
                       .singleton = true};

Error refusal(int code, std::string_view reason, std::string_view message) {
  return {.code = code, .reason = std::string(reason), .message = std::string(message)};
}

class EngineRefusedWrites : public EngineTest {
 protected:
  void run_with(const Operator& op) {
    const Operator* const operators[] = {&op};
    engine = std::make_unique<Engine>(operators, EngineOptions{.entropy = entropy.get()});
    sent.clear();
    events.clear();
    start({object(kConfigMap, "m", 5)}, {object(kPod, "old", 6)});
  }
  // Refuses every write for so long. Returns the number of tries.
  int refuse_for(Duration duration, const Error& error) {
    const Instant end = now + duration;
    int tries = 0;
    while (true) {
      for (const SendWrite& send : take_sent()) {
        if (send.request.target.kind == &api::kEvent) {
          events.push_back(send.request);
          feed(WriteResult{.id = send.id, .object = Object(send.request.body)});
        } else {
          ++tries;
          feed(WriteResult{.id = send.id, .error = error});
        }
      }
      if (!sent.empty()) {
        continue;
      }
      const auto due = engine->next_due();
      if (!due || *due >= end) {
        now = end;
        return tries;
      }
      now = *due;
      feed(Tick{});
    }
  }

  std::vector<WriteRequest> events{};
};

TEST_F(EngineRefusedWrites, AreEventsWhereAPersonCanHelp) {
  struct Row {
    Error error;
    const Step* step;
    std::string reason{};  // of the Event; empty: none
    std::string note{};
  };
  const Row rows[] = {
      {refusal(400, "BadRequest", "bad"), &kCreatePod, "FailedCreate", "cannot create Pod p: bad"},
      {refusal(401, "Unauthorized", "who"), &kCreatePod},
      {refusal(403, "Forbidden", "exceeded quota"), &kCreatePod, "FailedCreate",
       "cannot create Pod p: exceeded quota"},
      {refusal(403, "Forbidden",
               "unable to create new content in namespace a because it is being terminated"),
       &kCreatePod},
      {refusal(403, "Forbidden", "no"), &kDeletePod, "FailedDelete", "cannot delete Pod old: no"},
      {refusal(404, "NotFound", "namespaces \"a\" not found"), &kCreatePod, "FailedCreate",
       "cannot create Pod p: namespaces \"a\" not found"},
      {refusal(404, "NotFound", "pods \"old\" not found"), &kDeletePod},
      {refusal(405, "MethodNotAllowed", "not so"), &kPatchMap, "FailedUpdate",
       "cannot update ConfigMap m: not so"},
      {refusal(409, "AlreadyExists", "pods \"old\" already exists"), &kCreatePod},
      {refusal(409, "Conflict", "Apply failed with 1 conflict: .x"), &kApplyPod, "FailedUpdate",
       "cannot update Pod p: Apply failed with 1 conflict: .x"},
      {refusal(409, "Conflict", "the object has been modified"), &kPatchMap},
      {refusal(409, "Conflict", "admission webhook \"w\" denied the request: no"), &kPatchMap,
       "FailedUpdate", "cannot update ConfigMap m: admission webhook \"w\" denied the request: no"},
      {refusal(413, "RequestEntityTooLarge", "too large"), &kPatchMap, "FailedUpdate",
       "cannot update ConfigMap m: too large"},
      {refusal(422, "Invalid", "Too many: 20"), &kCreatePod, "FailedCreate",
       "cannot create Pod p: Too many: 20"},
      {refusal(429, "TooManyRequests", "later"), &kCreatePod},
      {refusal(500, "InternalError", "oh"), &kCreatePod},
      {refusal(503, "ServiceUnavailable", "down"), &kCreatePod},
  };
  for (const Row& row : rows) {
    const std::string name = std::to_string(row.error.code) + " " + row.error.message;
    step_now = row.step;
    run_with(kTaker);
    refuse_for(seconds(10), row.error);
    ASSERT_EQ(events.size(), row.reason.empty() ? 0U : 1U) << name;
    if (!row.reason.empty()) {
      const Value& event = events[0].body;
      EXPECT_EQ(event["type"].as_string(), "Warning") << name;
      EXPECT_EQ(event["reason"].as_string(), row.reason) << name;
      EXPECT_EQ(event["message"].as_string(), row.note) << name;
      EXPECT_EQ(event["involvedObject"]["kind"].as_string(), "ConfigMap") << name;
      EXPECT_EQ(event["involvedObject"]["uid"].as_string(), "uid-m") << name;
    }
  }
}

// No write is sent: the cache shows whose object it is.
TEST_F(EngineRefusedWrites, SayThatAnotherOwnerHasTheName) {
  const Step create = Create{
      .target = {&kPod, {"a", "old"}},
      .object =
          parsed(R"({"metadata": {"ownerReferences": [{"uid": "mine", "controller": true}]}})")};
  step_now = &create;
  run_with(kTaker);
  refuse_for(milliseconds(500), refusal(500, "", ""));
  EXPECT_TRUE(events.empty()) << "it may go in a moment";
  refuse_for(seconds(10), refusal(500, "", ""));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].body["message"].as_string(),
            "cannot create Pod old: pods \"old\" already exists and has another owner");
}

TEST_F(EngineRefusedWrites, AreCountedAndNoStorm) {
  step_now = &kCreatePod;
  run_with(kTaker);
  const int tries = refuse_for(std::chrono::hours(1), refusal(422, "Invalid", "wrong"));
  EXPECT_GT(tries, 15);
  EXPECT_LT(events.size(), 12U);
  EXPECT_EQ(events[0].verb, WriteVerb::Create);
  EXPECT_EQ(events[1].verb, WriteVerb::MergePatch) << "a higher count";
  EXPECT_EQ(events[1].body["count"].as_int(), 2);
}

// The webhook of a dependency that was down for long: keys go on within ten seconds of its return.
TEST_F(EngineRefusedWrites, AreRetriedSoonWhileServerIsInTrouble) {
  step_now = &kCreatePod;
  run_with(kTaker);
  refuse_for(std::chrono::minutes(30),
             refusal(500, "InternalError", "failed calling webhook \"validation.example.com\""));
  EXPECT_GE(refuse_for(seconds(10), refusal(500, "InternalError", "still")), 1);
}

TEST_F(EngineRefusedWrites, AreLeftToAControllerThatReadsThem) {
  step_now = &kCreatePod;
  run_with(kReader);
  EXPECT_EQ(refuse_for(std::chrono::minutes(1), refusal(422, "Invalid", "wrong")), 1);
  EXPECT_TRUE(events.empty());
}

TEST_F(EngineRefusedWrites, ReportOwnerWhereOneKeyServesAll) {
  run_with(kServer);
  refuse_for(seconds(10), refusal(422, "Invalid", "wrong"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].body["involvedObject"]["name"].as_string(), "m");
}

}  // namespace
}  // namespace athanor::runtime::engine_refusals_test
