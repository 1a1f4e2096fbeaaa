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

// Results of any size.
Value large_results() {
  Value config = Value::object();
  config.set_path({"run", "maxResultSize"}, 1'000'000);
  return config;
}

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

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

// A value of 100,000 bytes, two hundred times: in a script, a list, a pipeline's param, a result.
TEST(Refusals, EndRunsWhoseTextsGrowTooLarge) {
  const std::string large(100'000, 'x');
  const std::string grown = "$(params.p) makes the values of variables larger than 16 MiB";
  const auto task_outcome = [&](const std::string& name, const std::string& step) {
    Lab lab;
    lab.put(
        "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: tr}, spec: {params: "
        "[{name: p, value: " +
        large + "}, {name: l, value: [" + large +
        "]}], taskSpec: {params: [{name: p}, {name: l, type: array}], steps: [{name: s, image: "
        "i, " +
        step + "}]}}}");
    lab.settle();
    EXPECT_FALSE(lab.has_pod("tr-pod")) << name;
    return Lab::outcome(lab.task_run("tr"));
  };
  EXPECT_TRUE(
      task_outcome("script", "script: '" + repeated("$(params.p)", 200) + "'").ends_with(grown));
  EXPECT_TRUE(task_outcome("list", "args: [" + repeated("'$(params.l[*])', ", 200) + "]")
                  .ends_with("$(params.l[*]) makes the values of variables larger than 16 MiB"));
  Lab lab;
  lab.put(kDefinitions);
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {params: "
      "[{name: p, value: " +
      large +
      "}], pipelineSpec: {params: [{name: p}], tasks: [{name: s, "
      "taskRef: {name: work}, params: [{name: a, value: '" +
      repeated("$(params.p)", 200) + "'}]}]}}}");
  lab.settle();
  EXPECT_TRUE(Lab::outcome(lab.run()).starts_with("False/PipelineValidationFailed: "));
  EXPECT_TRUE(Lab::outcome(lab.run()).ends_with(grown)) << Lab::outcome(lab.run());
  EXPECT_EQ(lab.world.count(api::kTaskRun), 0U);
}

TEST(Refusals, LargeResultsEndTheRun) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"r", std::string(100'000, 'x')}})};
  };
  lab.world.configure("tekton", large_results());
  lab.put(kDefinitions);
  lab.put("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
          tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n"
                "    - {name: t, taskRef: {name: work}, params: [{name: a, value: '" +
                repeated("$(tasks.s.results.r)", 200) + "'}]}\n"));
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/CreateRunFailed: pipeline task \"t\": $(tasks.s.results.r) makes the values of "
            "variables larger than 16 MiB");
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
