// SPDX-License-Identifier: Apache-2.0
// Writes of a run that are refused. The table of docs/spec/tekton.md 7.2 is a scenario
// (tests/scenarios/tekton).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::refusals_test {
namespace {

constexpr std::string_view kDefinitions = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work}
spec:
  params: [{name: a}, {name: l, type: array, default: []}, {name: o, type: object, properties: {k: {}}, default: {k: v}}]
  results: [{name: r}]
  workspaces: [{name: inner, optional: true}]
  steps: [{name: main, image: i}]
)y";

// An inline pipeline of one task line.
std::string tasks(std::string_view lines) {
  return "  pipelineSpec:\n    tasks:\n" + std::string(lines);
}

TEST(Refusals, AcceptWholeListOfResult) {
  Lab lab;
  lab.put(kDefinitions);
  lab.put(
      "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
      tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n"
            "    - {name: t, taskRef: {name: work}, params: [{name: a, value: x}, {name: l, value: "
            "\"$(tasks.s.results.r[*])\"}]}\n"));
  lab.settle();
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Running"));
}

TEST(Refusals, ARefusedTaskRunEndsTheRun) {
  Lab lab;
  lab.put(kDefinitions);
  lab.world.fault = [](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    if (create != nullptr && create->target.kind == &api::kTaskRun) {
      return Error::bad_request("admission said no");
    }
    return std::nullopt;
  };
  lab.put("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
          tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n"));
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.run()), "False/CreateRunFailed: admission said no");
}

TEST(Refusals, ARefusedClaimEndsTheRun) {
  Lab lab;
  lab.put(kDefinitions);
  lab.world.fault = [](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    if (create != nullptr && create->target.kind == &api::kPersistentVolumeClaim) {
      return Error::bad_request("no storage");
    }
    return std::nullopt;
  };
  lab.put("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
          tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n") +
          "  workspaces: [{name: w, volumeClaimTemplate: {spec: {}}}]\n");
  lab.settle();
  EXPECT_EQ(
      Lab::outcome(lab.run()),
      "False/CouldntCreateWorkspacePVC: Failed to create PVC for PipelineRun ns/run correctly: "
      "no storage");
  EXPECT_EQ(lab.world.count(api::kTaskRun), 0U);
}

}  // namespace
}  // namespace athanor::tekton::refusals_test
