// SPDX-License-Identifier: Apache-2.0
// TaskRuns: the conditions of docs/spec/tekton.md 10.4, steps 10.2, results 10.3, stopping and
// retrying 8.7, 8.8.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::taskrun_test {
namespace {

using std::chrono::seconds;

constexpr std::string_view kTwoSteps = R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  taskSpec:
    results: [{name: s}, {name: l, type: array}]
    steps:
    - {name: one, image: "i:1", script: "echo one"}
    - {image: i, command: [two], onError: continue, timeout: 10s}
)y";

TEST(TaskRunPod, CarriesTheStepsForTheNode) {
  Lab lab;
  lab.put(kTwoSteps);
  lab.settle();
  const Object pod = lab.pod("tr-pod");
  EXPECT_EQ(json::parse(pod.annotation("athanor.dev/steps")).value(), json::parse(R"y([
      {"container":"step-one","script":"#!/bin/sh\nset -e\necho one","results":["s","l"]},
      {"container":"step-unnamed-1","results":["s","l"],"onError":"continue","timeout":"10s"}])y")
                                                                          .value());
  const Value& spec = pod.spec();
  EXPECT_EQ(spec["restartPolicy"], Value("Never"));
  EXPECT_EQ(spec["serviceAccountName"], Value("default"));
  EXPECT_EQ(spec["activeDeadlineSeconds"], Value(5400));
  EXPECT_EQ(spec["containers"][1]["name"], Value("step-unnamed-1"));
  EXPECT_EQ(spec["containers"][1]["command"], json::parse(R"y(["two"])y").value());
  EXPECT_EQ(pod.controller()->kind, "TaskRun");
}

TEST(TaskRunPod, TakesTheTemplateAndTheResources) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  params: [{name: node, value: n1}]
  timeout: 0s
  podTemplate:
    nodeSelector: {kubernetes.io/hostname: "$(params.node)"}
    env: [{name: A, value: pod}]
    volumes: [{name: vault-secrets, projected: {sources: []}}]
  stepSpecs: [{name: one, computeResources: {limits: {cpu: "2"}}}]
  taskSpec:
    params: [{name: node}]
    stepTemplate:
      image: base
      env: [{name: A, value: template}, {name: B, value: template}]
      securityContext: {runAsUser: 1, runAsGroup: 2}
    steps:
    - name: one
      computeResources: {limits: {cpu: "1"}}
      env: [{name: B, value: step}]
      securityContext: {runAsUser: 5}
      volumeMounts: [{name: vault-secrets, mountPath: /secrets}]
)y");
  lab.settle();
  const Value& spec = lab.pod("tr-pod").spec();
  EXPECT_EQ(spec["nodeSelector"]["kubernetes.io/hostname"], Value("n1"));
  EXPECT_EQ(spec["activeDeadlineSeconds"], Value(2147483647));
  EXPECT_EQ(spec["volumes"][0]["name"], Value("vault-secrets"));
  const Value& container = spec["containers"][0];
  EXPECT_EQ(container["image"], Value("base"));
  EXPECT_EQ(container["env"],
            json::parse(R"y([{"name":"A","value":"pod"},{"name":"B","value":"step"}])y").value());
  EXPECT_EQ(container["securityContext"],
            json::parse(R"y({"runAsUser":5,"runAsGroup":2})y").value());
  EXPECT_EQ(container["resources"]["limits"]["cpu"], Value("2"));
}

TEST(TaskRunPod, IsolatedWorkspacesReachOnlyTheirSteps) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  workspaces: [{name: w, emptyDir: {}}, {name: open, emptyDir: {}}]
  taskSpec:
    workspaces: [{name: w}, {name: open}]
    steps:
    - {name: a, image: i, args: ["$(workspaces.w.path)"], workspaces: [{name: w, mountPath: /mine}]}
    - {name: b, image: i}
)y");
  lab.settle();
  const Value& containers = lab.pod("tr-pod").spec()["containers"];
  EXPECT_EQ(containers[0]["volumeMounts"].size(), 2U);
  EXPECT_EQ(containers[0]["volumeMounts"][0]["mountPath"], Value("/mine"));
  EXPECT_EQ(containers[0]["args"][0], Value("/mine"));
  EXPECT_EQ(containers[1]["volumeMounts"].size(), 1U);
  EXPECT_EQ(containers[1]["volumeMounts"][0]["mountPath"], Value("/workspace/open"));
}

struct PodRow {
  std::string status{};
  std::string outcome{};
};

