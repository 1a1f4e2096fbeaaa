// SPDX-License-Identifier: Apache-2.0
// Writes whose effect is there are not sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/engine/model/suppress.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime::suppress_test {
namespace {

using api::kPod;

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

// The plan ends with a conflict where the object is no longer the one that was read.
TEST(Suppress, SendsEmptyPatchWithVersionAsCheck) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  Patch patch{.target = {&kPod, {"a", "p"}}, .merge = Value::object()};
  EXPECT_TRUE(is_nothing(resolve(patch, known)));
  patch.guard.resource_version = "7";
  EXPECT_FALSE(is_nothing(resolve(patch, known)));
}

TEST(Suppress, FailsGuardForAnotherUidWithoutRequest) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Outcome outcome =
      resolve(Delete{.target = {&kPod, {"a", "p"}}, .guard = {.uid = "v"}}, known);
  ASSERT_TRUE(std::holds_alternative<Error>(outcome));
  EXPECT_EQ(std::get<Error>(outcome).code, 409);
}

TEST(Suppress, SendsSeenVersionWithStatusList) {
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

TEST(Suppress, AppliesStatusAsManagerWithoutRemovedKeys) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  Status step{.target = {&kPod, {"a", "p"}},
              .status = parsed(R"({"s": null, "t": 2})"),
              .guard = {.uid = "u", .resource_version = "7"},
              .applied_as = "manager"};
  const Outcome outcome = resolve(step, known);
  ASSERT_TRUE(std::holds_alternative<WriteRequest>(outcome));
  const auto& request = std::get<WriteRequest>(outcome);
  EXPECT_EQ(request.verb, WriteVerb::Apply);
  EXPECT_EQ(request.subresource, "status");
  EXPECT_EQ(request.manager, "manager");
  EXPECT_TRUE(request.force);
  EXPECT_EQ(request.body["status"], parsed(R"({"t": 2})"));
  EXPECT_EQ(request.body["metadata"]["resourceVersion"], Value("7"));
  step.status = parsed(R"({"s": 1})");
  EXPECT_TRUE(is_nothing(resolve(step, known)));
}

TEST(Suppress, SendsApplyUntilThisProcessSentTheSame) {
  const Object live = pod("p", 7, kLive);
  const Known known{.watched = true, .cached = &live, .newest = &live};
  const Apply step{.target = {&kPod, {"a", "p"}}, .fields = parsed(R"({"spec": {"x": {"y": 1}}})")};
  const Value more = parsed(R"({"spec": {"x": {"y": 1, "z": 2}}})");
  EXPECT_FALSE(is_nothing(resolve(step, known, nullptr)));
  EXPECT_FALSE(is_nothing(resolve(step, known, &more))) << "a field was given up";
  EXPECT_TRUE(is_nothing(resolve(step, known, &step.fields)));
}

TEST(Suppress, SkipsDeletesOfAbsentOrDeletedObjects) {
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

TEST(Suppress, SkipsCreatesOfOwnObjects) {
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

}  // namespace
}  // namespace athanor::runtime::suppress_test
