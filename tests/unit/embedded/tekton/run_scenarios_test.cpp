// SPDX-License-Identifier: Apache-2.0
// Two acceptance scenarios of docs/spec/tekton.md 16: how often a run writes its status, and names
// that are made by a hash. The others are data (tests/scenarios/tekton).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/names.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::run_scenarios_test {
namespace {

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
metadata: {name: full}
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
metadata: {name: run}
spec:
  pipelineRef: {name: full}
)y";

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

TEST(RunScenarios, GivesShortStableChildNamesForLongRun) {
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
}  // namespace athanor::tekton::run_scenarios_test