TEST(TaskRunConditions, FollowThePod) {
  const PodRow rows[] = {
      {"{phase: Pending}", "Unknown/Pending: Pending"},
      {"{phase: Pending, message: slow}", "Unknown/Pending: slow"},
      {"{phase: Pending, conditions: [{type: PodScheduled, status: 'True'}, {type: Ready, status: "
       "'False', message: not yet}]}",
       "Unknown/Pending: pod status \"Ready\":\"False\"; message: \"not yet\""},
      {"{phase: Pending, containerStatuses: [{name: step-one, state: {waiting: {reason: X, "
       "message: why}}}]}",
       "Unknown/Pending: build step \"step-one\" is pending with reason \"why\""},
      {"{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
       "message: '0/1 nodes: Insufficient cpu'}]}",
       "Unknown/ExceededNodeResources: TaskRun Pod exceeded available resources"},
      {"{phase: Running}", "Unknown/Running: Not all Steps in the Task have finished executing"},
      {"{phase: Succeeded}", "True/Succeeded: All Steps have completed executing"},
      {"{phase: Running, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 0, "
       "reason: Completed}}}, {name: step-unnamed-1, state: {terminated: {exitCode: 0, reason: "
       "Completed}}}]}",
       "True/Succeeded: All Steps have completed executing"},
      {"{phase: Failed}", "False/Failed: build failed for unspecified reasons."},
      {"{phase: Failed, reason: Evicted, message: out of disk}", "False/Failed: out of disk"},
      {"{phase: Failed, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 137, "
       "reason: OOMKilled}}}, {name: step-unnamed-1, state: {terminated: {exitCode: 1, reason: "
       "Skipped}}}]}",
       "False/Failed: \"step-one\" exited with code 137: OOMKilled"},
      {"{phase: Failed, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 3}}}]}",
       "False/Failed: \"step-one\" exited with code 3: Error"},
      {"{phase: Failed, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 1, "
       "reason: TimeoutExceeded}}}]}",
       "False/Failed: \"step-one\" exited because the step exceeded the specified timeout limit"},
      {"{phase: Pending, containerStatuses: [{name: step-one, imageID: 'i:1', state: {waiting: "
       "{reason: ImagePullBackOff, message: no such image}}}]}",
       "False/TaskRunImagePullFailed: the step \"one\" in TaskRun \"tr\" failed to pull the image "
       "\"i:1\". The pod errored with the message: \"no such image.\""},
      {"{phase: Pending, containerStatuses: [{name: step-one, state: {waiting: {reason: "
       "CreateContainerConfigError}}}]}",
       "False/CreateContainerConfigError: Failed to create pod due to config error"},
      {"{phase: Pending, containerStatuses: [{name: step-one, state: {waiting: {reason: "
       "CreateContainerConfigError, message: secret \"s\" not found}}}]}",
       "False/CreateContainerConfigError: the step \"one\" in TaskRun \"tr\" failed to start. The "
       "pod errored with the message: \"secret \"s\" not found.\""},
  };
  for (const PodRow& row : rows) {
    Lab lab;
    lab.put(kTwoSteps);
    lab.settle();
    lab.set_pod_status("tr-pod", row.status);
    lab.advance(seconds(3));
    EXPECT_EQ(Lab::outcome(lab.task_run("tr")), row.outcome) << row.status;
  }
}

TEST(TaskRunConditions, ProfileCurrentHasPreciseReasons) {
  const PodRow rows[] = {
      {"{phase: Failed, reason: Evicted, message: out of disk}", "PodEvicted"},
      {"{phase: Failed, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 137, "
       "reason: OOMKilled}}}]}",
       "StepOOM"},
      {"{phase: Failed, containerStatuses: [{name: step-one, state: {terminated: {exitCode: 3, "
       "reason: Error}}}]}",
       "StepFailed"},
  };
  for (const PodRow& row : rows) {
    Lab lab;
    lab.world.configure("tekton",
                        Value::object({{"run", Value::object({{"profile", "current"}})}}));
    lab.put(kTwoSteps);
    lab.settle();
    lab.set_pod_status("tr-pod", row.status);
    lab.settle();
    EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value(row.outcome));
  }
}

TEST(TaskRunConditions, WritesNoStatusForShortWait) {
  Lab lab;
  lab.put(kTwoSteps);
  lab.settle();
  EXPECT_EQ(lab.status_writes(), 0);
  lab.start("tr-pod");
  lab.settle();
  EXPECT_EQ(lab.status_writes(), 1);
  EXPECT_EQ(lab.world.event_count("Started", "tr"), 1);
}

