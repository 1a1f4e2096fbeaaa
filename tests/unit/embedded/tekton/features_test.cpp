// SPDX-License-Identifier: Apache-2.0
// Matrix tasks, StepActions, early diagnosis (docs/spec/tekton.md 3.3, 3.4, 17).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/pipelinerun/matrix.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::features_test {
namespace {

std::string combinations_of(std::string_view matrix) {
  std::string text;
  for (const Value& params : matrix_combinations(yaml::parse(matrix).value())) {
    text += text.empty() ? "" : " | ";
    for (const Value& param : params.items()) {
      text += param["name"].str() + "=" + param["value"].str() + " ";
    }
    text.pop_back();
  }
  return text;
}

TEST(Matrix, CrossesParamsAndAddsIncludes) {
  EXPECT_EQ(combinations_of("{params: [{name: os, value: [l, m]}, {name: b, value: [c, s]}]}"),
            "os=l b=c | os=m b=c | os=l b=s | os=m b=s");
  EXPECT_EQ(combinations_of("{params: [{name: os, value: [l, m]}], include: [{params: [{name: os, "
                            "value: l}, {name: v, value: '1'}]}]}"),
            "os=l v=1 | os=m");
  EXPECT_EQ(combinations_of("{params: [{name: os, value: [l, m]}], include: [{params: [{name: v, "
                            "value: '1'}]}, {params: [{name: os, value: w}]}]}"),
            "os=l v=1 | os=m v=1 | os=w");
  EXPECT_EQ(combinations_of(
                "{include: [{params: [{name: a, value: x}]}, {params: [{name: a, value: z}]}]}"),
            "a=x | a=z");
}

constexpr std::string_view kMatrixRun = R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  params: [{name: versions, value: [a, b]}]
  pipelineSpec:
    params: [{name: versions, type: array}]
    tasks:
    - name: build
      matrix: {params: [{name: version, value: ["$(params.versions[*])"]}]}
      taskSpec:
        params: [{name: version}]
        results: [{name: out}]
        steps: [{name: main, image: i, args: ["$(params.version)"]}]
    - name: use
      params: [{name: outs, value: ["$(tasks.build.results.out[*])"]}]
      taskSpec:
        params: [{name: outs, type: array}]
        steps: [{name: main, image: i, args: ["$(params.outs[*])"]}]
)y";

TEST(Matrix, RunsTaskPerCombinationAndCollectsResults) {
  Lab lab;
  lab.ends = [](std::string_view task_run, std::string_view) {
    return Lab::End{.message = results_message({{"out", "from " + std::string(task_run)}})};
  };
  lab.put(kMatrixRun);
  lab.settle();
  EXPECT_EQ(lab.pod("run-build-0-pod").spec()["containers"][0]["args"][0], Value("a"));
  EXPECT_EQ(lab.pod("run-build-1-pod").spec()["containers"][0]["args"][0], Value("b"));
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 0");
  EXPECT_EQ(lab.run().status()["childReferences"].size(), 3U);
  EXPECT_EQ(lab.pod("run-use-pod").spec()["containers"][0]["args"],
            json::parse(R"y(["from run-build-0","from run-build-1"])y").value());
}

TEST(Matrix, CompletesFanOutAfterCrash) {
  Lab lab;
  bool failed = false;
  lab.world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    if (create != nullptr && create->target.key.name == "run-build-1" && !failed) {
      failed = true;
      return Error::internal("away");
    }
    return std::nullopt;
  };
  lab.put(kMatrixRun);
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"out", "x"}})};
  };
  lab.play();
  lab.advance(std::chrono::seconds(5));
  lab.play();
  EXPECT_TRUE(failed);
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Succeeded"));
  EXPECT_EQ(lab.world.count(api::kTaskRun), 3U);
}

TEST(Matrix, KeepsNamesOfOtherTasksFree) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - name: a
      matrix: {params: [{name: v, value: [p, q]}]}
      taskSpec: {params: [{name: v}], steps: [{name: main, image: i}]}
    - name: a-1
      taskSpec: {steps: [{name: main, image: i}]}
)y");
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 0");
  EXPECT_EQ(lab.task_run("run-a-1").label(kPipelineTaskLabel), "a-1");
  EXPECT_EQ(lab.task_run("run-a-1x").label(kPipelineTaskLabel), "a");
  EXPECT_EQ(lab.world.count(api::kTaskRun), 3U);
}

