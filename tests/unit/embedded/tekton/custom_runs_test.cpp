// SPDX-License-Identifier: Apache-2.0
// Pipeline tasks that another controller carries out: CustomRuns (docs/spec/tekton.md 1).
#include <gtest/gtest.h>

#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::custom_runs_test {
namespace {

constexpr std::string_view kRun = R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run, uid: of-run}
spec:
  params: [{name: long, value: 5s}]
  pipelineSpec:
    params: [{name: long}]
    tasks:
    - name: wait
      retries: 2
      timeout: 10m
      params: [{name: duration, value: "$(params.long)"}]
      taskRef: {apiVersion: example.dev/v1, kind: Wait, name: short}
    - name: inline
      taskSpec: {apiVersion: example.dev/v1, kind: Loop, metadata: {labels: {a: b}}, spec: {mountpath: kept}}
    - name: after
      params: [{name: p, value: "$(tasks.wait.results.took)"}]
      taskSpec: {params: [{name: p}], steps: [{name: s, image: i, args: ["$(params.p)"]}]}
    results: [{name: took, value: "$(tasks.wait.results.took)"}]
)y";

class CustomRuns : public testing::Test {
 protected:
  [[nodiscard]] Object custom(const std::string& name) const {
    return lab.world.must(api::kCustomRun, {"ns", name});
  }
  void end(const std::string& name, std::string_view status, std::string_view more = "{}") {
    lab.world.update(api::kCustomRun, {"ns", name}, [&](Value& object) {
      Value body = yaml::parse(more).value();
      body.set("conditions", Value::list({Value::object({{"type", "Succeeded"},
                                                         {"status", status},
                                                         {"reason", "Done"},
                                                         {"message", "by itself"}})}));
      object.set("status", body);
    });
    lab.settle();
  }
  Lab lab{};
};

TEST_F(CustomRuns, CarrySettingsForTheirController) {
  lab.put(kRun);
  lab.settle();
  EXPECT_EQ(custom("run-wait").spec(),
            yaml::parse("{customRef: {apiVersion: example.dev/v1, kind: Wait, name: short}, "
                        "params: [{name: duration, value: 5s}], serviceAccountName: default, "
                        "retries: 2, timeout: 10m0s}")
                .value());
  EXPECT_EQ(custom("run-inline").spec()["customSpec"],
            yaml::parse("{apiVersion: example.dev/v1, kind: Loop, metadata: {labels: {a: b}}, "
                        "spec: {mountpath: kept}}")
                .value());
  EXPECT_EQ(custom("run-wait").label(kPipelineTaskLabel), "wait");
  EXPECT_TRUE(custom("run-wait").owned_by("of-run"));
  const Value& child = lab.run().status()["childReferences"][0];
  EXPECT_EQ(child["kind"], Value("CustomRun"));
  EXPECT_EQ(child["apiVersion"], Value("tekton.dev/v1beta1"));
}

TEST_F(CustomRuns, HandOverTheirResults) {
  lab.put(kRun);
  lab.settle();
  end("run-inline", "True");
  end("run-wait", "True", "{results: [{name: took, value: 5s}]}");
  EXPECT_EQ(lab.pod("run-after-pod").spec()["containers"][0]["args"][0], Value("5s"));
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 3 (Failed: 0, Cancelled 0), Skipped: 0");
  EXPECT_EQ(lab.run().status()["results"][0]["value"], Value("5s"));
}

TEST_F(CustomRuns, FailTheirRun) {
  lab.put(kRun);
  lab.settle();
  end("run-inline", "True");
  end("run-wait", "False");
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/Failed: Tasks Completed: 2 (Failed: 1, Cancelled 0), Skipped: 1");
}

TEST_F(CustomRuns, AreAskedToStop) {
  lab.put(kRun);
  lab.settle();
  lab.cancel("run", "CancelledRunFinally");
  lab.settle();
  EXPECT_EQ(custom("run-wait").spec()["status"], Value("RunCancelled"));
  EXPECT_EQ(custom("run-wait").spec()["statusMessage"], Value(kCustomCancelledWithRun));
  end("run-wait", "False");
  end("run-inline", "False");
  EXPECT_EQ(Lab::outcome(lab.run()), "False/Cancelled: PipelineRun \"run\" was cancelled");
}

TEST_F(CustomRuns, AreAskedToStopAfterTheirTimeout) {
  lab.put(kRun);
  lab.settle();
  lab.advance(std::chrono::minutes(11));
  EXPECT_EQ(custom("run-wait").spec()["status"], Value("RunCancelled"));
  EXPECT_EQ(custom("run-wait").spec()["statusMessage"], Value(kCustomTimedOutWithRun));
  EXPECT_TRUE(custom("run-inline").spec()["status"].is_null());
}

TEST_F(CustomRuns, NeedAVersionAndAKind) {
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: "
      "{tasks: [{name: a, taskRef: {kind: Wait, name: short}}]}}}");
  lab.settle();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "False/PipelineValidationFailed: [User error] Pipeline ns/run can't be Run; it has an "
            "invalid spec: invalid value: custom task ref must specify apiVersion: "
            "tasks[0].taskRef.apiVersion");
}

}  // namespace
}  // namespace athanor::tekton::custom_runs_test
