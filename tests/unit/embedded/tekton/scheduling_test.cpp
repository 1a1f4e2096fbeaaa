// SPDX-License-Identifier: Apache-2.0
// Order, skipping, guards, finally, propagation (docs/spec/tekton.md 6, 7.3, 7.5, 8.6).
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::scheduling_test {
namespace {

constexpr std::string_view kTask = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work}
spec:
  params: [{name: p, default: none}]
  results: [{name: r}]
  steps: [{name: main, image: i, args: ["$(params.p)"]}]
)y";

std::string run_of(std::string_view pipeline, std::string_view more = "") {
  return "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec:\n" +
         std::string(more) + "  pipelineSpec:\n" + std::string(pipeline);
}

// Ends: the named TaskRuns fail.
std::function<Lab::End(std::string_view, std::string_view)> failing(std::string names) {
  return [names](std::string_view task_run, std::string_view) {
    return Lab::End{.exit_code = names.find(task_run) == std::string::npos ? 0 : 1};
  };
}

TEST(Scheduling, SkipsUnstartedTasksAfterFailure) {
  Lab lab;
  lab.put(kTask);
  lab.ends = failing("run-a");
  lab.put(run_of(R"y(
    tasks:
    - {name: a, taskRef: {name: work}}
    - {name: b, runAfter: [a], taskRef: {name: work}}
    - {name: c, runAfter: [b], taskRef: {name: work}}
)y"));
  lab.play();
  EXPECT_EQ(Lab::skipped(lab.run()), "b (PipelineRun was stopping), c (PipelineRun was stopping)");
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/Failed: Tasks Completed: 1 (Failed: 1, Cancelled 0), Skipped: 2");
}

TEST(Scheduling, WhileOthersRunAFailedRunIsStopping) {
  Lab lab;
  lab.put(kTask);
  lab.ends = failing("run-a");
  lab.put(run_of(R"y(
    tasks:
    - {name: a, taskRef: {name: work}}
    - {name: b, taskRef: {name: work}}
)y"));
  lab.settle();
  lab.start("run-b-pod");
  lab.finish("run-a-pod");
  lab.settle();
  EXPECT_EQ(
      Lab::outcome(lab.run()),
      "Unknown/PipelineRunStopping: Tasks Completed: 1 (Failed: 1, Cancelled 0), Incomplete: 1, "
      "Skipped: 0");
}

TEST(Scheduling, ATaskCancelledDirectlyCancelsTheRun) {
  Lab lab;
  lab.put(kTask);
  lab.put(run_of("    tasks:\n    - {name: a, taskRef: {name: work}}\n"));
  lab.settle();
  lab.world.update(api::kTaskRun, {"ns", "run-a"},
                   [](Value& object) { object.member("spec").set("status", "TaskRunCancelled"); });
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/Cancelled: Tasks Completed: 1 (Failed: 0, Cancelled 1), Skipped: 0");
}

TEST(Scheduling, SkipsChildrenOfParentsSkippedWithoutGuard) {
  Lab lab;
  lab.put(kTask);
  lab.ends = [](std::string_view task_run, std::string_view) {
    return Lab::End{.message = task_run == "run-a" ? results_message({{"r", "go"}}) : ""};
  };
  lab.put(run_of(R"y(
    tasks:
    - {name: a, taskRef: {name: work}}
    - name: b
      taskRef: {name: work}
      when: [{input: "$(tasks.a.results.r)", operator: notin, values: ["go"]}]
    - {name: c, taskRef: {name: work}, params: [{name: p, value: "$(tasks.b.results.r)"}]}
    - {name: d, runAfter: [c], taskRef: {name: work}}
    - {name: e, runAfter: [b], taskRef: {name: work}}
)y"));
  lab.play();
  EXPECT_EQ(Lab::skipped(lab.run()),
            "b (When Expressions evaluated to false), c (Results were missing), "
            "d (Parent Tasks were skipped)");
  EXPECT_EQ(lab.run().status()["skippedTasks"][0]["whenExpressions"][0]["input"], Value("go"));
  EXPECT_TRUE(lab.has_task_run("run-e"));
  EXPECT_EQ(succeeded(lab.run())["reason"], Value("Completed"));
}

TEST(Scheduling, SkipsTaskWithoutResultOfIgnoredFailure) {
  Lab lab;
  lab.put(kTask);
  lab.ends = failing("run-a");
  lab.put(run_of(R"y(
    tasks:
    - {name: a, onError: continue, taskRef: {name: work}}
    - {name: b, taskRef: {name: work}, params: [{name: p, value: "$(tasks.a.results.r)"}]}
)y"));
  lab.play();
  EXPECT_EQ(Lab::skipped(lab.run()), "b (Results were missing)");
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Completed: Tasks Completed: 1 (Failed: 1 (Ignored: 1), Cancelled 0), Skipped: 1");
}

TEST(Scheduling, FinallySeesHowTheTasksEnded) {
  Lab lab;
  lab.put(kTask);
  lab.ends = failing("run-a");
  lab.put(run_of(R"y(
    tasks:
    - {name: a, taskRef: {name: work}}
    - {name: b, runAfter: [a], taskRef: {name: work}}
    finally:
    - name: f
      taskRef: {name: work}
      params: [{name: p, value: "$(tasks.status) $(tasks.a.status) $(tasks.a.reason) $(tasks.b.status)"}]
    - name: g
      taskRef: {name: work}
      when: [{input: "$(tasks.status)", operator: in, values: [Succeeded]}]
    - {name: h, taskRef: {name: work}, params: [{name: p, value: "$(tasks.b.results.r)"}]}
)y"));
  lab.play();
  EXPECT_EQ(lab.task_run("run-f").spec()["params"][0]["value"], Value("Failed Failed Failed None"));
  EXPECT_EQ(lab.task_run("run-f").label("tekton.dev/memberOf"), "finally");
  EXPECT_EQ(Lab::skipped(lab.run()),
            "b (PipelineRun was stopping), g (When Expressions evaluated to false), "
            "h (Results were missing)");
}

TEST(Scheduling, ReportsCompletedAggregateAfterSkippedTasks) {
  Lab lab;
  lab.put(kTask);
  lab.put(run_of(R"y(
    tasks:
    - {name: a, taskRef: {name: work}, when: [{input: a, operator: in, values: [b]}]}
    finally:
    - {name: f, taskRef: {name: work}, params: [{name: p, value: "$(tasks.status)"}]}
)y"));
  lab.play();
  EXPECT_EQ(lab.task_run("run-f").spec()["params"][0]["value"], Value("Completed"));
}

TEST(Scheduling, PropagatesNearestParamsIntoInlineSpecs) {
  Lab lab;
  lab.put(run_of(R"y(
    params: [{name: b, default: pipeline}]
    tasks:
    - name: t
      params: [{name: own, value: "task $(params.a)"}]
      taskSpec:
        params: [{name: own}, {name: a, default: spec}]
        steps:
        - {name: main, image: i, args: ["$(params.a)", "$(params.b)", "$(params.own)", "$(context.pipelineRun.name)"]}
)y",
                 "  params: [{name: a, value: run}, {name: own, value: outer}]\n"));
  lab.settle();
  const Value args = lab.pod("run-t-pod").spec()["containers"][0]["args"];
  EXPECT_EQ(args[0], Value("run"));
  EXPECT_EQ(args[1], Value("pipeline"));
  EXPECT_EQ(args[2], Value("task run"));
  EXPECT_EQ(args[3], Value("run"));
}

TEST(Scheduling, ValuesAreNeverRescanned) {
  Lab lab;
  lab.put(kTask);
  lab.put(run_of(R"y(
    params: [{name: a}, {name: b}]
    tasks:
    - {name: s, taskRef: {name: work}}
    - {name: t, runAfter: [s], taskRef: {name: work}, params: [{name: p, value: "$(params.a)"}]}
)y",
                 "  params: [{name: a, value: \"$(params.b)\"}, {name: b, value: secret}]\n"));
  lab.settle();
  lab.finish("run-s-pod");
  lab.settle();
  EXPECT_EQ(lab.task_run("run-t").spec()["params"][0]["value"], Value("$(params.b)"));
}

TEST(Scheduling, TimeoutsOfTaskRuns) {
  const struct {
    std::string_view profile, more, task, expected;
  } cases[] = {
      {"current", "", "", "1h0m0s"},
      {"current", "", ", timeout: 90s", "1m30s"},
      {"current", "  timeouts: {pipeline: 5h, tasks: 4h}\n", "", "4h0m0s"},
      {"current", "  timeouts: {pipeline: 0s, tasks: 0s}\n", "", "0s"},
      {"current", "  timeouts: {pipeline: 30m, tasks: 20m}\n", "", "1h0m0s"},
      {"v1.9", "  timeouts: {pipeline: 5h, tasks: 4h}\n", "", "1h0m0s"},
      {"current", "  taskRunSpecs: [{pipelineTaskName: a, timeout: 7s}]\n", ", timeout: 90s", "7s"},
  };
  for (const auto& c : cases) {
    Lab lab;
    lab.world.configure("tekton",
                        Value::object({{"run", Value::object({{"profile", c.profile}})}}));
    lab.put(kTask);
    lab.put(run_of(
        "    tasks:\n    - {name: a, taskRef: {name: work}" + std::string(c.task) + "}\n", c.more));
    lab.settle();
    EXPECT_EQ(lab.task_run("run-a").spec()["timeout"], Value(c.expected))
        << c.profile << c.more << c.task;
  }
}

TEST(Scheduling, WorkspacesReachTaskRunsAndPods) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: copy}
spec:
  workspaces: [{name: out}, {name: cfg, readOnly: true, mountPath: /cfg}, {name: opt, optional: true}]
  steps:
  - {name: main, image: i, args: ["$(workspaces.out.path)", "$(workspaces.out.claim)", "$(workspaces.opt.bound)", "[$(workspaces.opt.path)]", "$(workspaces.cfg.path)"]}
)y");
  lab.put(run_of(R"y(
    workspaces: [{name: data}, {name: config}]
    tasks:
    - {name: a, taskRef: {name: copy}, workspaces: [{name: out, workspace: data, subPath: sub}, {name: cfg, workspace: config}]}
)y",
                 "  workspaces:\n  - {name: data, subPath: top, volumeClaimTemplate: {metadata: "
                 "{name: art}, spec: {}}}\n"
                 "  - {name: config, configMap: {name: settings}}\n"));
  lab.settle();
  const Object claim = lab.world.list(api::kPersistentVolumeClaim).at(0);
  EXPECT_TRUE(claim.name().starts_with("art-"));
  const Value bindings = lab.task_run("run-a").spec()["workspaces"];
  EXPECT_EQ(bindings[0].at({"persistentVolumeClaim", "claimName"}), Value(claim.name()));
  EXPECT_EQ(bindings[0]["subPath"], Value("top/sub"));
  const Value spec = lab.pod("run-a-pod").spec();
  const Value& mounts = spec["containers"][0]["volumeMounts"];
  EXPECT_EQ(mounts[0]["mountPath"], Value("/workspace/out"));
  EXPECT_EQ(mounts[0]["subPath"], Value("top/sub"));
  EXPECT_EQ(mounts[1]["mountPath"], Value("/cfg"));
  EXPECT_TRUE(mounts[1]["readOnly"].as_bool());
  const Value& args = spec["containers"][0]["args"];
  EXPECT_EQ(args[0], Value("/workspace/out"));
  EXPECT_EQ(args[1], Value(claim.name()));
  EXPECT_EQ(args[2], Value("false"));
  EXPECT_EQ(args[3], Value("[]"));
  EXPECT_EQ(args[4], Value("/cfg"));
}