// Lists whose lengths are known at run time only: of params, and of results.
TEST(Matrix, BoundsCombinationsAtRunTime) {
  std::string items;
  for (int i = 0; i < 100; ++i) {
    items += "'" + std::to_string(i) + "', ";
  }
  const auto pipeline = [&](const std::string& values, const std::string& part) {
    const std::string fan = "{name: fan, matrix: {params: [{name: x, value: '" + values +
                            "'}, {name: y, value: '" + values + "'}, {name: z, value: '" + values +
                            "'}, {name: w, value: '" + values + "'}, {name: v, value: '" + values +
                            "'}]}, taskSpec: {params: [{name: x}], steps: [{name: s, image: i}]}}";
    return "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {params: "
           "[{name: many, value: [" +
           items +
           "]}], pipelineSpec: {params: [{name: many, type: array}], tasks: [{name: list, "
           "taskSpec: {results: [{name: r, type: array}], steps: [{name: s, image: i}]}}" +
           (part == "tasks" ? ", " + fan + "]" : "], finally: [" + fan + "]") + "}}}";
  };
  for (const char* part : {"tasks", "finally"}) {
    for (const char* values : {"$(params.many[*])", "$(tasks.list.results.r[*])"}) {
      Lab lab;
      lab.ends = [&](std::string_view, std::string_view) {
        std::string list = items;
        std::replace(list.begin(), list.end(), '\'', '"');
        return Lab::End{.message =
                            results_message({{"r", "[" + list.substr(0, list.size() - 2) + "]"}})};
      };
      lab.put(pipeline(values, part));
      lab.play();
      EXPECT_TRUE(Lab::outcome(lab.run()).starts_with("False/")) << Lab::outcome(lab.run());
      EXPECT_NE(Lab::outcome(lab.run()).find("its matrix has more than 256 combinations"),
                std::string::npos)
          << part << " " << values << " " << Lab::outcome(lab.run());
      EXPECT_LE(lab.world.count(api::kTaskRun), 1U);
    }
  }
}

TEST(Matrix, AnEmptyListSkipsTheTask) {
  Lab lab;
  std::string run(kMatrixRun);
  run.replace(run.find("[a, b]"), 6, "[]");
  lab.put(run);
  lab.play();
  EXPECT_EQ(Lab::skipped(lab.run()),
            "build (Matrix Parameters have an empty array), use (Parent Tasks were skipped)");
}

TEST(Sidecars, AreInThePodAndInTheStatus) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: run}
spec:
  workspaces: [{name: w, emptyDir: {}}]
  sidecarSpecs: [{name: db, computeResources: {limits: {cpu: 1}}}]
  taskSpec:
    params: [{name: p, default: 3}]
    workspaces: [{name: w}]
    steps: [{name: main, image: i, command: [x], stdoutConfig: {path: /workspace/out},
             when: [{input: $(params.p), operator: in, values: ['3']}]}]
    sidecars:
    - {name: db, image: db:$(params.p), args: ["$(params.p)"], ports: [{containerPort: 5432}],
       readinessProbe: {exec: {command: [up]}}, lifecycle: {preStop: {exec: {command: [bye]}}},
       volumeDevices: [{name: d, devicePath: /dev/d}]}
    - {name: other, image: o, script: "echo", restartPolicy: Always}
)y");
  lab.settle();
  const Object pod = lab.pod("run-pod");
  const Value& sidecar = pod.spec()["containers"][1];
  EXPECT_EQ(sidecar["name"], Value("sidecar-db"));
  EXPECT_EQ(sidecar["image"], Value("db:3"));
  EXPECT_EQ(sidecar["args"][0], Value("3"));
  EXPECT_EQ(sidecar["ports"][0]["containerPort"].as_int(), 5432);
  EXPECT_EQ(sidecar["readinessProbe"]["exec"]["command"][0], Value("up"));
  EXPECT_EQ(sidecar["lifecycle"]["preStop"]["exec"]["command"][0], Value("bye"));
  EXPECT_EQ(sidecar["resources"]["limits"]["cpu"].as_int(), 1);
  EXPECT_EQ(sidecar["volumeMounts"][0]["mountPath"], Value("/workspace/w"));
  EXPECT_EQ(
      json::parse(pod.annotation("athanor.dev/steps")).value(),
      yaml::parse("[{container: step-main, when: [{input: '3', operator: in, values: ['3']}], "
                  "stdout: /workspace/out}, {container: sidecar-db, sidecar: true}, "
                  "{container: sidecar-other, sidecar: true, script: \"#!/bin/sh\\nset "
                  "-e\\necho\", restartPolicy: Always}]")
          .value());
  const auto told = [&] {
    for (const auto& event : lab.world.events) {
      if (event.reason == "FieldsIgnored") {
        return event.note;
      }
    }
    return std::string();
  };
  EXPECT_EQ(told(),
            "sidecars[0].volumeDevices has no effect: the embedded engine has no block devices");
  lab.set_pod_status("run-pod", R"y({phase: Running, containerStatuses: [
    {name: step-main, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-01-05T00:00:01Z", finishedAt: "2026-01-05T00:00:02Z"}}},
    {name: sidecar-db, imageID: x, state: {running: {startedAt: "2026-01-05T00:00:01Z"}}},
    {name: sidecar-other, state: {running: {startedAt: "2026-01-05T00:00:01Z"}}}]})y");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("run")),
            "True/Succeeded: All Steps have completed executing");
  EXPECT_EQ(lab.task_run("run").status()["sidecars"][0]["container"], Value("sidecar-db"));
  EXPECT_TRUE(lab.task_run("run").status()["sidecars"][0].contains("running"));
  lab.set_pod_status("run-pod", R"y({phase: Succeeded, containerStatuses: [
    {name: step-main, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-01-05T00:00:01Z", finishedAt: "2026-01-05T00:00:02Z"}}},
    {name: sidecar-db, imageID: x, state: {terminated: {exitCode: 0, reason: Completed}}},
    {name: sidecar-other, state: {terminated: {exitCode: 0, reason: Completed}}}]})y");
  lab.settle();
  EXPECT_EQ(lab.task_run("run").status()["sidecars"][1]["terminated"]["reason"],
            Value("Completed"));
}

