// SPDX-License-Identifier: Apache-2.0
// Every single write of a run may fail, or take effect and be reported as failed: the run ends as
// without it (docs/engine.md 3, P3 and P6).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::crash_test {
namespace {

constexpr std::string_view kObjects = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work, labels: {from: task}}
spec:
  params: [{name: p, default: none}]
  results: [{name: r}]
  steps: [{name: main, image: i, args: ["$(params.p)"]}]
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: full, labels: {team: a}}
spec:
  workspaces: [{name: w}]
  tasks:
  - {name: a, retries: 1, taskRef: {name: work}}
  - {name: b, taskRef: {name: work}, params: [{name: p, value: "$(tasks.a.results.r)"}]}
  - {name: c, onError: continue, taskRef: {name: work}}
  finally:
  - {name: f, taskRef: {name: work}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineRef: {name: full}
  workspaces: [{name: w, volumeClaimTemplate: {spec: {}}}]
)y";

struct World {
  Lab lab{};
  int writes = 0;
};

// Plays the run; the write with this number fails once with a server error.
void play(World& world, int failing) {
  world.lab.ends = [&world](std::string_view task_run, std::string_view) {
    const Object now = world.lab.task_run(task_run);
    const bool first = now.status()["retriesStatus"].empty();
    const bool fails = (task_run == "run-a" && first) || task_run == "run-c";
    return Lab::End{.exit_code = fails ? 1 : 0, .message = results_message({{"r", "v"}})};
  };
  world.lab.world.fault = [&world, failing](const Step& step) -> std::optional<Error> {
    if (std::holds_alternative<Emit>(step)) {
      return std::nullopt;
    }
    if (world.writes++ == failing) {
      return Error::internal("the server is away");
    }
    return std::nullopt;
  };
  world.lab.put(kObjects);
  for (int round = 0; round < 5; ++round) {
    world.lab.play();
    world.lab.advance(std::chrono::seconds(5));
  }
}

std::string summary(const Lab& lab) {
  std::string text = Lab::outcome(lab.run()) + "\n" + std::string(lab.run().label("team")) + "\n";
  for (const Object& task_run : lab.world.list(api::kTaskRun)) {
    text += std::string(task_run.name()) + " " + Lab::outcome(task_run) + " " +
            std::string(task_run.label("from")) + " " +
            std::to_string(task_run.status()["retriesStatus"].size()) + "\n";
  }
  for (const Object& pod : lab.world.list(api::kPod)) {
    text += std::string(pod.name()) + "\n";
  }
  text += std::to_string(lab.world.count(api::kPersistentVolumeClaim)) + "\n";
  for (const Value& reference : lab.run().status()["childReferences"].items()) {
    text += reference["name"].str() + "\n";
  }
  return text;
}

TEST(Crash, EndsAlikeAfterAnyFailedWrite) {
  World calm;
  play(calm, -1);
  const std::string expected = summary(calm.lab);
  EXPECT_NE(
      expected.find("True/Succeeded: Tasks Completed: 4 (Failed: 1 (Ignored: 1), Cancelled 0)"),
      std::string::npos)
      << expected;
  EXPECT_GT(calm.writes, 12);
  for (int failing = 0; failing < calm.writes; ++failing) {
    World world;
    play(world, failing);
    EXPECT_EQ(summary(world.lab), expected) << "write " << failing;
  }
}

TEST(Crash, AtRestNothingIsWritten) {
  World world;
  play(world, -1);
  const std::size_t writes = world.lab.world.writes.size();
  world.lab.world.restart();
  world.lab.advance(std::chrono::hours(2));
  EXPECT_EQ(world.lab.world.writes.size(), writes);
  EXPECT_TRUE(world.lab.world.reconcile(pipelinerun_operator(), {"ns", "run"}).empty());
  EXPECT_TRUE(world.lab.world.reconcile(taskrun_operator(), {"ns", "run-a"}).empty());
}

}  // namespace
}  // namespace athanor::tekton::crash_test
