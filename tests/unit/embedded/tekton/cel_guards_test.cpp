// SPDX-License-Identifier: Apache-2.0
// When expressions in CEL, behind the flag enable-cel-in-whenexpression (docs/spec/tekton.md
// 1, 5.2).
#include <gtest/gtest.h>

#include <string>

#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/validation/validation.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::cel_guards_test {
namespace {

// The outcome of a run whose task b has this guard; a returns the result r = "x".
std::string outcome_with(const std::string& guard) {
  Lab lab;
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: "
      "tekton-pipelines}, data: {enable-cel-in-whenexpression: 'true'}}");
  lab.ends = [](std::string_view, std::string_view) {
    return Lab::End{.message = results_message({{"r", "x"}})};
  };
  lab.put(R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  params: [{name: p, value: main}]
  pipelineSpec:
    params: [{name: p}]
    tasks:
    - {name: a, taskSpec: {results: [{name: r}], steps: [{name: s, image: i}]}}
    - name: b
      when: [{cel: ")y" +
          guard + R"y("}]
      taskSpec: {steps: [{name: s, image: i}]}
)y");
  lab.play();
  return Lab::outcome(lab.run()) + " " + Lab::skipped(lab.run());
}

TEST(CelGuards, DecideWithParamsAndResults) {
  EXPECT_EQ(outcome_with("'$(params.p)' in ['main', 'next'] && '$(tasks.a.results.r)' == 'x'"),
            "True/Succeeded: Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 0 ");
  EXPECT_EQ(outcome_with("'$(tasks.a.results.r)'.startsWith('y')"),
            "True/Completed: Tasks Completed: 1 (Failed: 0, Cancelled 0), Skipped: 1 b (When "
            "Expressions evaluated to false)");
}

TEST(CelGuards, FailTheirTaskWithoutAnAnswer) {
  EXPECT_EQ(outcome_with("size('$(params.p)')"),
            "False/PipelineValidationFailed: Tasks Completed: 0 (Failed: 0, Cancelled 0), Skipped: "
            "1, Failed Validation: 1 (CEL expression size('main'): is not evaluated to a boolean) "
            "a (PipelineRun was stopping)");
}

std::string errors_of(const std::string& guard, bool flag, bool of_step = false) {
  Settings settings;
  settings.cel_when = flag;
  const std::string when = "when: [{" + guard + "}]";
  const std::string step = "steps: [{image: i" + (of_step ? ", " + when : "") + "}]";
  const std::string task =
      "{tasks: [{name: a, taskSpec: {" + step + "}" + (of_step ? "" : ", " + when) + "}]}";
  return validate_pipeline_spec(yaml::parse(task).value(), Place::Inline, settings).text();
}

TEST(CelGuards, AreCheckedWhenTheyAreWritten) {
  EXPECT_EQ(errors_of("cel: 'true'", true), "");
  EXPECT_EQ(errors_of("cel: 'true'", false),
            "feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in "
            "WhenExpression: tasks[0].when[0]");
  EXPECT_EQ(errors_of("cel: 'true', input: a, operator: in, values: [a]", true),
            "cel and input+operator+values cannot be set in one WhenExpression: true: "
            "tasks[0].when[0]");
  EXPECT_TRUE(
      errors_of("cel: 'foo(1'", true).starts_with("invalid cel expression: foo(1 with err: "));
  EXPECT_EQ(errors_of("cel: 'true'", true, true), "");
  EXPECT_EQ(errors_of("cel: 'true'", false, true),
            "feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in "
            "WhenExpression: tasks[0].taskSpec.steps[0].when[0]");
  EXPECT_TRUE(errors_of("cel: 'foo(1'", true, true)
                  .starts_with("invalid cel expression: foo(1 with err: "));
}

TEST(CelGuards, OfStepsReachThePod) {
  Lab lab;
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: "
      "tekton-pipelines}, data: {enable-cel-in-whenexpression: 'true'}}");
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: tr}, spec: {params: [{name: p, "
      "value: main}], taskSpec: {params: [{name: p}], steps: [{name: a, image: i, results: [{name: "
      "r}]}, {name: b, image: i, when: [{cel: \"'$(params.p)' == '$(steps.a.results.r)'\"}]}]}}}");
  lab.settle();
  const Object pod = lab.pod("tr-pod");
  const Value steps = json::parse(pod.annotation("athanor.dev/steps")).value();
  EXPECT_EQ(json::print(steps[1]["when"]), R"([{"cel":"'main' == '$(steps.a.results.r)'"}])");
}

}  // namespace
}  // namespace athanor::tekton::cel_guards_test