TEST(TaskRunConditions, ReportReasonsAgainstMakingThePod) {
  const struct {
    std::string_view spec, outcome;
  } rows[] = {
      {"  taskRef: {name: gone}\n",
       "False/TaskRunResolutionFailed: error when listing tasks for taskRun tr: tasks.tekton.dev "
       "\"gone\" not found"},
      {"  serviceAccountName: robot\n  taskSpec: {steps: [{image: i}]}\n",
       "False/PodCreationFailed: failed to create task run pod \"tr\": translating TaskSpec to "
       "Pod: serviceaccounts \"robot\" not found. Maybe invalid TaskSpec"},
      {"  podTemplate: {volumes: [{name: v, emptyDir: {}}]}\n  taskSpec: {volumes: [{name: v, "
       "emptyDir: {}}], steps: [{image: i}]}\n",
       "False/PodCreationFailed: failed to create task run pod \"tr\": translating TaskSpec to "
       "Pod: multiple volumes with same name \"v\". Maybe invalid TaskSpec"},
      {"  taskSpec: {params: [{name: a}], steps: [{image: i}]}\n",
       "False/TaskRunValidationFailed: [User error] invalid input params for task tr: missing "
       "values for these params which have no default values: [a]"},
      {"  taskSpec: {workspaces: [{name: w}], steps: [{image: i}]}\n",
       "False/TaskRunValidationFailed: declared workspace \"w\" is required but has not been "
       "bound"},
      {"  workspaces: [{name: x, emptyDir: {}}]\n  taskSpec: {steps: [{image: i}]}\n",
       "False/TaskRunValidationFailed: workspace binding \"x\" does not match any declared "
       "workspace"},
      {"  status: TaskRunPending\n  taskSpec: {steps: [{image: i}]}\n",
       "Unknown/TaskRunPending: TaskRun \"tr\" is pending"},
  };
  for (const auto& row : rows) {
    Lab lab;
    lab.put("apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: tr}\nspec:\n" +
            std::string(row.spec));
    lab.settle();
    EXPECT_EQ(Lab::outcome(lab.task_run("tr")), row.outcome);
    EXPECT_EQ(lab.world.count(api::kPod), 0U);
  }
}

TEST(TaskRunConditions, FailsRefusedPodAndRetriesQuota) {
  Lab lab;
  std::string answer = "pods \"tr-pod\" is forbidden: violates PodSecurity \"restricted\"";
  lab.world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    if (create != nullptr && create->target.kind == &api::kPod && !answer.empty()) {
      return Error{.code = 403, .reason = "Forbidden", .message = answer};
    }
    return std::nullopt;
  };
  lab.put(kTwoSteps);
  lab.settle();
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("PodAdmissionFailed"));
  lab.world.remove(api::kTaskRun, {"ns", "tr"});
  answer = "pods \"tr-pod\" is forbidden: exceeded quota: q";
  lab.put(kTwoSteps);
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "Unknown/ExceededResourceQuota: TaskRun Pod exceeded available resources: " + answer);
  answer.clear();
  lab.advance(seconds(30));
  EXPECT_FALSE(lab.has_pod("tr-pod"));
  lab.advance(seconds(31));
  EXPECT_TRUE(lab.has_pod("tr-pod"));
}

TEST(TaskRunSteps, ShowHowEachEnded) {
  Lab lab;
  lab.put(kTwoSteps);
  lab.settle();
  lab.set_pod_status("tr-pod", R"y(
phase: Succeeded
containerStatuses:
- name: step-one
  imageID: i@sha256:1
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-01-05T00:00:00Z", finishedAt: "2026-01-05T00:00:09Z",
    message: '[{"key":"s","value":"first\n","type":1},{"key":"StartedAt","value":"2026-01-05T00:00:03Z","type":3},{"key":"zz","value":"x","type":1}]'}}
