// SPDX-License-Identifier: Apache-2.0
// What the integrations' webhooks default and refuse (docs/spec/kueue.md 5.1, 10).
#include "embedded/kueue/jobs/job_admission.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::job_admission_test {
namespace {

using jobs::batch_job;

class JobAdmission : public ::testing::Test {
 protected:
  Value with_job(const std::string& text) {
    const View view(world, reads);
    return jobs::with_job_defaults(view, jobs::integrations_of(view), batch_job(), job(text));
  }
  Value with_pod(const std::string& metadata) {
    const View view(world, reads);
    return jobs::with_pod_defaults(
        view, jobs::integrations_of(view),
        from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: bench" + metadata +
                  "}, spec: {containers: [{name: c}]}}"));
  }
  static Value job(const std::string& text, const std::string& spec = "") {
    return from_yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: bench" +
                     text + "}, spec: {template: {}" + spec + "}}");
  }

  FakeWorld world{};
  Reads reads{};
};

constexpr const char* kLabelled = ", labels: {kueue.x-k8s.io/queue-name: q}";

TEST_F(JobAdmission, SuspendsLabelledJobs) {
  EXPECT_TRUE(with_job(kLabelled)["spec"]["suspend"].as_bool());
  EXPECT_TRUE(with_job("")["spec"]["suspend"].is_null());
}

