// SPDX-License-Identifier: Apache-2.0
// The acceptance scenarios of docs/spec/tekton.md 16 that need restarts, results or many runs; the
// others are data (tests/scenarios/tekton).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/names.hpp"
#include "embedded/tekton/runs.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton {
namespace {

using std::chrono::seconds;

constexpr std::string_view kTask = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work}
spec:
  steps:
  - {name: main, image: busybox, script: "echo hi"}
)y";

constexpr std::string_view kPipeline = R"y(
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: full, annotations: {fournos.dev/resolve-image: "r:1"}, labels: {team: a}}
spec:
  tasks:
  - {name: prepare, taskRef: {name: work}}
  - {name: run, taskRef: {name: work}, runAfter: [prepare]}
  finally:
  - {name: cleanup, taskRef: {name: work}}
)y";

constexpr std::string_view kRun = R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run, labels: {fournos.dev/job-name: job}, annotations: {fournos.dev/cluster: c1}}
spec:
  pipelineRef: {name: full}
)y";

// A run with an inline pipeline.
std::string inline_run(std::string_view pipeline, std::string_view more = "") {
  return "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
         std::string(more) + "  pipelineSpec:\n" + std::string(pipeline);
}

TEST(RunScenarios, PrepareRunAndCleanupSucceedInOrder) {
  Lab lab;
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(kRun);
  lab.settle();
  EXPECT_EQ(
      Lab::outcome(lab.run()),
      "Unknown/Running: Tasks Completed: 0 (Failed: 0, Cancelled 0), Incomplete: 3, Skipped: 0");
  EXPECT_TRUE(lab.has_task_run("run-prepare"));
  EXPECT_FALSE(lab.has_task_run("run-run"));
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 3 (Failed: 0, Cancelled 0), Skipped: 0");
  EXPECT_TRUE(lab.run().status().contains("completionTime"));
  EXPECT_TRUE(lab.run().status().contains("finallyStartTime"));
  EXPECT_EQ(lab.run().status()["childReferences"].size(), 3U);
  EXPECT_LE(lab.status_writes(), 12);
  EXPECT_GE(lab.status_writes(), 7);
  EXPECT_GE(lab.world.event_count("Started", "run"), 1);
  EXPECT_EQ(lab.world.event_count("Succeeded", "run"), 1);
}

TEST(RunScenarios, LabelsAndAnnotationsFlowDown) {
  Lab lab;
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(kRun);
  lab.settle();
  const Object run = lab.run();
  EXPECT_EQ(run.label("tekton.dev/pipeline"), "full");
  EXPECT_EQ(run.label("team"), "a");
  EXPECT_EQ(run.annotation("fournos.dev/resolve-image"), "r:1");
  const Object task_run = lab.task_run("run-prepare");
  EXPECT_EQ(task_run.label("fournos.dev/job-name"), "job");
  EXPECT_EQ(task_run.label("tekton.dev/pipelineRun"), "run");
  EXPECT_EQ(task_run.label("tekton.dev/pipelineRunUID"), run.uid());
  EXPECT_EQ(task_run.label("tekton.dev/pipelineTask"), "prepare");
  EXPECT_EQ(task_run.label("tekton.dev/memberOf"), "tasks");
  EXPECT_EQ(task_run.label("tekton.dev/task"), "work");
  EXPECT_EQ(task_run.annotation("fournos.dev/cluster"), "c1");
  const Object pod = lab.pod("run-prepare-pod");
  EXPECT_EQ(pod.label("tekton.dev/taskRun"), "run-prepare");
  EXPECT_EQ(pod.label("fournos.dev/job-name"), "job");
  EXPECT_EQ(pod.label("app.kubernetes.io/managed-by"), "tekton-pipelines");
  EXPECT_EQ(pod.annotation("pipeline.tekton.dev/release"), "v1.9.2");
  EXPECT_EQ(pod.spec()["containers"][0]["name"], Value("step-main"));
}