TEST(Scheduling, DeletesTemplateClaimsOnRequestOfRun) {
  Lab lab;
  lab.put(kTask);
  std::string run = run_of("    tasks:\n    - {name: a, taskRef: {name: work}}\n",
                           "  workspaces: [{name: w, volumeClaimTemplate: {spec: {}}}]\n");
  run.replace(run.find("{name: run}"), 11,
              "{name: run, annotations: {tekton.dev/auto-cleanup-pvc: \"true\"}}");
  lab.put(run);
  lab.settle();
  EXPECT_EQ(lab.world.count(api::kPersistentVolumeClaim), 1U);
  lab.play();
  EXPECT_EQ(lab.world.count(api::kPersistentVolumeClaim), 0U);
}

TEST(Scheduling, InlineSpecsWaitForPropagatedResults) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"r", "x"}, {"l", R"(["p","q"])"}})};
  };
  lab.put(run_of(R"y(
    tasks:
    - name: show
      taskSpec:
        steps: [{name: main, image: i, env: [{name: E, value: "$(tasks.make.results.r)"}], args: ["$(tasks.make.results.l[*])"]}]
    - {name: make, taskSpec: {results: [{name: r}, {name: l, type: array}], steps: [{name: main, image: i}]}}
)y"));
  lab.settle();
  EXPECT_TRUE(lab.has_task_run("run-make"));
  EXPECT_FALSE(lab.has_task_run("run-show")) << "the reference alone orders them";
  lab.play();
  const Value container = lab.pod("run-show-pod").spec()["containers"][0];
  EXPECT_EQ(container["args"], Value::list({"p", "q"}));
  EXPECT_EQ(container["env"][0]["value"], Value("x"));
  EXPECT_EQ(succeeded(lab.run())["status"], Value("True"));
}

