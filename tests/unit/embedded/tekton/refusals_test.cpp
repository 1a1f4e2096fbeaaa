// SPDX-License-Identifier: Apache-2.0
// What ends a run before it starts: every row of docs/spec/tekton.md 7.2.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/runs.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton {
namespace {

struct Row {
  std::string name{};
  std::string spec{};  // of the run, two blanks deep
  std::string outcome{};
};

constexpr std::string_view kDefinitions = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work}
spec:
  params: [{name: a}, {name: l, type: array, default: []}, {name: o, type: object, properties: {k: {}}, default: {k: v}}]
  results: [{name: r}]
  workspaces: [{name: inner, optional: true}]
  steps: [{name: main, image: i}]
---
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: needy}
spec:
  workspaces: [{name: inner}]
  steps: [{name: main, image: i}]
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: p}
spec:
  params:
  - {name: x}
  - {name: z}
  - {name: l, type: array, default: [one]}
  - {name: o, type: object, properties: {k: {}, j: {}}, default: {k: v, j: w}}
  workspaces: [{name: w}]
  tasks:
  - name: t
    taskRef: {name: work}
    params: [{name: a, value: "$(params.l[0])"}]
)y";

// An inline pipeline of one task line.
std::string tasks(std::string_view lines) {
  return "  pipelineSpec:\n    tasks:\n" + std::string(lines);
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"no pipeline", "  pipelineRef: {name: nope}\n",
       "False/CouldntGetPipeline: Error retrieving pipeline for pipelinerun ns/run: error when "
       "getting "
       "Pipeline for PipelineRun run: tekton client cannot get pipeline nope from local cluster: "
       "pipelines.tekton.dev \"nope\" not found"},
      {"resolver", "  pipelineRef: {resolver: git}\n",
       "False/CouldntGetPipeline: Error retrieving pipeline for pipelinerun ns/run: resolver type "
       "\"git\" not enabled in the embedded engine"},
      {"cycle",
       tasks("    - {name: a, runAfter: [b], taskRef: {name: work}}\n"
             "    - {name: b, runAfter: [a], taskRef: {name: work}}\n"),
       "False/PipelineInvalidGraph: [User error] PipelineRun ns/run's Pipeline DAG is invalid: "
       "cycle "
       "detected; task \"a\" depends on \"b\""},
      {"unknown parent", tasks("    - {name: a, runAfter: [q], taskRef: {name: work}}\n"),
       "False/PipelineInvalidGraph: [User error] PipelineRun ns/run's Pipeline DAG is invalid: "
       "couldn't add link between a and q: task a depends on q but q wasn't present in Pipeline"},
      {"repeated final",
       tasks("    - {name: a, taskRef: {name: work}}\n    finally:\n    - {name: f, taskRef: "
             "{name: work}}\n"
             "    - {name: f, taskRef: {name: work}}\n"),
       "False/PipelineInvalidGraph: [User error] PipelineRun ns/run's Pipeline DAG is invalid for "
       "finally clause: duplicate pipeline task"},
      {"invalid spec", tasks("    - {name: a}\n"),
       "False/PipelineValidationFailed: [User error] Pipeline ns/run can't be Run; it has an "
       "invalid "
       "spec: expected exactly one, got neither: tasks[0].taskRef, tasks[0].taskSpec"},
      {"missing params", "  pipelineRef: {name: p}\n",
       "False/ParameterMissing: [User error] PipelineRun ns/run is missing some parameters "
       "required by "
       "Pipeline ns/p: pipelineRun missing parameters: [x z]"},
      {"types",
       "  pipelineRef: {name: p}\n  params: [{name: x, value: [a]}, {name: z, value: b}]\n",
       "False/ParameterTypeMismatch: [User error] PipelineRun ns/run parameters have mismatching "
       "types "
       "with Pipeline ns/p's parameters: parameters have inconsistent types : [x]"},
      {"object keys",
       tasks("    - {name: a, taskRef: {name: work}}\n    params: [{name: o, type: object, "
             "properties: {k: {}}}]\n") +
           "  params: [{name: o, value: {z: y}}]\n",
       "False/ObjectParameterMissKeys: [User error] PipelineRun ns/run parameters is missing "
       "object "
       "keys required by Pipeline ns/run's parameters: pipelineRun missing object keys for "
       "parameters: map[o:[k]]"},
      {"array index",
       "  pipelineRef: {name: p}\n  params: [{name: x, value: a}, {name: z, value: b}, {name: l, "
       "value: []}]\n",
       "False/ParamArrayIndexingInvalid: [User error] PipelineRun ns/run failed validation: failed "
       "to "
       "validate Pipeline ns/p's parameter which has an invalid index while referring to an array: "
       "non-existent param references:[$(params.l[0])]"},
      {"workspace",
       "  pipelineRef: {name: p}\n  params: [{name: x, value: a}, {name: z, value: b}]\n",
       "False/InvalidWorkspaceBindings: [User error] PipelineRun ns/run doesn't bind Pipeline "
       "ns/p's "
       "Workspaces correctly: pipeline requires workspace with name \"w\" be provided by "
       "pipelinerun"},
      {"task run specs",
       "  pipelineRef: {name: p}\n  params: [{name: x, value: a}, {name: z, value: b}]\n"
       "  workspaces: [{name: w, emptyDir: {}}]\n  taskRunSpecs: [{pipelineTaskName: zz}]\n",
       "False/InvalidTaskRunSpecs: [User error] PipelineRun ns/run doesn't define taskRunSpecs "
       "correctly: pipelineRun's taskrunSpecs defined wrong taskName: \"zz\", does not exist in "
       "Pipeline"},
      {"defaults in a circle",
       tasks("    - {name: a, taskRef: {name: needy}}\n    params: [{name: b, default: "
             "\"$(params.b)\"}]\n"),
       "False/PipelineValidationFailed: Failed to apply parameters to Pipeline ns/run: parameter "
       "resolution failed: circular dependency detected in param \"b\""},
      {"no task", tasks("    - {name: a, taskRef: {name: gone}}\n"),
       "False/CouldntGetTask: Pipeline ns/run can't be Run; it contains Tasks that don't exist: "
       "Couldn't retrieve Task \"gone\": tasks.tekton.dev \"gone\" not found"},
      {"custom task",
       tasks("    - {name: a, taskRef: {name: c, kind: Wait, apiVersion: example.dev/v1}}\n"),
       "False/CreateRunFailed: custom tasks are not supported by the embedded engine"},
      {"task params", tasks("    - {name: t, taskRef: {name: work}}\n"),
       "False/PipelineValidationFailed: [User error] Validation failed for pipelinerun run with "
       "error "
       "invalid input params for task work: missing values for these params which have no default "
       "values: [a]"},
      {"task param types",
       tasks("    - {name: t, taskRef: {name: work}, params: [{name: a, value: x}, {name: l, "
             "value: y}]}\n"),
       "False/PipelineValidationFailed: [User error] Validation failed for pipelinerun run with "
       "error "
       "invalid input params for task work: param types don't match the user-specified type: [l]"},
      {"result reference",
       tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n"
             "    - {name: t, taskRef: {name: work}, params: [{name: a, value: "
             "\"$(tasks.s.results.q)\"}]}\n"),
       "False/InvalidTaskResultReference: invalid result reference in pipeline task \"t\": \"q\" "
       "is not "
       "a named result returned by pipeline task \"s\""},
      {"pipeline result",
       tasks("    - {name: s, taskRef: {name: work}, params: [{name: a, value: x}]}\n"
             "    results: [{name: out, value: \"$(tasks.s.results.q)\"}]\n"),
       "False/InvalidPipelineResultReference: Failed to resolve pipeline result reference for "
       "\"run\" "
       "with error invalid pipeline result \"out\": \"q\" is not a named result returned by "
       "pipeline "
       "task \"s\""},
      {"optional workspace",
       tasks("    - {name: t, taskRef: {name: needy}, workspaces: [{name: inner, workspace: w}]}\n"
             "    workspaces: [{name: w, optional: true}]\n"),
       "False/RequiredWorkspaceMarkedOptional: [User error] Optional workspace not supported by "
       "task: "
       "pipeline workspace \"w\" is marked optional but pipeline task \"t\" requires it be "
       "provided"},
  };
  return kRows;
}

TEST(Refusals, EveryRowOfTheTable) {
  for (const Row& row : rows()) {
    Lab lab;
    lab.put(kDefinitions);
    lab.put("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
            row.spec);
    lab.settle();
    EXPECT_EQ(Lab::outcome(lab.run()), row.outcome) << row.name;
    EXPECT_TRUE(lab.run().status().contains("completionTime")) << row.name;
    EXPECT_EQ(lab.world.count(api::kTaskRun), 0U) << row.name;
  }
}

TEST(Refusals, AWholeListOfAResultCountsAsTheRightType) {
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
}  // namespace athanor::tekton