TEST(Sidecars, OneThatFailsByItselfFailsTheTask) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: run}
spec:
  taskSpec:
    steps: [{name: main, image: i, command: [x]}]
    sidecars: [{name: db, image: i}]
)y");
  lab.settle();
  lab.set_pod_status("run-pod", R"y({phase: Failed, containerStatuses: [
    {name: step-main, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-01-05T00:00:01Z", finishedAt: "2026-01-05T00:00:02Z"}}},
    {name: sidecar-db, state: {terminated: {exitCode: 3, reason: Error}}}]})y");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("run")),
            "False/Failed: \"sidecar-db\" exited with code 3: Error");
}

TEST(Guards, ReportSkippedStepInStatus) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: run}
spec:
  taskSpec:
    steps: [{name: main, image: i, command: [x], when: [{input: a, operator: in, values: [b]}]}]
)y");
  lab.settle();
  lab.set_pod_status("run-pod", R"y({phase: Succeeded, containerStatuses: [
    {name: step-main, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-01-05T00:00:01Z", finishedAt: "2026-01-05T00:00:01Z",
     message: '[{"key":"Reason","value":"Skipped","type":3}]'}}}]})y");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("run")),
            "True/Succeeded: All Steps have completed executing");
  const Value& step = lab.task_run("run").status()["steps"][0];
  EXPECT_EQ(step["terminationReason"], Value("Skipped"));
  EXPECT_EQ(step["terminated"]["exitCode"].as_int(-1), 0);
}

TEST(Params, EnumsAreCheckedWhenTheFlagIsSet) {
  constexpr std::string_view kRun = R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: run}
spec:
  params: [{name: p, value: c}]
  taskSpec:
    params: [{name: p, enum: [a, b]}]
    steps: [{name: main, image: i, command: [x]}]
)y";
  Lab lab;
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: "
      "tekton-pipelines}, data: {enable-param-enum: 'true'}}");
  lab.put(kRun);
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("run")),
            "False/InvalidParamValue: [User error] param `p` value: c is not in the enum list");
}

TEST(StepActions, TakeThePlaceOfTheStep) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1beta1
kind: StepAction
metadata: {name: clone}
spec:
  image: git
  params: [{name: url}, {name: depth, default: "1"}]
  script: "clone $(params.url) $(params.depth)"
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  params: [{name: where, value: "https://x"}]
  taskSpec:
    params: [{name: where}]
    steps: [{name: get, ref: {name: clone}, params: [{name: url, value: "$(params.where)"}]}]
)y");
  lab.settle();
  const Object pod = lab.pod("tr-pod");
  EXPECT_EQ(pod.spec()["containers"][0]["image"], Value("git"));
  EXPECT_NE(pod.annotation("athanor.dev/steps").find("clone https://x 1"), std::string_view::npos);
}

TEST(StepActions, AMissingOneFailsTheTaskRun) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  taskSpec: {steps: [{name: get, ref: {name: gone}}]}
)y");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "False/TaskRunResolutionFailed: error when listing tasks for taskRun tr: "
            "stepactions.tekton.dev \"gone\" not found");
}

TEST(EarlyDiagnosis, FailsPodWithoutSecretAfterGrace) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  taskSpec:
    volumes: [{name: v, secret: {secretName: creds}}, {name: o, secret: {secretName: other, optional: true}}]
    steps: [{name: main, image: i}]
)y");
  lab.settle();
  lab.world.update(api::kPod, {"ns", "tr-pod"},
                   [](Value& object) { object.member("spec").set("nodeName", "n1"); });
  lab.set_pod_status("tr-pod", "{phase: Pending}");
  lab.advance(std::chrono::seconds(50));
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("Pending"));
  lab.advance(std::chrono::seconds(20));
  EXPECT_EQ(
      Lab::outcome(lab.task_run("tr")),
      "False/FailedMount: MountVolume.SetUp failed for volume \"v\" : secret \"creds\" not found");
  EXPECT_FALSE(lab.has_pod("tr-pod"));
}

}  // namespace
}  // namespace athanor::tekton::features_test
