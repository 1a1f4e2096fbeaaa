// SPDX-License-Identifier: Apache-2.0
// Conversion between the two served versions (docs/spec/kueue.md section 4).
#include "embedded/kueue/rules/conversion.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::conversion_test {
namespace {

constexpr const char* kOld = "kueue.x-k8s.io/v1beta1";
constexpr const char* kNew = "kueue.x-k8s.io/v1beta2";

struct Row {
  const char* kind;
  const char* old_form;
  const char* new_form;
};
class Conversion : public ::testing::TestWithParam<Row> {};

Value with_kind(const char* version, const char* kind, const char* rest) {
  Value object = from_yaml(rest);
  object.set("apiVersion", version);
  object.set("kind", kind);
  return object;
}

TEST_P(Conversion, ReadsTheOldFormAsTheNew) {
  const Value converted = convert(with_kind(kOld, GetParam().kind, GetParam().old_form), kNew);
  EXPECT_EQ(converted, with_kind(kNew, GetParam().kind, GetParam().new_form))
      << json::print(converted);
}

INSTANTIATE_TEST_SUITE_P(
    Section4, Conversion,
    ::testing::Values(
        Row{"Workload",
            "{spec: {priorityClassName: a, priorityClassSource: "
            "kueue.x-k8s.io/workloadpriorityclass}}",
            "{spec: {priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: "
            "a}}}"},
        Row{"Workload",
            "{spec: {priorityClassName: a, priorityClassSource: scheduling.k8s.io/priorityclass}}",
            "{spec: {priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: a}}}"},
        Row{"Workload", "{spec: {priorityClassName: a, queueName: q}}", "{spec: {queueName: q}}"},
        Row{"Workload", "{status: {accumulatedPastExexcutionTimeSeconds: 3}}",
            "{status: {accumulatedPastExecutionTimeSeconds: 3}}"},
        Row{"ClusterQueue", "{spec: {cohort: c, admissionChecks: [x, y]}}",
            "{spec: {cohortName: c, admissionChecksStrategy: {admissionChecks: [{name: x}, {name: "
            "y}]}}}"},
        Row{"ClusterQueue",
            "{spec: {flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}}}",
            "{spec: {flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: "
            "MayStopSearch}}}"},
        Row{"MultiKueueCluster", "{spec: {kubeConfig: {location: s}}}",
            "{spec: {clusterSource: {kubeConfig: {location: s}}}}"},
        Row{"Topology", "{spec: {levels: [{nodeLabel: a}]}}", "{spec: {levels: [{nodeLabel: a}]}}"},
        Row{"LocalQueue", "{status: {flavorUsage: [], flavors: [{name: f}]}}",
            "{status: {flavorsUsage: []}}"}));

TEST(ConversionRoundTrip, LosesNothingOfTheNewForm) {
  for (const Value& object :
       {with_kind(kNew, "Workload",
                  "{spec: {priority: 7, priorityClassRef: {group: kueue.x-k8s.io, kind: "
                  "WorkloadPriorityClass, name: a}}, status: "
                  "{accumulatedPastExecutionTimeSeconds: 3}}"),
        with_kind(kNew, "ClusterQueue",
                  "{spec: {cohortName: c, admissionChecksStrategy: {admissionChecks: [{name: x, "
                  "onFlavors: [f]}]}}}"),
        with_kind(kNew, "MultiKueueCluster",
                  "{spec: {clusterSource: {clusterProfileRef: {name: p}}}}"),
        with_kind(kNew, "LocalQueue",
                  "{spec: {clusterQueue: q}, status: {flavorsUsage: [{name: f}]}}")}) {
    EXPECT_EQ(convert(convert(object, kOld), kNew), object);
  }
}

}  // namespace
}  // namespace athanor::kueue::test::conversion_test
