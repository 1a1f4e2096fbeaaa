// SPDX-License-Identifier: Apache-2.0
// How a run ends that is cancelled, stopped or too late, and the reasons of its skipped tasks
// (docs/spec/tekton.md 8).
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::endings_test {
namespace {

// Task a runs, b comes after it, c is the cleanup. Then the run is cancelled as said, and time
// passes; at last c ends well, where it began.
struct Ending {
  std::string_view timeouts{};
  std::string_view cancel{};  // spec.status, or empty
  int minutes = 0;            // that pass
  std::string_view outcome{};
  std::string_view skipped{};
  bool cleans_up = false;
};

constexpr Ending kEndings[] = {
    {.timeouts = "{}",
     .cancel = "Cancelled",
     .outcome = "False/Cancelled: PipelineRun \"run\" was cancelled",
     .skipped = ""},
    {.timeouts = "{}",
     .cancel = "CancelledRunFinally",
     .outcome = "False/Cancelled: PipelineRun \"run\" was cancelled",
     .skipped = "b (PipelineRun was stopping)",
     .cleans_up = true},
    {.timeouts = "{}",
     .minutes = 59,
     .outcome =
         "Unknown/Running: Tasks Completed: 0 (Failed: 0, Cancelled 0), Incomplete: 3, Skipped: 0",
     .skipped = ""},
    {.timeouts = "{}",
     .minutes = 61,
     .outcome = "False/PipelineRunTimeout: PipelineRun \"run\" failed to finish within \"1h0m0s\"",
     .skipped = "b (PipelineRun timeout has been reached)"},
    {.timeouts = "{pipeline: 5m}",
     .minutes = 6,
     .outcome = "False/PipelineRunTimeout: PipelineRun \"run\" failed to finish within \"5m0s\"",
     .skipped = "b (PipelineRun timeout has been reached)"},
    {.timeouts = "{pipeline: 5m, finally: 3m}",
     .minutes = 3,
     .outcome = "False/PipelineRunTimeout: PipelineRun \"run\" failed due to tasks failed to "
                "finish within \"2m0s\"",
     .skipped = "b (PipelineRun Tasks timeout has been reached)",
     .cleans_up = true},
    {.timeouts = "{pipeline: 1h, tasks: 2m}",
     .minutes = 3,
     .outcome = "False/PipelineRunTimeout: PipelineRun \"run\" failed due to tasks failed to "
                "finish within \"2m0s\"",
     .skipped = "b (PipelineRun Tasks timeout has been reached)",
     .cleans_up = true},
    {.timeouts = "{pipeline: '0', tasks: '0', finally: '0'}",
     .minutes = 60 * 24 * 7,
     .outcome =
         "Unknown/Running: Tasks Completed: 0 (Failed: 0, Cancelled 0), Incomplete: 3, Skipped: 0",
     .skipped = ""},
};

constexpr std::string_view kTasks = R"y(
  pipelineSpec:
    tasks:
    - {name: a, taskSpec: {steps: [{name: s, image: i}]}}
    - {name: b, runAfter: [a], taskSpec: {steps: [{name: s, image: i}]}}
    finally:
    - {name: c, taskSpec: {steps: [{name: s, image: i}]}}
)y";

TEST(Endings, FollowTheTable) {
  for (const Ending& row : kEndings) {
    Lab lab;
    const std::string timeouts(row.timeouts);
    lab.put(
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run, uid: of-run}\n"
        "spec:\n  timeouts: " +
        timeouts + std::string(kTasks));
    lab.settle();
    lab.start("run-a-pod");
    lab.settle();
    if (!row.cancel.empty()) {
      lab.cancel("run", row.cancel);
    }
    lab.advance(std::chrono::minutes(row.minutes));
    EXPECT_EQ(lab.has_task_run("run-c"), row.cleans_up) << row.timeouts << row.cancel;
    if (row.cleans_up) {
      lab.finish("run-c-pod");
      lab.settle();
    }
    EXPECT_EQ(Lab::outcome(lab.run()), row.outcome) << row.timeouts << row.cancel;
    EXPECT_EQ(Lab::skipped(lab.run()), row.skipped) << row.timeouts << row.cancel;
    EXPECT_FALSE(lab.has_task_run("run-b"));
  }
}

}  // namespace
}  // namespace athanor::tekton::endings_test