constexpr std::string_view kOwnWorkspaces = R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: own, uid: u}
spec:
  workspaces: [{name: w, subPath: sub, volumeClaimTemplate: {metadata: {name: art}, spec: {}}}]
  podTemplate: {env: [{name: KEPT, value: a}, {name: LOCKED, value: b}]}
  taskSpec:
    workspaces: [{name: w}, {name: free}, {name: opt, optional: true}]
    steps: [{name: main, image: i, args: ["$(workspaces.w.claim)", "$(workspaces.opt.bound)"], env: [{name: LOCKED, value: own}]}]
)y";

TEST(Scheduling, TaskRunsMakeTheirClaims) {
  Lab lab;
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: config-defaults, namespace: "
      "tekton-pipelines}, data: {default-task-run-workspace-binding: '{emptyDir: {}}', "
      "default-forbidden-env: 'OTHER, LOCKED'}}");
  lab.put(kOwnWorkspaces);
  lab.settle();
  const Object claim = lab.world.list(api::kPersistentVolumeClaim).at(0);
  EXPECT_TRUE(claim.name().starts_with("art-")) << claim.name();
  EXPECT_TRUE(claim.owned_by(lab.task_run("own").uid()));
  const Value spec = lab.pod("own-pod").spec();
  const Value& container = spec["containers"][0];
  EXPECT_EQ(container["args"], Value::list({claim.name(), "false"}));
  EXPECT_EQ(container["volumeMounts"][0]["subPath"], Value("sub"));
  EXPECT_EQ(spec["volumes"][0].at({"persistentVolumeClaim", "claimName"}), Value(claim.name()));
  EXPECT_TRUE(spec["volumes"][1]["emptyDir"].is_object()) << "bound by default";
  EXPECT_EQ(spec["volumes"].size(), 2U) << "an optional one is not";
  EXPECT_EQ(json::print(container["env"]),
            R"([{"name":"LOCKED","value":"own"},{"name":"KEPT","value":"a"}])");
}

