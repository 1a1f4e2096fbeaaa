// SPDX-License-Identifier: Apache-2.0
// Names, normal form and equivalence of Workloads (docs/spec/appwrapper.md 2.6, 4.3).
#include "systems/appwrapper/kueue/workload.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/appwrapper/kueue/normal_form.hpp"

namespace athanor::appwrapper::workload_test {
namespace {

using api::kueue::NameLength;

std::string name_of(std::string_view name, std::string_view uid,
                    NameLength longest = NameLength::Object) {
  return workload_name(
      Object(Value::object({{"metadata", Value::object({{"name", name}, {"uid", uid}})}})),
      longest);
}

TEST(WorkloadName, HasADigestOfNameAndUid) {
  EXPECT_EQ(name_of("sample", "11111111-2222-3333-4444-555555555555"), "appwrapper-sample-0b2f1");
  EXPECT_EQ(name_of("train-llama", "0a1b2c3d-4e5f-6789-abcd-ef0123456789"),
            "appwrapper-train-llama-64c42");
}

TEST(WorkloadName, IsAsLongAsTheGateAllows) {
  const std::string longest(300, 'a');
  EXPECT_EQ(name_of(longest, "u").size(), 253U);
  EXPECT_EQ(name_of(longest, "u", NameLength::Short).size(), 63U);
  EXPECT_EQ(name_of("sample", "u", NameLength::Short), name_of("sample", "u"));
}

Value parsed(const char* text) {
  return *yaml::parse(text);
}

TEST(NormalForm, KeepsFieldsThatQueueingNeeds) {
  const Value reduced = normal_pod_template(parsed(R"(
metadata: {name: dropped, labels: {a: b}, annotations: {c: d, n: 3}, finalizers: [x]}
spec:
  nodeSelector: {zone: a}
  serviceAccountName: dropped
  volumes: [{name: v}]
  containers:
  - {name: c, image: "reg:5000/i", env: [{name: A, value: b}], resources: {requests: {cpu: 0.0001, memory: 1Gi}}}
  - {name: d, image: "i@sha256:0", ports: [{containerPort: 1}]}
  initContainers:
  - {name: s, image: "i:1", restartPolicy: Always, imagePullPolicy: Never}
)"));
  EXPECT_EQ(reduced["metadata"], parsed("{labels: {a: b}, annotations: {c: d}}"));
  EXPECT_EQ(reduced["spec"], parsed(R"(
restartPolicy: Always
terminationGracePeriodSeconds: 30
dnsPolicy: ClusterFirst
schedulerName: default-scheduler
preemptionPolicy: PreemptLowerPriority
securityContext: {}
nodeSelector: {zone: a}
containers:
- {name: c, image: "reg:5000/i", resources: {requests: {cpu: 1m, memory: 1Gi}}, imagePullPolicy: Always,
   terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
- {name: d, image: "i@sha256:0", resources: {}, imagePullPolicy: IfNotPresent,
   terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
initContainers:
- {name: s, image: "i:1", resources: {}, imagePullPolicy: Never, restartPolicy: Always,
   terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
)")) << json::print(reduced["spec"]);
  EXPECT_EQ(normal_pod_template(reduced), reduced);
}

AppWrapper app() {
  return api::read<AppWrapper>(Object(parsed(R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: Two.Sets, namespace: team, uid: u1, labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/max-exec-time-seconds: "60"},
  annotations: {provreq.kueue.x-k8s.io/a: b, other: c}}
spec:
  suspend: true
  components:
  - template: {apiVersion: v1, kind: Service, metadata: {name: s}}
  - template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "0.5"}}}]}}}}
  - template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
)")));
}

TEST(Workload, ListsPodSetsOfAllComponents) {
  const Value workload = new_workload(app(), {}, {});
  EXPECT_EQ(workload["spec"]["queueName"], Value("q"));
  EXPECT_EQ(workload["spec"]["maximumExecutionTimeSeconds"], Value(60));
  EXPECT_EQ(workload["metadata"]["annotations"], parsed("{provreq.kueue.x-k8s.io/a: b}"));
  EXPECT_EQ(workload["metadata"]["labels"], parsed("{kueue.x-k8s.io/job-uid: u1}"));
  const Value& sets = workload["spec"]["podSets"];
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0]["name"], Value("two.sets-0"));
  EXPECT_EQ(sets[0]["count"], Value(2));
  EXPECT_EQ(sets[1]["name"], Value("two.sets-1"));
  EXPECT_TRUE(is_equivalent(Object(workload), app()));
}

TEST(Workload, ComparesQuantitiesByValueAndTolerationsBeforeAdmission) {
  Value workload = new_workload(app(), {}, {});
  Value& container = workload.member("spec")
                         .member("podSets")
                         .item(0)
                         .member("template")
                         .member("spec")
                         .member("containers")
                         .item(0);
  container.set_path({"resources", "requests", "cpu"}, "500m");
  EXPECT_TRUE(is_equivalent(Object(workload), app()));
  container.set_path({"resources", "requests", "cpu"}, "501m");
  EXPECT_FALSE(is_equivalent(Object(workload), app()));
  container.set_path({"resources", "requests", "cpu"}, "500m");
  workload.member("spec")
      .member("podSets")
      .item(0)
      .member("template")
      .member("spec")
      .set("tolerations", parsed("[{operator: Exists}]"));
  EXPECT_FALSE(is_equivalent(Object(workload), app()));
  workload.set("status", parsed("{conditions: [{type: QuotaReserved, status: 'True'}]}"));
  EXPECT_TRUE(is_equivalent(Object(workload), app()));
}

}  // namespace
}  // namespace athanor::appwrapper::workload_test
