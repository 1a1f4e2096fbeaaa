// SPDX-License-Identifier: Apache-2.0
// Rights that plans and live reads need, compared with those that operators declare.
#include "runtime/rights/access.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "api/builtin.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/live.hpp"

namespace athanor::access_test {
namespace {

using api::kConfigMap;
using api::kJob;
using api::kPod;

constexpr const Kind* kReads[] = {&kJob};

Operator with(std::span<const Access> access) {
  return {.name = "o", .primary = &kPod, .reads = kReads, .access = access};
}

Reads live(const Kind& kind, const Key& key) {
  Reads reads;
  reads.observations.emplace_back(LiveQuery::of(kind, key).text(), kLiveAge);
  return reads;
}

TEST(DeclaredAccess, ALiveReadOfAnObjectNeedsGet) {
  constexpr Access kPatch[] = {{&kJob, "patch"}};
  constexpr Access kGet[] = {{&kJob, "get patch"}};
  EXPECT_EQ(undeclared_live_read(with(kPatch), live(kJob, {"a", "b"})), "get jobs of batch");
  EXPECT_EQ(undeclared_live_read(with(kGet), live(kJob, {"a", "b"})), "");
}

TEST(DeclaredAccess, ALiveListNeedsAReadOrList) {
  constexpr Access kNone[] = {{&kJob, "patch"}};
  constexpr Access kList[] = {{&kConfigMap, "list"}};
  EXPECT_EQ(undeclared_live_read(with(kNone), live(kJob, {"a", ""})), "");
  EXPECT_EQ(undeclared_live_read(with(kNone), live(kPod, {})), "") << "the primary is listed";
  EXPECT_EQ(undeclared_live_read(with(kNone), live(kConfigMap, {"a", ""})), "list configmaps");
  EXPECT_EQ(undeclared_live_read(with(kList), live(kConfigMap, {"a", ""})), "");
}

TEST(DeclaredAccess, OtherObservationsAndWholeDeclarationsAreNotChecked) {
  Reads other;
  other.observations.emplace_back("subject-access:{}", kLiveAge);
  constexpr Access kNone[] = {{&kJob, "patch"}};
  EXPECT_EQ(undeclared_live_read(with(kNone), other), "");
  EXPECT_EQ(undeclared_live_read(with({}), live(kConfigMap, {"a", "b"})), "");
}

Plan owned_by(const Kind& kind, bool block) {
  const OwnerReference owner{.api_version = kind.api_version(),
                             .kind = std::string(kind.name),
                             .name = "o",
                             .uid = "u",
                             .controller = true,
                             .block_owner_deletion = block};
  const Value metadata = Value::object({{"ownerReferences", Value::list({owner.to_value()})}});
  Plan plan;
  plan.then(Create{.target = {&kConfigMap, {"a", "b"}},
                   .object = Value::object({{"metadata", metadata}})});
  return plan;
}

TEST(DeclaredAccess, AnOwnerWhoseDeletionWaitsNeedsItsFinalizers) {
  constexpr Access kNone[] = {{&kConfigMap, "create"}, {&kConfigMap, "update", "finalizers"}};
  constexpr Access kOwner[] = {{&kConfigMap, "create"}, {&kJob, "update", "finalizers"}};
  EXPECT_EQ(undeclared_owner(with(kNone), owned_by(kJob, true)), "update jobs/finalizers of batch");
  EXPECT_EQ(undeclared_owner(with(kOwner), owned_by(kJob, true)), "");
  EXPECT_EQ(undeclared_owner(with(kNone), owned_by(kJob, false)), "");
  EXPECT_EQ(undeclared_owner(with(kOwner), owned_by(kPod, true)), "update pods/finalizers");
}

TEST(DeclaredAccess, ChecksPatchOfOwnersAsCreate) {
  constexpr Access kNone[] = {{&kConfigMap, "patch delete"}};
  Plan plan;
  plan.then(Patch{.target = {&kConfigMap, {"a", "b"}},
                  .merge = std::get<Create>(owned_by(kJob, true).steps().front()).object});
  EXPECT_EQ(undeclared_owner(with(kNone), plan), "update jobs/finalizers of batch");
}

// Of an object that exists, whoever changes the owners must be allowed to delete it.
TEST(DeclaredAccess, ChangeOfOwnersNeedsDelete) {
  constexpr Access kPatch[] = {{&kConfigMap, "create patch"}, {&kJob, "update", "finalizers"}};
  constexpr Access kDelete[] = {{&kConfigMap, "create patch delete"},
                                {&kJob, "update", "finalizers"}};
  const Value object = std::get<Create>(owned_by(kJob, true).steps().front()).object;
  Plan applied;
  applied.then(Apply{.target = {&kConfigMap, {"a", "b"}}, .fields = object});
  EXPECT_EQ(undeclared_owner(with(kPatch), applied), "delete configmaps");
  EXPECT_EQ(undeclared_owner(with(kDelete), applied), "");
  EXPECT_EQ(undeclared_owner(with(kPatch), owned_by(kJob, true)), "") << "a new object";
}

}  // namespace
}  // namespace athanor::access_test