TEST_F(JobAdmission, AddsTheDefaultQueueWhereThereIsOne) {
  world.put(local_queue("default", "cq"));
  const Value labelled = with_job("");
  EXPECT_EQ(labelled["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].as_string(), "default");
  EXPECT_TRUE(labelled["spec"]["suspend"].as_bool());
  EXPECT_EQ(with_pod("")["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].as_string(), "default");
  // Pods of a controller wait with what made them, if that waits.
  EXPECT_TRUE(with_pod(", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: "
                       "u, controller: true}]")["metadata"]["labels"]
                  .is_null());
}

TEST_F(JobAdmission, LeavesChildrenOfManagedJobsAlone) {
  world.put(
      from_yaml("{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: "
                "{name: aw, namespace: bench, uid: u, labels: {kueue.x-k8s.io/queue-name: "
                "q}}}"));
  const std::string owned =
      ", ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: "
      "aw, uid: u, controller: true}]";
  EXPECT_TRUE(with_job(kLabelled + owned)["spec"]["suspend"].is_null());
  EXPECT_TRUE(with_pod(kLabelled + owned)["spec"]["schedulingGates"].is_null());
}

TEST_F(JobAdmission, GatesPods) {
  const Value pod = with_pod(kLabelled);
  EXPECT_EQ(pod["spec"]["schedulingGates"][0]["name"].as_string(), "kueue.x-k8s.io/admission");
  EXPECT_EQ(pod["metadata"]["labels"]["kueue.x-k8s.io/managed"].as_string(), "true");
  EXPECT_EQ(pod["metadata"]["finalizers"][0].as_string(), "kueue.x-k8s.io/managed");
  const Value grouped =
      with_pod(", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: g}");
  EXPECT_EQ(grouped["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"].as_string().size(), 8U);
}

TEST_F(JobAdmission, ListsOfFrameworksLeaveKindsOut) {
  world.configure("kueue", from_yaml("{integrations: {frameworks: [pod]}}"));
  EXPECT_TRUE(with_job(kLabelled)["spec"]["suspend"].is_null());
  EXPECT_FALSE(with_pod(kLabelled)["spec"]["schedulingGates"].is_null());
}

TEST_F(JobAdmission, SurvivesObjectsOfWrongTypes) {
  for (const char* spec : {"x", "[]", "{suspend: [1]}", "null"}) {
    const Value object = from_yaml(
        std::string(
            "{metadata: {namespace: bench, labels: {kueue.x-k8s.io/queue-name: q}}, spec: ") +
        spec + "}");
    const View view(world, reads);
    for (const jobs::Adapter* adapter : jobs::adapters()) {
      jobs::with_job_defaults(view, jobs::integrations_of(view), *adapter, object);
    }
    jobs::with_pod_defaults(view, jobs::integrations_of(view), object);
  }
}

struct Denial {
  const char* metadata;
  const char* message;
};
class NewJobs : public ::testing::TestWithParam<Denial> {};

TEST_P(NewJobs, AreRefusedWithTheText) {
  const Value object =
      from_yaml(std::string("{metadata: {") + GetParam().metadata + "}, spec: {parallelism: 3}}");
  EXPECT_EQ(jobs::joined(jobs::validate_new_job(batch_job(), object)), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Section10, NewJobs,
    ::testing::Values(
        Denial{"labels: {kueue.x-k8s.io/max-exec-time-seconds: \"0\"}",
               "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: should be "
               "greater than 0"},
        Denial{"annotations: {kueue.x-k8s.io/job-min-parallelism: \"3\"}",
               "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 3: should "
               "be between 0 and 2"},
        Denial{"annotations: {kueue.x-k8s.io/job-completions-equal-parallelism: \"true\"}",
               "metadata.annotations[kueue.x-k8s.io/job-completions-equal-parallelism]: Invalid "
               "value: \"true\": should not be enabled for NonIndexed jobs"}));

struct Change {
  const char* before;
  const char* after;
  const char* message;
};
class ChangedJobs : public ::testing::TestWithParam<Change> {};

TEST_P(ChangedJobs, AreRefusedWithTheText) {
  const auto errors = jobs::validate_job_update(batch_job(), from_yaml(GetParam().after),
                                                from_yaml(GetParam().before), false);
  EXPECT_EQ(errors.empty() ? "" : jobs::joined(errors), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Section10, ChangedJobs,
    ::testing::Values(
        Change{"{metadata: {labels: {kueue.x-k8s.io/queue-name: a}}, spec: {suspend: false}}",
               "{metadata: {labels: {kueue.x-k8s.io/queue-name: b}}, spec: {suspend: false}}",
               "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"b\": field is "
               "immutable"},
        Change{"{metadata: {labels: {kueue.x-k8s.io/queue-name: a}}, spec: {suspend: true}}",
               "{metadata: {labels: {kueue.x-k8s.io/queue-name: b}}, spec: {suspend: true}}", ""},
        // What admission does to a Job that gets the least it can run with.
        Change{"{metadata: {annotations: {kueue.x-k8s.io/job-min-parallelism: \"1\"}}, spec: "
               "{suspend: true, parallelism: 3}}",
               "{metadata: {annotations: {kueue.x-k8s.io/job-min-parallelism: \"1\"}}, spec: "
               "{suspend: false, parallelism: 1}}",
               ""},
        Change{"{metadata: {}, spec: {suspend: false}}",
               "{metadata: {labels: {kueue.x-k8s.io/priority-class: p}}, spec: {suspend: false}}",
               "metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: \"p\": "
               "WorkloadPriorityClass cannot be added to a non-suspended workload"},
        Change{"{metadata: {labels: {kueue.x-k8s.io/priority-class: p}}, spec: {suspend: false}}",
               "{metadata: {}, spec: {suspend: false}}",
               "metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: \"\": "
               "WorkloadPriorityClass cannot be removed from a workload"}));

TEST(PodRules, AGroupHasANameAndANumber) {
  const auto errors = [](const char* metadata) {
    return jobs::joined(jobs::validate_pod(
        from_yaml(std::string("{metadata: {labels: {kueue.x-k8s.io/queue-name: q") + metadata),
        Value()));
  };
  EXPECT_EQ(errors(", kueue.x-k8s.io/pod-group-name: g}}}"),
            "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Required value: both the "
            "'kueue.x-k8s.io/pod-group-total-count' annotation and the "
            "'kueue.x-k8s.io/pod-group-name' label should be set");
  EXPECT_EQ(errors(", kueue.x-k8s.io/pod-group-name: g}, annotations: "
                   "{kueue.x-k8s.io/pod-group-total-count: \"0\"}}}"),
            "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Invalid value: \"0\": "
            "incorrect value, kueue.x-k8s.io/pod-group-total-count should be greater than zero");
}

}  // namespace
}  // namespace athanor::kueue::test::job_admission_test