- name: step-unnamed-1
  state: {terminated: {exitCode: 0, reason: Completed,
    message: '[{"key":"l","value":"[\"a\",\"b\"]","type":1},{"key":"s","value":"last","type":1},{"key":"ExitCode","value":"3","type":3}]'}}
)y");
  lab.settle();
  const Value& status = lab.task_run("tr").status();
  const Value& one = status["steps"][0];
  EXPECT_EQ(one["name"], Value("one"));
  EXPECT_EQ(one["container"], Value("step-one"));
  EXPECT_EQ(one["imageID"], Value("i@sha256:1"));
  EXPECT_EQ(one["terminated"]["startedAt"], Value("2026-01-05T00:00:03Z"));
  EXPECT_EQ(one["terminationReason"], Value("Completed"));
  const Value& two = status["steps"][1];
  EXPECT_EQ(two["name"], Value("unnamed-1"));
  EXPECT_EQ(two["terminated"]["exitCode"], Value(3));
  EXPECT_EQ(two["terminationReason"], Value("Continued"));
  EXPECT_EQ(status["results"], json::parse(R"y([{"name":"s","type":"string","value":"last"},
                                              {"name":"l","type":"array","value":["a","b"]}])y")
                                   .value());
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("Succeeded"));
}

TEST(TaskRunSteps, AResultOfTheWrongTypeFails) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"l", "text"}})};
  };
  lab.put(kTwoSteps);
  lab.play();
  EXPECT_EQ(
      Lab::outcome(lab.task_run("tr")),
      "False/TaskRunValidationFailed: [User error] Provided results don't match declared results; "
      "may be invalid JSON or missing result declaration:  \"l\": task result is expected to be "
      "\"array\" type but was initialized to a different type \"string\"");
}

TEST(TaskRunSteps, AResultThatIsTooLargeFails) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"s", std::string(5000, 'x')}})};
  };
  lab.put(kTwoSteps);
  lab.play();
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("TaskRunResultLargerThanAllowedLimit"));
}

TEST(TaskRunStop, EndsAttemptAndRemovesPodAtTimeout) {
  Lab lab;
  lab.put(std::string(kTwoSteps) + "  timeout: 5s\n");
  lab.settle();
  lab.start("tr-pod");
  lab.advance(seconds(4));
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("Running"));
  lab.advance(seconds(2));
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "False/TaskRunTimeout: TaskRun \"tr\" failed to finish within \"5s\"");
  EXPECT_FALSE(lab.has_pod("tr-pod"));
  EXPECT_EQ(lab.task_run("tr").status()["steps"][0]["terminationReason"], Value("TaskRunTimeout"));
}

TEST(TaskRunStop, RetriesApplyToTimeoutsAndNotToCancels) {
  Lab lab;
  lab.put(std::string(kTwoSteps) + "  timeout: 5s\n  retries: 1\n");
  lab.settle();
  lab.start("tr-pod");
  lab.advance(seconds(6));
  EXPECT_TRUE(lab.has_pod("tr-pod-retry1"));
  EXPECT_FALSE(lab.has_pod("tr-pod"));
  lab.world.update(api::kTaskRun, {"ns", "tr"},
                   [](Value& object) { object.member("spec").set("status", "TaskRunCancelled"); });
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "False/TaskRunCancelled: TaskRun \"tr\" was cancelled. ");
  EXPECT_EQ(lab.task_run("tr").status()["retriesStatus"].size(), 1U);
  EXPECT_FALSE(lab.has_pod("tr-pod-retry1"));
}

TEST(TaskRunStop, AWaitingAttemptSaysThatItIsRetried) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) { return Lab::End{.exit_code = 1}; };
  lab.put(std::string(kTwoSteps) + "  retries: 1\n");
  lab.settle();
  lab.finish("tr-pod");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "Unknown/ToBeRetried: \"step-one\" exited with code 1: Error");
  EXPECT_FALSE(lab.task_run("tr").status().contains("startTime"));
  EXPECT_FALSE(lab.task_run("tr").status().contains("podName"));
}

TEST(TaskRunStop, RemovesPodLeftByCrash) {
  Lab lab;
  lab.put(std::string(kTwoSteps) + "  status: TaskRunCancelled\n");
  lab.settle();
  EXPECT_EQ(succeeded(lab.task_run("tr"))["reason"], Value("TaskRunCancelled"));
  lab.put(R"y(
apiVersion: v1
kind: Pod
metadata:
  name: tr-pod
  ownerReferences: [{apiVersion: tekton.dev/v1, kind: TaskRun, name: tr, uid: UID, controller: true}]
spec: {containers: []}
)y");
  lab.world.update(api::kPod, {"ns", "tr-pod"}, [&](Value& object) {
    object.member("metadata")
        .member("ownerReferences")
        .item(0)
        .set("uid", lab.task_run("tr").uid());
  });
  lab.world.restart();
  lab.settle();
  EXPECT_FALSE(lab.has_pod("tr-pod"));
}

}  // namespace
}  // namespace athanor::tekton::taskrun_test