TEST(RunScenarios, TasksTimeoutEndsARunOfProfileOneNineAtOnce) {
  Lab lab;
  lab.world.configure("tekton", Value::object({{"run", Value::object({{"profile", "v1.9"}})}}));
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(std::string(kRun) + "  timeouts: {pipeline: 1h, tasks: 2s, finally: 10s}\n");
  lab.settle();
  lab.start("run-prepare-pod");
  lab.advance(seconds(3));
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("PipelineRunTimeout"));
  EXPECT_FALSE(lab.has_task_run("run-cleanup"));
}

TEST(RunScenarios, ALongCleanupDoesNotMakeTheTasksLate) {
  Lab lab;
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(std::string(kRun) + "  timeouts: {pipeline: 1h, tasks: 10s, finally: 30s}\n");
  lab.settle();
  lab.finish("run-prepare-pod");
  lab.settle();
  lab.finish("run-run-pod");
  lab.settle();
  lab.start("run-cleanup-pod");
  lab.advance(seconds(20));
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Running"));
  lab.play();
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Succeeded"));
}

TEST(RunScenarios, FinallyTimeoutFailsTheRun) {
  Lab lab;
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(std::string(kRun) + "  timeouts: {pipeline: 1h, tasks: 10s, finally: 5s}\n");
  lab.settle();
  lab.finish("run-prepare-pod");
  lab.settle();
  lab.finish("run-run-pod");
  lab.settle();
  lab.advance(seconds(7));
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/Failed: Tasks Completed: 3 (Failed: 1, Cancelled 0), Skipped: 0");
}

TEST(RunScenarios, RetriesAreKeptAndEveryAttemptHasItsPod) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) { return Lab::End{.exit_code = 1}; };
  lab.put(kTask);
  lab.put(inline_run("    tasks:\n    - {name: a, retries: 2, taskRef: {name: work}}\n"));
  lab.play();
  const Object task_run = lab.task_run("run-a");
  EXPECT_EQ(task_run.status()["retriesStatus"].size(), 2U);
  EXPECT_FALSE(task_run.status()["retriesStatus"][0].contains("retriesStatus"));
  EXPECT_EQ(task_run.status()["retriesStatus"][0]["podName"], Value("run-a-pod"));
  EXPECT_EQ(task_run.status()["podName"], Value("run-a-pod-retry2"));
  for (const std::string_view pod : {"run-a-pod", "run-a-pod-retry1", "run-a-pod-retry2"}) {
    EXPECT_TRUE(lab.has_pod(pod)) << pod;
  }
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/Failed: Tasks Completed: 1 (Failed: 1, Cancelled 0), Skipped: 0");
}

