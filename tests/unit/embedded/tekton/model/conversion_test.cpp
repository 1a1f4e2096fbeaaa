// SPDX-License-Identifier: Apache-2.0
// v1beta1 and v1 (docs/spec/tekton.md 1).
#include "embedded/tekton/model/conversion.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton::conversion_test {
namespace {

constexpr std::string_view kOldRun = R"y(
apiVersion: tekton.dev/v1beta1
kind: PipelineRun
metadata: {name: run}
spec:
  timeout: 30m
  serviceAccountName: robot
  podTemplate: {nodeSelector: {a: b}}
  taskRunSpecs:
  - pipelineTaskName: t
    taskServiceAccountName: other
    taskPodTemplate: {schedulerName: s}
    stepOverrides: [{name: x, resources: {limits: {cpu: "1"}}}]
  pipelineSpec:
    tasks:
    - name: t
      taskSpec:
        steps: [{name: x, image: i, resources: {requests: {cpu: "1"}}}]
status:
  pipelineResults: [{name: r, value: v}]
)y";

constexpr std::string_view kNewRun = R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  timeouts: {pipeline: 30m}
  taskRunTemplate: {serviceAccountName: robot, podTemplate: {nodeSelector: {a: b}}}
  taskRunSpecs:
  - pipelineTaskName: t
    serviceAccountName: other
    podTemplate: {schedulerName: s}
    stepSpecs: [{name: x, computeResources: {limits: {cpu: "1"}}}]
  pipelineSpec:
    tasks:
    - name: t
      taskSpec:
        steps: [{name: x, image: i, computeResources: {requests: {cpu: "1"}}}]
status:
  results: [{name: r, value: v}]
)y";

Value parsed(std::string_view text) {
  return yaml::parse(text).value();
}

TEST(Conversion, MovesTheFieldsThatOnlyV1beta1Has) {
  const auto made = convert(parsed(kOldRun), "tekton.dev/v1");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, parsed(kNewRun)) << json::print(*made);
}

TEST(Conversion, ConvertsBackWithTimeoutsInSharedForm) {
  Value old_run = parsed(kOldRun);
  old_run.member("spec").erase("timeout");
  old_run.set_path({"spec", "timeouts", "pipeline"}, "30m");
  const auto made = convert(parsed(kNewRun), "tekton.dev/v1beta1");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, old_run) << json::print(*made);
}

TEST(Conversion, TaskRunsAndTasks) {
  const Value run = parsed(
      "{apiVersion: tekton.dev/v1beta1, kind: TaskRun, spec: {sidecarOverrides: [{name: s, "
      "resources: {}}], taskSpec: {sidecars: [{name: s, image: i, resources: {}}], stepTemplate: "
      "{resources: {}}}}, status: {taskResults: [{name: r}], retriesStatus: [{taskResults: []}]}}");
  const auto made = convert(run, "tekton.dev/v1");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made,
            parsed("{apiVersion: tekton.dev/v1, kind: TaskRun, spec: {sidecarSpecs: [{name: s, "
                   "computeResources: {}}], taskSpec: {sidecars: [{name: s, image: i, "
                   "computeResources: {}}], stepTemplate: {computeResources: {}}}}, status: "
                   "{results: [{name: r}], retriesStatus: [{results: []}]}}"));
  EXPECT_EQ(convert(*made, "tekton.dev/v1beta1").value_or(Value()), run);
}

TEST(Conversion, KeepsResourcesInAnAnnotation) {
  const Value old = parsed(R"y(
apiVersion: tekton.dev/v1beta1
kind: Task
metadata: {name: t}
spec:
  resources: {inputs: [{name: cluster, type: cluster}]}
  steps: [{name: s, image: bash}]
)y");
  const Value converted = convert(old, "tekton.dev/v1").value();
  EXPECT_FALSE(converted["spec"].contains("resources"));
  EXPECT_EQ(converted["metadata"]["annotations"]["tekton.dev/v1beta1Resources"],
            Value(R"({"inputs":[{"name":"cluster","type":"cluster"}]})"));
  EXPECT_EQ(convert(converted, "tekton.dev/v1beta1").value(), old);
}

TEST(Conversion, ReadsBundlesAsAResolver) {
  const Value old = parsed(
      "{apiVersion: tekton.dev/v1beta1, kind: TaskRun, metadata: {name: t}, spec: {taskRef: {name: "
      "a, bundle: 'images/tasks:1'}}}");
  EXPECT_EQ(convert(old, "tekton.dev/v1").value()["spec"]["taskRef"],
            parsed("{resolver: bundles, params: [{name: bundle, value: 'images/tasks:1'}, {name: "
                   "name, value: a}, {name: kind, value: task}]}"));
}

TEST(Conversion, BothTimeoutsAreRefused) {
  const auto made = convert(
      parsed("{apiVersion: tekton.dev/v1beta1, kind: PipelineRun, spec: {timeout: 1m, timeouts: "
             "{tasks: 1m}}}"),
      "tekton.dev/v1");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message,
            "validation failed: expected exactly one, got both: spec.timeout, spec.timeouts");
}

TEST(Conversion, WrongTypesStayForTheSchema) {
  for (const char* spec : {"x", "[]", "{taskRunTemplate: x, podTemplate: {}}", "{taskRunSpecs: x}",
                           "{timeout: 1m, timeouts: x}", "{pipelineSpec: [], podTemplate: 3}"}) {
    const auto made = convert(parsed("{apiVersion: tekton.dev/v1beta1, kind: PipelineRun, spec: " +
                                     std::string(spec) + "}"),
                              "tekton.dev/v1");
    EXPECT_TRUE(made.ok()) << spec;
  }
}

}  // namespace
}  // namespace athanor::tekton::conversion_test
