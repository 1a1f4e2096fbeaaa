// SPDX-License-Identifier: Apache-2.0
// What a TaskRun's pod takes from elsewhere: StepActions, workspaces of sidecars, credentials of
// the service account (docs/spec/tekton.md 3.4, 9, 11).
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::pod_parts_test {
namespace {

Value parsed(std::string_view text) {
  return yaml::parse(text).value();
}

TEST(StepActions, TakeListsAndObjectsOfTheTask) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1beta1
kind: StepAction
metadata: {name: act}
spec:
  image: i
  params:
  - {name: words, type: array}
  - {name: where, type: object, properties: {host: {}, port: {}}, default: {port: "22"}}
  - {name: plain, default: "$(params.words[0])"}
  args: ["$(params.words[*])", "$(params.where.host):$(params.where.port)", "$(params.plain)"]
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  params: [{name: list, value: [a, b]}, {name: host, value: h}]
  taskSpec:
    params: [{name: list, type: array}, {name: host}]
    steps:
    - name: s
      ref: {name: act}
      params:
      - {name: words, value: ["$(params.list[*])", c]}
      - {name: where, value: {host: "$(params.host)"}}
)y");
  lab.settle();
  ASSERT_TRUE(lab.has_pod("tr-pod")) << Lab::outcome(lab.task_run("tr"));
  EXPECT_EQ(lab.pod("tr-pod").spec()["containers"][0]["args"], parsed("[a, b, c, 'h:22', a]"));
}

TEST(StepActions, HandOnResultsOfEarlierSteps) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1beta1
kind: StepAction
metadata: {name: act}
spec:
  image: i
  params: [{name: words, type: array}, {name: where, type: object, properties: {host: {}}}, {name: one}]
  args: ["$(params.words[*])", "$(params.words[1])", "$(params.where.host)", "$(params.one)"]
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  taskSpec:
    steps:
    - {name: s, image: i, results: [{name: l, type: array}, {name: o, type: object, properties: {host: {}}}, {name: t}]}
    - name: next
      ref: {name: act}
      params:
      - {name: words, value: "$(steps.s.results.l[*])"}
      - {name: where, value: "$(steps.s.results.o[*])"}
      - {name: one, value: "$(steps.s.results.t)"}
)y");
  lab.settle();
  ASSERT_TRUE(lab.has_pod("tr-pod")) << Lab::outcome(lab.task_run("tr"));
  EXPECT_EQ(lab.pod("tr-pod").spec()["containers"][1]["args"],
            parsed("['$(steps.s.results.l[*])', '$(steps.s.results.l[1])', "
                   "'$(steps.s.results.o.host)', '$(steps.s.results.t)']"));
}

TEST(StepActions, RefuseParamsOfAnotherType) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1beta1
kind: StepAction
metadata: {name: act}
spec: {image: i, params: [{name: words, type: array}]}
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  taskSpec: {steps: [{name: s, ref: {name: act}, params: [{name: words, value: one}]}]}
)y");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.task_run("tr")),
            "False/TaskRunValidationFailed: [User error] invalid input params for step \"s\": "
            "param types don't match the user-specified type: [words]");
}

TEST(Sidecars, MountWorkspacesWhereTheySay) {
  Lab lab;
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  workspaces:
  - {name: shared, persistentVolumeClaim: {claimName: c}}
  - {name: again, persistentVolumeClaim: {claimName: c}, subPath: x}
  - {name: own, emptyDir: {}}
  taskSpec:
    workspaces: [{name: shared}, {name: again}, {name: own}]
    steps: [{name: main, image: i, args: ["$(workspaces.again.volume)"]}]
    sidecars:
    - name: side
      image: i
      args: ["$(workspaces.own.path)"]
      volumeMounts: [{name: "$(workspaces.shared.volume)", mountPath: "$(workspaces.shared.path)"}]
      workspaces: [{name: own, mountPath: /elsewhere}]
)y");
  lab.settle();
  const Value& containers = lab.pod("tr-pod").spec()["containers"];
  const std::string volume = containers[0]["volumeMounts"][0]["name"].str();
  EXPECT_EQ(containers[0]["args"][0], Value(volume));
  EXPECT_EQ(containers[0]["volumeMounts"].size(), 2U);
  EXPECT_EQ(containers[1]["args"][0], Value("/elsewhere"));
  std::vector<std::string> mounts;
  for (const Value& mount : containers[1]["volumeMounts"].items()) {
    mounts.push_back(mount["mountPath"].str());
  }
  EXPECT_EQ(mounts,
            (std::vector<std::string>{"/workspace/shared", "/workspace/again", "/elsewhere"}));
}

constexpr std::string_view kAccount = R"y(
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
secrets: [{name: forge}, {name: registry}, {name: plain}, {name: gone}]
---
apiVersion: v1
kind: Secret
type: kubernetes.io/basic-auth
metadata: {name: forge, annotations: {tekton.dev/git-0: https://forge.example.com, tekton.dev/docker-0: https://images.example.com}}
data: {username: YW5u, password: cHc=}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/dockerconfigjson
metadata: {name: registry}
---
apiVersion: v1
kind: Secret
type: Opaque
metadata: {name: plain, annotations: {tekton.dev/git-0: https://other.example.com}}
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: tr}
spec:
  serviceAccountName: robot
  taskSpec:
    steps: [{name: main, image: i}]
    sidecars: [{name: side, image: i}]
)y";

TEST(Credentials, ReachStepsAlone) {
  Lab lab;
  lab.put(kAccount);
  lab.settle();
  const Object pod = lab.pod("tr-pod");
  EXPECT_EQ(json::parse(pod.annotation("athanor.dev/credentials")).value(),
            parsed("[{secret: forge, git: [https://forge.example.com], docker: "
                   "[https://images.example.com]}, {secret: registry}]"));
  const Value& containers = pod.spec()["containers"];
  ASSERT_EQ(containers[0]["volumeMounts"].size(), 2U);
  EXPECT_EQ(containers[0]["volumeMounts"][0]["mountPath"], Value("/tekton/creds-secrets/forge"));
  EXPECT_TRUE(containers[1]["volumeMounts"].empty());
  EXPECT_EQ(lab.world.event_count("FailedToRetrieveSecret", "tr"), 1);
}

TEST(Credentials, StayAwayWhenTheFlagDisablesThem) {
  Lab lab;
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: "
      "tekton-pipelines}, data: {disable-creds-init: 'true'}}");
  lab.put(kAccount);
  lab.settle();
  EXPECT_TRUE(lab.pod("tr-pod").annotation("athanor.dev/credentials").empty());
  EXPECT_TRUE(lab.pod("tr-pod").spec()["volumes"].empty());
}

}  // namespace
}  // namespace athanor::tekton::pod_parts_test