TEST(Scheduling, TaskRunsWithoutDefaultBindingFail) {
  Lab lab;
  lab.put(kOwnWorkspaces);
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("own")),
            "False/TaskRunValidationFailed: declared workspace \"free\" is required but has not "
            "been bound");
  EXPECT_EQ(lab.world.count(api::kPersistentVolumeClaim), 0U);
}

TEST(Scheduling, RefusedClaimsFailTheirTaskRun) {
  Lab lab;
  lab.world.fault = [](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return create != nullptr && create->target.kind == &api::kPersistentVolumeClaim
               ? std::optional(Error::bad_request("not here"))
               : std::nullopt;
  };
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: own}, spec: {workspaces: "
      "[{name: "
      "w, volumeClaimTemplate: {spec: {}}}], taskSpec: {workspaces: [{name: w}], steps: [{name: a, "
      "image: i}]}}}");
  lab.settle();
  EXPECT_TRUE(Lab::outcome(lab.task_run("own"))
                  .starts_with("False/CouldntCreateWorkspacePVC: failed to create PVC for TaskRun "
                               "ns/own workspaces correctly: "));
  EXPECT_FALSE(lab.has_pod("own-pod"));
}

TEST(Scheduling, FailsRunWithoutItsPipelineResult) {
  Lab lab;
  lab.put(kTask);
  lab.put(
      run_of("    tasks:\n    - {name: a, taskRef: {name: work}}\n"
             "    results: [{name: out, value: \"$(tasks.a.results.r)\"}]\n"));
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/CouldntGetPipelineResult: Failed to get PipelineResult from TaskRun Results for "
            "PipelineRun run: invalid pipelineresults [out], the referenced results don't exist");
}

TEST(Scheduling, SettingsOfConfigDefaultsHold) {
  Lab lab;
  lab.put(R"y(
apiVersion: v1
kind: ConfigMap
metadata: {name: config-defaults, namespace: tekton-pipelines}
data: {default-timeout-minutes: "5940", default-service-account: runner}
)y");
  lab.put(kTask);
  lab.put(run_of("    tasks:\n    - {name: a, taskRef: {name: work}}\n",
                 "  timeouts: {pipeline: 100h}\n"));
  lab.settle();
  EXPECT_EQ(lab.task_run("run-a").spec()["timeout"], Value("99h0m0s"));
}

}  // namespace
}  // namespace athanor::tekton::scheduling_test
