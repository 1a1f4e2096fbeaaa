// SPDX-License-Identifier: Apache-2.0
// The own-writes barrier and conflicts: a key waits for events that come, and for no others
// (docs/engine.md 2, rules 2 and 4). The operator overlooks every change of what it reads, so that
// nothing but the barrier releases a key.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_barrier_test {
namespace {

const Ref kTarget{&kPod, {"a", "p"}};

// The step that the operator takes now.
Step (*step_now)(const Object& pod) = nullptr;

Step guarded(const Object& pod) {
  return Patch{.target = kTarget,
               .merge = parsed(R"({"spec": {"x": 1}})"),
               .guard = {.resource_version = std::string(pod.resource_version())}};
}
Plan take_step(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (view.get(kConfigMap, key)) {
    const auto pod = view.get(kPod, kTarget.key);
    if (pod || step_now != guarded) {
      plan.then(step_now(pod ? *pod : Object()));
    }
  }
  return plan;
}
bool overlook_all(const Kind& /*kind*/, const Object& /*before*/, const Object& /*after*/) {
  return true;
}
const Operator kBlind{.name = "blind",
                      .primary = &kConfigMap,
                      .reads = kReads,
                      .writes = kWrites,
                      .reconcile = take_step,
                      .overlooks = overlook_all};

Step unguarded(const Object& /*pod*/) {
  return Patch{.target = kTarget, .merge = parsed(R"({"spec": {"x": 1}})")};
}
Step scale(const Object& /*pod*/) {
  return Patch{
      .target = kTarget, .merge = parsed(R"({"spec": {"replicas": 1}})"), .subresource = "scale"};
}
Step create(const Object& /*pod*/) {
  return Create{.target = {&kPod, {"a", "q"}}, .object = Value::object()};
}
Step remove(const Object& pod) {
  return Delete{.target = kTarget, .guard = {.uid = std::string(pod.uid())}};
}
Step apply(const Object& /*pod*/) {
  return Apply{.target = kTarget, .fields = parsed(R"({"spec": {"x": 1}})"), .force = false};
}

Object pod(int version, std::string_view extra = "{}") {
  return object(kPod, "p", version, extra);
}
Object marked(int version) {
  return pod(version, R"({"metadata": {"deletionTimestamp": "2026-01-05T00:00:00Z"}})");
}
Object namesake(int version) {
  Value body = object(kPod, "p", version).body();
  body.set_path({"metadata", "uid"}, "uid-other");
  return Object(body);
}
WatchEvent changed_event(Object body) {
  return {.kind = &kPod, .object = std::move(body)};
}
WatchEvent gone_event(int version) {
  return {.type = WatchEvent::Type::Deleted, .kind = &kPod, .object = pod(version)};
}
WatchEvent bookmark(int version) {
  return {.type = WatchEvent::Type::Bookmark, .kind = &kPod, .object = pod(version)};
}
WriteResult conflict(const std::string& message) {
  return {.error = Error{.code = 409, .reason = "Conflict", .message = message}};
}
WriteResult modified() {
  return conflict(R"(Operation cannot be fulfilled on pods "p": the object has been modified)");
}
WriteResult not_found(const std::string& message) {
  return {.error = Error{.code = 404, .reason = "NotFound", .message = message}};
}
WriteResult exists(bool hidden) {
  return {.error = Error{.code = 409, .reason = "AlreadyExists", .message = "there"},
          .hidden = hidden};
}
WriteResult answered_with(Object body, bool hidden = false) {
  return {.object = std::move(body), .hidden = hidden};
}
WriteResult done_status() {
  return answered_with(Object(parsed(R"({"kind": "Status", "status": "Success"})")));
}

struct Row {
  std::string name{};
  Step (*step)(const Object& pod) = nullptr;
  std::vector<WatchEvent> before{};  // events between the step and its answer
  WriteResult answer{};
  std::vector<WatchEvent> after{};  // events that end the wait; empty: there is no wait
};

std::vector<Row> rows() {
  const std::string quota =
      R"(Operation cannot be fulfilled on resourcequotas "q": the object has been modified)";
  return {
      {"conflict: the newer version comes", guarded, {}, modified(), {changed_event(pod(101))}},
      {"conflict: the object goes", guarded, {}, modified(), {gone_event(101)}},
      {"conflict: the cache has it, though overlooked",
       guarded,
       {changed_event(pod(101))},
       modified()},
      {"conflict: the cache shows that it is gone", guarded, {gone_event(101)}, modified()},
      {"conflict of a step without a version", unguarded, {}, modified()},
      {"conflict about a quota", guarded, {}, conflict(quota)},
      {"conflict about a quota at a creation", create, {}, conflict(quota)},
      {"a webhook's conflict",
       guarded,
       {},
       conflict(R"(admission webhook "w" denied the request: no)")},
      {"fields of another manager",
       apply,
       {},
       conflict("Apply failed with 1 conflict: conflict with \"other\": .spec.x")},
      {"creation of what is there",
       create,
       {},
       exists(false),
       {changed_event(object(kPod, "q", 101))}},
      {"creation of what the cache shows by now",
       create,
       {changed_event(object(kPod, "q", 101))},
       exists(false)},
      {"creation of what a selector hides", create, {}, exists(true)},
      {"gone, as a deletion will show",
       unguarded,
       {},
       not_found(R"(pods "p" not found)"),
       {gone_event(101)}},
      {"gone and made again before the answer",
       unguarded,
       {gone_event(101), changed_event(namesake(102))},
       not_found(R"(pods "p" not found)")},
      {"a subresource that is not served",
       scale,
       {},
       not_found("the server could not find the requested resource")},
      {"the namespace is not found", unguarded, {}, not_found(R"(namespaces "a" not found)")},
      {"a write", unguarded, {}, answered_with(pod(101)), {changed_event(pod(101))}},
      {"a write that later events of others pass",
       unguarded,
       {},
       answered_with(pod(101)),
       {changed_event(object(kPod, "other", 102))}},
      {"a write that a bookmark passes", unguarded, {}, answered_with(pod(101)), {bookmark(101)}},
      {"a write whose event came first",
       unguarded,
       {changed_event(pod(101))},
       answered_with(pod(101))},
      {"a write that changed nothing", unguarded, {}, answered_with(pod(50))},
      {"a write of what a selector hides", create, {}, answered_with(object(kPod, "q", 101), true)},
      {"a write that takes the object out of a selector",
       unguarded,
       {},
       answered_with(pod(101), true),
       {gone_event(101)}},
      {"a scale",
       scale,
       {},
       answered_with(Object(
           parsed(R"({"kind": "Scale", "metadata": {"name": "p", "resourceVersion": "101"}})"))),
       {changed_event(pod(101))}},
      {"a deletion", remove, {}, done_status(), {gone_event(101)}},
      {"a deletion that was seen", remove, {gone_event(101)}, done_status()},
      {"a deletion that was seen, with a namesake",
       remove,
       {gone_event(101), changed_event(namesake(102))},
       done_status()},
      {"a deletion that a finalizer holds",
       remove,
       {},
       answered_with(marked(101)),
       {changed_event(marked(101))}},
      {"a deletion that a finalizer holds, seen",
       remove,
       {changed_event(marked(101))},
       answered_with(marked(101))},
      {"a deletion of what is deleted already", remove, {}, answered_with(marked(50))},
      {"a deletion that answers with the last state",
       remove,
       {},
       answered_with(pod(50)),
       {gone_event(101)}},
      {"a deletion of a namesake",
       remove,
       {},
       conflict("Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (uid-p) "
                "does not match the UID in record (uid-other)"),
       {changed_event(namesake(102))}},
  };
}

class EngineBarrier : public EngineTest {
 protected:
  [[nodiscard]] bool waits() const {
    const Value keys = engine->debug(now, 10)["keys"];
    return keys.size() == 1 && keys[0]["state"].as_string() == "waiting for its own writes";
  }
  // Takes the step of a row and answers it.
  void play(const Row& row) {
    const Operator* const operators[] = {&kBlind};
    engine = std::make_unique<Engine>(operators, EngineOptions{.entropy = entropy.get()});
    sent.clear();
    step_now = row.step;
    start({object(kConfigMap, "m", 5)}, {pod(50)});
    ASSERT_EQ(sent.size(), 1U) << row.name;
    for (const WatchEvent& event : row.before) {
      feed(event);
    }
    WriteResult answer = row.answer;
    answer.id = take_sent().at(0).id;
    feed(answer);
  }
};

TEST_F(EngineBarrier, WaitsForComingEventsOnly) {
  for (const Row& row : rows()) {
    play(row);
    EXPECT_EQ(waits(), !row.after.empty()) << row.name;
    for (const WatchEvent& event : row.after) {
      feed(event);
    }
    EXPECT_FALSE(waits()) << row.name;
  }
}

TEST_F(EngineBarrier, EndsWithAListThatShowsNoChange) {
  play({.name = "conflict", .step = guarded, .answer = modified()});
  EXPECT_TRUE(waits());
  feed(Relisted{.kind = &kPod, .objects = {pod(50)}, .version = 120});
  EXPECT_FALSE(waits());
}

TEST_F(EngineBarrier, EndsWhenKindBecomesUnlistable) {
  play({.name = "write", .step = unguarded, .answer = answered_with(pod(101))});
  EXPECT_TRUE(waits());
  feed(Relisted{.kind = &kPod, .error = Error::not_found("no such resource")});
  EXPECT_FALSE(waits());
}

TEST_F(EngineBarrier, IgnoresItsOwnEarlierWriteAfterAConflict) {
  play({.name = "conflict", .step = guarded, .answer = modified()});
  feed(bookmark(99));
  EXPECT_TRUE(waits());
  feed(changed_event(pod(101)));
  EXPECT_FALSE(waits());
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].request.body["metadata"]["resourceVersion"], Value("101"));
}

}  // namespace
}  // namespace athanor::runtime::engine_barrier_test
