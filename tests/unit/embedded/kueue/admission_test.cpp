// SPDX-License-Identifier: Apache-2.0
// Denials at write time, text by text (docs/spec/kueue.md 5.3).
#include "embedded/kueue/rules/admission.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::admission_test {
namespace {

Value queue_of(const std::string& groups, const std::string& more = "") {
  return from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
      "{resourceGroups: " +
      groups + more + "}}");
}

struct Denial {
  const char* groups;
  const char* more;
  const char* message;
};
class ClusterQueueDenials : public ::testing::TestWithParam<Denial> {};

TEST_P(ClusterQueueDenials, NameThePathAndTheRule) {
  const auto verdict = validate(queue_of(GetParam().groups, GetParam().more), nullptr);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, 403);
  EXPECT_EQ(verdict.error().message,
            std::string("admission webhook \"vclusterqueue.kb.io\" denied the request: ") +
                GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Spec53, ClusterQueueDenials,
    ::testing::Values(
        Denial{"[{coveredResources: [a, b], flavors: [{name: f, resources: [{name: b, "
               "nominalQuota: 1}, {name: a, nominalQuota: 1}]}]}]",
               "",
               "[spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"b\": must "
               "match the name in coveredResources, "
               "spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: \"a\": must "
               "match the name in coveredResources]"},
        Denial{"[{coveredResources: [a], flavors: [{name: f, resources: [{name: a, nominalQuota: "
               "-1}]}]}]",
               "",
               "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "
               "\"-1\": must be greater than or equal to 0"},
        Denial{"[{coveredResources: [a], flavors: [{name: f, resources: [{name: a, nominalQuota: "
               "1, lendingLimit: 2}]}]}]",
               ", cohortName: c",
               "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: \"2\": "
               "must be less than or equal to the nominalQuota"},
        Denial{"[{coveredResources: [a], flavors: [{name: f, resources: [{name: a, nominalQuota: "
               "1}]}]}, {coveredResources: [a], "
               "flavors: [{name: g, resources: [{name: a, nominalQuota: 1}]}]}]",
               "", "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"a\""},
        Denial{"[{coveredResources: [a], flavors: [{name: f, resources: [{name: a, nominalQuota: "
               "1}]}, {name: f, resources: [{name: a, "
               "nominalQuota: 1}]}]}]",
               "", "spec.resourceGroups[0].flavors[1].name: Duplicate value: \"f\""},
        Denial{"[{coveredResources: [a], flavors: [{name: f, resources: [{name: a, nominalQuota: "
               "1}]}]}]",
               ", admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [x]}]}",
               "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "
               "\"x\": supported values: \"f\""}));

TEST(Validate, AcceptsAGoodClusterQueue) {
  EXPECT_TRUE(validate(small_queue("q", "8"), nullptr).ok());
}

TEST(Validate, RefusesTheReservedResourceNamePods) {
  const auto verdict = validate(workload("a", "lq", "pods: \"1\""), nullptr);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("the key is reserved for internal kueue use"),
            std::string::npos);
}

TEST(Validate, KeepsPodSetsWhileQuotaIsReserved) {
  Value old = workload("a", "lq", "gpu: \"1\"");
  old.set("status", from_yaml("{conditions: [{type: QuotaReserved, status: \"True\"}]}"));
  Value changed = old;
  changed.member("spec").member("podSets").item(0).set("count", 2);
  const auto verdict = validate(changed, &old);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("spec.podSets: Invalid value: "), std::string::npos);
  EXPECT_TRUE(verdict.error().message.ends_with(": field is immutable"));
}

TEST(Defaults, PutTheFinalizerOnQueuesOnce) {
  Value queue = small_queue("q", "8");
  apply_defaults(queue);
  apply_defaults(queue);
  EXPECT_EQ(queue["metadata"]["finalizers"].size(), 1U);
}

}  // namespace
}  // namespace athanor::kueue::test::admission_test
