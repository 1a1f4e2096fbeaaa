// SPDX-License-Identifier: Apache-2.0
// Workloads that are refused, text by text, and what is compared by meaning (docs/spec/kueue.md
// 5.3).
#include "embedded/kueue/rules/workload_rules.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::workload_rules_test {
namespace {

const char* const kReserved = "conditions: [{type: QuotaReserved, status: \"True\"}]";

// With an admission, unless `status` has its own.
Value workload_of(const std::string& status,
                  const std::string& pod_sets = "[{name: main, count: 3}]") {
  const bool own = status.find("admission: ") != std::string::npos;
  return from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, spec: {podSets: " + pod_sets +
      "}, status: {" + status + (own ? "" : ", admission: {clusterQueue: q}") + "}}");
}

std::string joined(const Errors& errors) {
  std::string text;
  for (const std::string& error : errors) {
    text += (text.empty() ? "" : " | ") + error;
  }
  return text;
}

struct Row {
  const char* pod_sets;
  const char* status;
  const char* message;
};
class WorkloadDenials : public ::testing::TestWithParam<Row> {};

TEST_P(WorkloadDenials, NameThePathAndTheRule) {
  const Value object = workload_of(
      std::string(kReserved) + (*GetParam().status == 0 ? "" : ", ") + GetParam().status,
      GetParam().pod_sets);
  EXPECT_EQ(joined(check_workload(object, nullptr)), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Spec53, WorkloadDenials,
    ::testing::Values(
        Row{"[{name: a, minCount: 1, count: 2}, {name: b, minCount: 1, count: 2}]", "",
            "spec.podSets: Invalid value: 2: at most one podSet can use minCount"},
        Row{"[{name: a, template: {spec: {containers: [{resources: {requests: {pods: 1}}}]}}}]", "",
            "spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "
            "\"pods\": the key is reserved for internal kueue use"},
        Row{"[{name: a, template: {spec: {initContainers: [{resources: {limits: {cpu: "
            "\"-1\"}}}]}}}]",
            "",
            "spec.podSets[0].template.spec.initContainers[0].resources.limits[cpu]: Invalid value: "
            "\"-1\": must be greater than or equal to 0"},
        Row{"[{name: main, count: 3}]", "reclaimablePods: [{name: main, count: 4}]",
            "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3"},
        Row{"[{name: main, count: 3}]", "reclaimablePods: [{name: x, count: 1}]",
            "status.reclaimablePods[x].name: Unsupported value: \"x\": supported values: \"main\""},
        Row{"[{name: main, count: 3}]",
            "admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 3, "
            "resourceUsage: {cpu: 4}}]}",
            "status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: \"4\": is "
            "not "
            "a multiple of 3"},
        Row{"[{name: main, count: 3}]", "admission: null",
            "status.admission: Required value: must be set while the QuotaReserved condition is "
            "true"},
        Row{"[{name: main, count: 3}]",
            "admission: {clusterQueue: q, podSetAssignments: [{name: x}]}",
            "status.admission.podSetAssignments[0].name: Not found: \"x\""},
        Row{"[{name: main, count: 3}]",
            "admissionChecks: [{name: c, state: Ready, podSetUpdates: [{name: x}]}]",
            "status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: \"x\": supported "
            "values: \"main\""},
        Row{"[{name: main, count: 3}]",
            "admissionChecks: [{name: c, state: Ready, podSetUpdates: [{name: main, nodeSelector: "
            "{\"a b\": c}}]}]",
            "status.admissionChecks[0].podSetUpdates[0].nodeSelector: Invalid value: \"a b\": name "
            "part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
            "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
            "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"}));

struct Change {
  const char* before;
  const char* after;
  const char* message;
};
class WorkloadChanges : public ::testing::TestWithParam<Change> {};

TEST_P(WorkloadChanges, AreAllowedOrRefused) {
  const Value before = workload_of(std::string(kReserved) + ", " + GetParam().before);
  const Value after = workload_of(std::string(kReserved) + ", " + GetParam().after);
  EXPECT_EQ(joined(check_workload(after, &before)), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Spec53, WorkloadChanges,
    ::testing::Values(
        Change{"reclaimablePods: [{name: main, count: 2}]",
               "reclaimablePods: [{name: main, count: 1}]",
               "status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"},
        Change{"reclaimablePods: [{name: main, count: 2}]", "reclaimablePods: []",
               "status.reclaimablePods[main]: Required value: cannot be removed"},
        Change{"admission: {clusterQueue: a}", "admission: {clusterQueue: b}",
               "status.admission: Invalid value: {\"clusterQueue\":\"b\"}: field is immutable"},
        Change{"admission: {clusterQueue: a}", "admission: null",
               "status.admission: Required value: must be set while the QuotaReserved condition is "
               "true"},
        // It was so before this rule: it may become something else.
        Change{"admission: null", "admission: null", ""},
        // What Go clients drop or write otherwise.
        Change{"admission: {clusterQueue: a, podSetAssignments: [{name: main, flavors: {}, "
               "resourceUsage: {}}]}",
               "admission: {clusterQueue: a, podSetAssignments: [{name: main}]}", ""},
        Change{"admission: {clusterQueue: a, podSetAssignments: [{name: main, resourceUsage: {cpu: "
               "3000m}}]}",
               "admission: {clusterQueue: a, podSetAssignments: [{name: main, resourceUsage: {cpu: "
               "\"3\"}}]}",
               ""},
        Change{"admissionChecks: [{name: c, state: Ready, podSetUpdates: [{name: main, labels: {a: "
               "b}}]}]",
               "admissionChecks: [{name: c, state: Ready, podSetUpdates: []}]",
               "status.admissionChecks[0].podSetUpdates: Invalid value: []: field is immutable"}));

TEST(WorkloadPodSets, AreComparedByMeaningWhileQuotaIsReserved) {
  const Value before = workload_of(
      kReserved,
      "[{name: main, count: 3, template: {metadata: {}, spec: {containers: [{name: c, resources: "
      "{requests: {cpu: 1000m}}}]}}}]");
  const Value same = workload_of(
      kReserved,
      "[{name: main, count: 3, template: {metadata: {creationTimestamp: null}, spec: {containers: "
      "[{name: c, resources: {requests: {cpu: \"1\"}}}]}}}]");
  const Value other = workload_of(kReserved, "[{name: main, count: 2}]");
  EXPECT_EQ(joined(check_workload(same, &before)), "");
  EXPECT_TRUE(joined(check_workload(other, &before)).ends_with(": field is immutable"));
}

}  // namespace
}  // namespace athanor::kueue::test::workload_rules_test
