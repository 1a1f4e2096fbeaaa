// SPDX-License-Identifier: Apache-2.0
// Metrics of runs (docs/spec/tekton.md 13).
#include "embedded/tekton/instruments.hpp"

#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::instruments_test {
namespace {

Object parsed(std::string_view text) {
  return Object(yaml::parse(text).value());
}

// "name{a=b,c=d} 1" per sample, without the common beginning of names.
std::string text_of(const Samples& samples) {
  std::string text;
  for (const Sample& sample : samples) {
    text += std::string(sample.metric.substr(sizeof("tekton_pipelines_controller_") - 1)) + "{";
    for (const auto& [label, value] : sample.labels) {
      text += label + "=" + value + ",";
    }
    text += "} " + std::to_string(static_cast<int>(sample.value)) + "\n";
  }
  return text;
}

std::string change(const Kind& kind, std::string_view before, std::string_view after) {
  const Object old_object = parsed(before);
  const Object new_object = parsed(after);
  Samples samples;
  instruments().tally(ObjectChanged{.kind = kind, .before = &old_object, .after = &new_object},
                      samples);
  return text_of(samples);
}

TEST(Instruments, CountRunsThatEnd) {
  EXPECT_EQ(change(api::kPipelineRun, "{metadata: {name: r, namespace: ns}}",
                   "{metadata: {name: r, namespace: ns, labels: {tekton.dev/pipeline: p}}, status: "
                   "{startTime: '2026-01-05T00:00:00Z', completionTime: '2026-01-05T00:00:30Z', "
                   "conditions: [{type: Succeeded, status: 'False', reason: Cancelled}]}}"),
            "pipelinerun_total{status=cancelled,} 1\n"
            "pipelinerun_duration_seconds{pipeline=p,namespace=ns,status=cancelled,} 30\n");
}

TEST(Instruments, SeparateTaskRunsOfPipelines) {
  constexpr std::string_view kEnd =
      "status: {startTime: '2026-01-05T00:00:00Z', completionTime: '2026-01-05T00:00:02Z', "
      "conditions: [{type: Succeeded, status: 'True', reason: Succeeded}]}}";
  EXPECT_EQ(change(api::kTaskRun, "{metadata: {name: t, namespace: ns}}",
                   "{metadata: {name: t, namespace: ns, labels: {tekton.dev/task: build}}, " +
                       std::string(kEnd)),
            "taskrun_total{status=success,} 1\n"
            "taskrun_duration_seconds{task=build,namespace=ns,status=success,} 2\n");
  EXPECT_EQ(change(api::kTaskRun, "{metadata: {name: t, namespace: ns}}",
                   "{metadata: {name: t, namespace: ns, labels: {tekton.dev/pipelineRun: r}}, " +
                       std::string(kEnd)),
            "taskrun_total{status=success,} 1\n"
            "pipelinerun_taskrun_duration_seconds{task=anonymous,namespace=ns,status=success,"
            "pipeline=anonymous,} 2\n");
}

TEST(Instruments, MeasureThePlacementOfPods) {
  constexpr std::string_view kPod =
      "{metadata: {name: p, namespace: ns, creationTimestamp: '2026-01-05T00:00:00Z', labels: "
      "{tekton.dev/taskRun: t, tekton.dev/task: build}}";
  EXPECT_EQ(
      change(api::kPod, std::string(kPod) + "}",
             std::string(kPod) + ", status: {conditions: [{type: PodScheduled, status: 'True', "
                                 "lastTransitionTime: '2026-01-05T00:00:03Z'}]}}"),
      "taskruns_pod_latency_milliseconds{namespace=ns,task=build,} 3000\n");
}

TEST(Instruments, CountRunsInProgress) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{name: s, image: i}]}}]}}
)y");
  lab.settle();
  Reads reads;
  Samples samples;
  instruments().state(View(lab.world, reads), samples);
  const std::string text = text_of(samples);
  EXPECT_NE(text.find("running_pipelineruns{} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("running_pipelineruns_waiting_on_task_resolution{} 0\n"), std::string::npos)
      << text;
}

TEST(Instruments, LabelRunsAsConfigured) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run, labels: {tekton.dev/pipeline: p}}
status: {conditions: [{type: Succeeded, status: Unknown, reason: ResolvingTaskRef}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config-observability, namespace: tekton-pipelines}
data: {metrics.running-pipelinerun.level: pipeline}
)y");
  Reads reads;
  Samples samples;
  instruments().state(View(lab.world, reads), samples);
  const std::string text = text_of(samples);
  EXPECT_NE(text.find("running_pipelineruns{namespace=ns,pipeline=p,} 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("waiting_on_task_resolution{} 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace athanor::tekton::instruments_test