TEST(RunScenarios, AFalseGuardSkipsItsTaskAlone) {
  Lab lab;
  lab.put(kTask);
  lab.put(inline_run(R"y(
    tasks:
    - {name: a, taskRef: {name: work}}
    - name: b
      runAfter: [a]
      taskRef: {name: work}
      when: [{input: "x", operator: in, values: ["y"]}]
    - {name: c, runAfter: [b], taskRef: {name: work}}
)y"));
  lab.play();
  EXPECT_EQ(Lab::skipped(lab.run()), "b (When Expressions evaluated to false)");
  EXPECT_EQ(lab.run().status()["skippedTasks"][0]["whenExpressions"].size(), 1U);
  EXPECT_TRUE(lab.has_task_run("run-c"));
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Completed: Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 1");
}

TEST(RunScenarios, OnErrorContinueIgnoresTheFailure) {
  Lab lab;
  lab.ends = [](std::string_view task_run, std::string_view) {
    return Lab::End{.exit_code = task_run == "run-a" ? 1 : 0};
  };
  lab.put(kTask);
  lab.put(inline_run(R"y(
    tasks:
    - {name: a, onError: continue, taskRef: {name: work}}
    - {name: b, runAfter: [a], taskRef: {name: work}}
)y"));
  lab.play();
  EXPECT_EQ(succeeded(lab.task_run("run-a"))["reason"], Value("FailureIgnored"));
  EXPECT_EQ(lab.task_run("run-a").annotation("pipeline.tekton.dev/pipeline-task-on-error"),
            "continue");
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 2 (Failed: 1 (Ignored: 1), Cancelled 0), Skipped: 0");
}

constexpr std::string_view kResultPipeline = R"y(
    tasks:
    - name: b
      params: [{name: url, value: "got $(tasks.a.results.r)"}]
      taskSpec:
        params: [{name: url}]
        steps: [{name: main, image: i, args: ["$(params.url)"]}]
    - name: a
      taskSpec:
        results: [{name: r}]
        steps: [{name: main, image: i, script: "x"}]
    results:
    - {name: out, value: "$(tasks.a.results.r)!"}
)y";

TEST(RunScenarios, AResultReachesTheTaskThatWantsItAndOrdersThem) {
  Lab lab;
  lab.ends = [](std::string_view task_run, std::string_view) {
    return Lab::End{.message =
                        task_run == "run-a" ? results_message({{"r", "42"}, {"q", "no"}}) : ""};
  };
  lab.put(inline_run(kResultPipeline));
  lab.settle();
  EXPECT_FALSE(lab.has_task_run("run-b"));
  lab.play();
  EXPECT_EQ(lab.task_run("run-a").status()["results"].size(), 1U);
  EXPECT_EQ(lab.task_run("run-b").spec()["params"][0]["value"], Value("got 42"));
  EXPECT_EQ(lab.pod("run-b-pod").spec()["containers"][0]["args"][0], Value("got 42"));
  EXPECT_EQ(lab.run().status()["results"][0]["value"], Value("42!"));
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Succeeded"));
}

TEST(RunScenarios, AMissingResultFailsValidation) {
  Lab lab;
  lab.put(inline_run(kResultPipeline));
  lab.play();
  EXPECT_FALSE(lab.has_task_run("run-b"));
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/PipelineValidationFailed: Tasks Completed: 1 (Failed: 0, Cancelled 0), Skipped: "
            "0, Failed Validation: 1 (Task \"b\" failed result validation: task \"a\" completed "
            "successfully but did not emit the result \"r\", which is referenced by task \"b\")");
  EXPECT_EQ(lab.world.event_count("ResultValidationFailed", "run"), 1);
}

TEST(RunScenarios, ARestartChangesNothing) {
  Lab lab;
  lab.put(kTask);
  lab.put(kPipeline);
  lab.put(kRun);
  lab.settle();
  lab.start("run-prepare-pod");
  lab.settle();
  const Value start = lab.run().status()["startTime"];
  const std::size_t writes = lab.world.writes.size();
  lab.world.advance(seconds(30));
  lab.world.restart();
  lab.settle();
  EXPECT_EQ(lab.world.writes.size(), writes);
  EXPECT_EQ(lab.run().status()["startTime"], start);
  EXPECT_EQ(lab.world.count(api::kTaskRun), 1U);
  lab.play();
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Succeeded"));
}

TEST(RunScenarios, ALongRunNameGivesShortStableChildNames) {
  Lab lab;
  const std::string name(62, 'r');
  lab.put(kTask);
  lab.put("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: " + name +
          "}\nspec:\n  pipelineSpec:\n    tasks:\n    - {name: a, taskRef: {name: work}}\n");
  lab.play();
  const Object run = lab.run(name);
  const std::string child = run.status()["childReferences"][0]["name"].str();
  EXPECT_EQ(child, task_run_name(name, "a"));
  EXPECT_LE(child.size(), 63U);
  EXPECT_EQ(succeeded(run)["reason"], Value("Succeeded"));
}

}  // namespace
}  // namespace athanor::tekton
