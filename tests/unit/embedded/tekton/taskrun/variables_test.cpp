// SPDX-License-Identifier: Apache-2.0
// A table of a task's variables and of fields that take variables: each in each, written there and
// in a param's value (docs/spec/tekton.md 6).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kube/text/json.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::variables_test {
namespace {

struct Case {
  std::string_view variable, value;
};

constexpr Case kVariables[] = {
    {"params.plain", "text"},
    {"params['plain']", "text"},
    {"params.many[1]", "b"},
    {"params.map.key", "deep"},
    {"inputs.params.plain", "text"},
    {"context.taskRun.name", "tr"},
    {"context.taskRun.namespace", "ns"},
    {"context.task.name", "tr"},
    {"context.task.retry-count", "0"},
    {"results.r.path", "/tekton/results/r"},
    {"credentials.path", "/tekton/creds"},
    {"steps.step-first.exitCode.path", "/tekton/steps/step-first/exitCode"},
    {"steps.first.exitCode.path", "/tekton/steps/step-first/exitCode"},
    {"steps.step-unnamed-1.exitCode.path", "/tekton/steps/step-unnamed-1/exitCode"},
    {"workspaces.w.path", "/workspace/w"},
    {"workspaces.w.bound", "true"},
};

// The pod of a TaskRun that has `text` in every field, and `via` as the value of a param.
std::string pod_with(std::string_view text, std::string_view via) {
  Lab lab;
  lab.put(fmt::format(R"y(
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {{name: tr}}
spec:
  params: [{{name: via, value: "{1}"}}]
  workspaces: [{{name: w, emptyDir: {{}}}}]
  taskSpec:
    params:
    - {{name: via}}
    - {{name: plain, default: text}}
    - {{name: many, type: array, default: [a, b]}}
    - {{name: map, type: object, properties: {{key: {{}}}}, default: {{key: deep}}}}
    results: [{{name: r}}]
    workspaces: [{{name: w}}]
    volumes: [{{name: v, configMap: {{name: "{0}"}}}}]
    steps:
    - name: first
      image: "{0}"
      command: ["{0}"]
      args: ["{0}", "x {0} y"]
      workingDir: "{0}"
      env: [{{name: E, value: "{0}"}}]
      volumeMounts: [{{name: v, mountPath: /v, subPath: "{0}"}}]
    - {{image: i, script: "echo {0}"}}
    sidecars: [{{name: side, image: "{0}", args: ["{0}"], env: [{{name: E, value: "{0}"}}]}}]
)y",
                      text, via));
  lab.settle();
  if (!lab.has_pod("tr-pod")) {
    return Lab::outcome(lab.task_run("tr"));
  }
  const Object pod = lab.pod("tr-pod");
  return json::print(pod.spec()) + std::string(pod.annotation("athanor.dev/steps"));
}

std::string of(std::string_view variable) {
  return "$(" + std::string(variable) + ")";
}

TEST(TaskVariables, ReachEveryField) {
  for (const Case& c : kVariables) {
    EXPECT_EQ(pod_with(of(c.variable), "none"), pod_with(c.value, "none")) << c.variable;
  }
}

TEST(TaskVariables, ReachEveryFieldThroughParams) {
  for (const Case& c : kVariables) {
    if (c.variable.find("params") != std::string_view::npos) {
      continue;  // a stage never sees its own values again
    }
    EXPECT_EQ(pod_with("$(params.via)", of(c.variable)), pod_with(c.value, of(c.variable)))
        << c.variable;
  }
}

TEST(TaskVariables, StayWhenUnknown) {
  EXPECT_NE(pod_with("$(results.other)", "none").find("$(results.other)"), std::string::npos);
}

}  // namespace
}  // namespace athanor::tekton::variables_test
