// SPDX-License-Identifier: Apache-2.0
// Defaulting and validation at write time: the tables of docs/spec/tekton.md 4 and 5.
#include "embedded/tekton/validation/admission.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

Value parsed(std::string_view text) {
  auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message) << "\n" << text;
  return value.value_or(Value());
}

Value object_of(std::string_view kind, std::string_view spec, std::string_view name = "x") {
  Value object = Value::object({{"apiVersion", "tekton.dev/v1"}, {"kind", kind}});
  object.set_path({"metadata", "name"}, name);
  object.set("spec", parsed(spec));
  return object;
}

constexpr std::string_view kPrefix =
    "admission webhook \"validation.webhook.pipeline.tekton.dev\" denied the request: validation "
    "failed: ";

// The errors behind the prefix, or "" when the object is fine.
std::string errors_of(const Value& object, const Value* old_object = nullptr) {
  const auto error = validate(object, old_object);
  if (!error) {
    return "";
  }
  EXPECT_EQ(error->code, 400);
  EXPECT_TRUE(error->message.starts_with(kPrefix)) << error->message;
  return error->message.substr(kPrefix.size());
}

struct Row {
  std::string spec{};
  std::string errors{};
};

TEST(Defaults, OfAPipelineRun) {
  Value run = object_of("PipelineRun", R"y(
pipelineRef: {name: p}
timeouts: {tasks: 90m}
)y");
  run.set_path({"metadata", "annotations"},
               Value::object({{"chains.tekton.dev/signed", "true"}, {"a", "b"}}));
  apply_defaults(run);
  EXPECT_EQ(run["spec"]["timeouts"], parsed("{tasks: 1h30m0s, pipeline: 1h0m0s}"));
  EXPECT_EQ(run.at({"spec", "taskRunTemplate", "serviceAccountName"}), Value("default"));
  EXPECT_EQ(run["metadata"]["annotations"], parsed("{a: b}"));
}

TEST(Defaults, ParamsWrittenAsNumbersAndBooleansBecomeTheirText) {
  Value run = object_of("PipelineRun", R"y(
params: [{name: n, value: 3}, {name: b, value: true}, {name: f, value: 1.5}, {name: l, value: [a, b]},
  {name: mixed, value: [1, 2]}, {name: m, value: {k: v}}, {name: o, value: {k: 1}}, {name: deep, value: [[1]]}]
pipelineSpec:
  params: [{name: n, default: 4}, {name: on, default: true}, {name: l, default: [x]}]
  tasks:
  - name: t
    params: [{name: x, value: 5}]
    matrix: {params: [{name: y, value: [a]}], include: [{params: [{name: z, value: false}]}]}
    taskSpec:
      params: [{name: d, default: 0}]
      steps: [{name: s, ref: {name: act}, params: [{name: p, value: 6}]}]
)y");
  apply_defaults(run);
  EXPECT_EQ(
      run["spec"]["params"],
      parsed("[{name: n, value: '3'}, {name: b, value: 'true'}, {name: f, value: '1.5'}, "
             "{name: l, value: [a, b]}, {name: mixed, value: ['1', '2']}, {name: m, value: {k: "
             "v}}, {name: o, value: {k: '1'}}, {name: deep, value: '[[1]]'}]"));
  const Value& pipeline = run["spec"]["pipelineSpec"];
  EXPECT_EQ(pipeline["params"],
            parsed("[{name: n, type: string, default: '4'}, {name: on, type: string, default: "
                   "'true'}, {name: l, type: array, default: [x]}]"));
  const Value& task = pipeline["tasks"][0];
  EXPECT_EQ(task["params"][0]["value"], Value("5"));
  EXPECT_EQ(task["matrix"]["include"][0]["params"][0]["value"], Value("false"));
  EXPECT_EQ(task["taskSpec"]["params"][0], parsed("{name: d, type: string, default: '0'}"));
  EXPECT_EQ(task["taskSpec"]["steps"][0]["params"][0]["value"], Value("6"));
  for (const char* kind : {"TaskRun", "Pipeline", "Task", "StepAction"}) {
    Value object = object_of(kind, "params: [{name: n, value: 3, default: 3}]");
    apply_defaults(object);
    const Value& param = object["spec"]["params"][0];
    EXPECT_TRUE(param["value"] == Value("3") || param["default"] == Value("3")) << kind;
  }
}

TEST(Defaults, AReferenceThatNamesNothingTakesTheDefaultResolver) {
  Settings settings;
  settings.default_resolver = "cluster";
  Value run = object_of("PipelineRun", "pipelineRef: {params: [{name: name, value: p}]}");
  apply_defaults(run, WriteKind::Create, settings);
  EXPECT_EQ(run["spec"]["pipelineRef"]["resolver"], Value("cluster"));
}

TEST(Refusals, EnumsAreCheckedWhereTheFlagAllowsThem) {
  const Value task = object_of("Task",
                               "{params: [{name: p, type: string, enum: [a, b, a], default: "
                               "c}], steps: [{image: i}]}");
  EXPECT_EQ(errors_of(task),
            "feature flag `enable-param-enum` should be set to true to use Enum: spec.params[p]\n"
            "param default value c not in the enum list: spec.params[p]\n"
            "parameter enum value a appears more than once: spec.params[p]");
  Settings on;
  on.param_enum = true;
  const Value good = object_of("Task",
                               "{params: [{name: p, type: string, enum: [a, b]}], steps: "
                               "[{image: i}]}");
  EXPECT_FALSE(validate(good, nullptr, on));
  EXPECT_TRUE(validate(good, nullptr));
}

TEST(Refusals, ArtifactsAndGuardsOfSteps) {
  const auto of_step = [](const std::string& step) {
    return errors_of(object_of("Task", "{steps: [{image: i, " + step + "}]}"));
  };
  constexpr std::string_view kFlag =
      "feature flag enable-artifacts should be set to true to use artifacts feature.: ";
  EXPECT_EQ(of_step("script: 'cat $(artifacts.path)'"),
            std::string(kFlag) + "spec.steps[0].script");
  EXPECT_EQ(of_step("args: ['$(steps.a.outputs.x)']"), std::string(kFlag) + "spec.steps[0].args");
  EXPECT_EQ(of_step("env: [{name: A, value: '$(step.artifacts.path)'}]"),
            std::string(kFlag) + "spec.steps[0].env");
  EXPECT_EQ(of_step("args: ['$(steps.a.results.x)', '$(steps.a.results.outputs.k)']"), "");
  const auto of_pipeline = [](const std::string& value) {
    return errors_of(object_of("Pipeline",
                               "{tasks: [{name: a, taskRef: {name: t}}, {name: b, taskRef: "
                               "{name: t}, params: [{name: p, value: '" +
                                   value + "'}]}]}"));
  };
  EXPECT_EQ(of_pipeline("$(tasks.a.outputs.x)"), std::string(kFlag) + "spec.tasks[1].params[p]");
  EXPECT_EQ(of_pipeline("$(tasks.a.results.outputs)"), "");
  EXPECT_EQ(of_step("when: [{input: a, operator: is, values: [b]}]"),
            "invalid value: operator \"is\" is not recognized. valid operators: in,notin: "
            "spec.steps[0].when[0]");
  EXPECT_EQ(of_step("when: [{cel: 'true'}]"),
            "feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in "
            "WhenExpression: spec.steps[0].when[0]");
  EXPECT_EQ(of_step("when: [{input: '$(params.x)', operator: in, values: [b]}]"),
            "non-existent variable in \"$(params.x)\": spec.steps[0].when[0].input");
}

TEST(Defaults, OfATaskRunAndItsLabel) {
  Value run = object_of("TaskRun", "taskRef: {name: t}");
  apply_defaults(run);
  EXPECT_EQ(
      run["spec"],
      parsed("{taskRef: {name: t, kind: Task}, timeout: 1h0m0s, serviceAccountName: default}"));
  EXPECT_EQ(run["metadata"]["labels"]["app.kubernetes.io/managed-by"], Value("tekton-pipelines"));
  run.member("metadata").member("labels").set("app.kubernetes.io/managed-by", "me");
  apply_defaults(run);
  EXPECT_EQ(run["metadata"]["labels"]["app.kubernetes.io/managed-by"], Value("me"));
}

TEST(Defaults, AreStable) {
  Value run = object_of("PipelineRun",
                        "pipelineSpec: {params: [{name: a, default: [b]}], tasks: [{name: t, "
                        "timeout: 61s, taskSpec: {results: [{name: r}], steps: [{image: i}]}}]}");
  apply_defaults(run);
  const Value once = run;
  apply_defaults(run);
  EXPECT_EQ(run, once);
  const Value& spec = run["spec"]["pipelineSpec"];
  EXPECT_EQ(spec["params"][0]["type"], Value("array"));
  EXPECT_EQ(spec["tasks"][0]["timeout"], Value("1m1s"));
  EXPECT_EQ(spec["tasks"][0].at({"taskSpec", "results"})[0]["type"], Value("string"));
}

TEST(Defaults, LeaveValuesOfTheWrongTypeToTheSchema) {
  constexpr const char* kWrong[] = {"x", "3", "true", "[]", "[null]"};
  Settings settings;
  settings.default_pod_template = parsed("{nodeSelector: {a: b}}");
  for (const char* wrong : kWrong) {
    for (const char* kind : {"PipelineRun", "TaskRun", "Pipeline", "Task", "StepAction"}) {
      Value run = object_of(kind, wrong);
      apply_defaults(run, WriteKind::Create, settings);
      EXPECT_EQ(run["spec"], parsed(wrong)) << kind;
      static_cast<void>(validate(run, nullptr));
    }
    for (const char* field : {"timeouts", "taskRunTemplate", "pipelineSpec", "taskRunSpecs"}) {
      Value run = object_of("PipelineRun", "{}");
      run.set_path({"spec", field}, parsed(wrong));
      apply_defaults(run, WriteKind::Create, settings);
      EXPECT_EQ(run["spec"][field], parsed(wrong)) << field;
    }
    for (const char* field : {"podTemplate", "taskRef", "taskSpec"}) {
      Value run = object_of("TaskRun", "{}");
      run.set_path({"spec", field}, parsed(wrong));
      apply_defaults(run, WriteKind::Create, settings);
      EXPECT_EQ(run["spec"][field], parsed(wrong)) << field;
    }
    Value task = object_of("Task", "{params: [{name: p, properties: {k: v}}]}");
    apply_defaults(task);
    EXPECT_EQ(task["spec"]["params"][0]["properties"], parsed("{k: v}"));
  }
}

TEST(Defaults, LeaveOtherKindsAlone) {
  Value pod = parsed("{apiVersion: v1, kind: Pod, spec: {}}");
  const Value before = pod;
  apply_defaults(pod);
  EXPECT_EQ(pod, before);
  EXPECT_FALSE(validate(pod, nullptr));
}

TEST(ValidatePipelineRun, EveryRowOfTheTable) {
  const std::string ref = "pipelineRef: {name: p}\n";
  const std::string sources =
      "spec.workspaces[0].configmap, spec.workspaces[0].emptydir, "
      "spec.workspaces[0].persistentvolumeclaim, "
      "spec.workspaces[0].secret, spec.workspaces[0].volumeclaimtemplate";
  const Row rows[] = {
      {ref, ""},
      {"{}", "expected exactly one, got neither: spec.pipelineRef, spec.pipelineSpec"},
      {ref + "pipelineSpec: {tasks: [{name: a, taskRef: {name: t}}]}",
       "expected exactly one, got both: spec.pipelineRef, spec.pipelineSpec"},
      {ref + "timeouts: {pipeline: -1m}",
       "invalid value: -1m0s should be >= 0: spec.timeouts.pipeline"},
      {ref + "timeouts: {pipeline: 1h, tasks: 2h}",
       "invalid value: 2h0m0s should be <= pipeline duration: spec.timeouts.tasks"},
      {ref + "timeouts: {pipeline: 1h, finally: 2h}",
       "invalid value: 2h0m0s should be <= pipeline duration: spec.timeouts.finally"},
      {ref + "timeouts: {pipeline: 1h, tasks: 0s}",
       "invalid value: 0s (no timeout) should be <= pipeline duration: spec.timeouts.tasks"},
      {ref + "timeouts: {pipeline: 1h, tasks: 1h, finally: 30m}",
       "invalid value: 1h0m0s + 30m0s should be <= pipeline duration: spec.timeouts.finally, "
       "spec.timeouts.tasks"},
      {ref + "timeouts: {tasks: 2h}",
       "invalid value: 2h0m0s should be <= default timeout duration: spec.timeouts.tasks"},
      {ref + "timeouts: {pipeline: 0s, tasks: 2h}", ""},
      {ref + "timeouts: {pipeline: 25h0m0s, tasks: 24h0m0s, finally: 1h0m0s}", ""},
      {ref + "status: Stop",
       "invalid value: Stop should be Cancelled, CancelledRunFinally, StoppedRunFinally or "
       "PipelineRunPending: spec.status"},
      {ref + "workspaces: [{name: w, emptyDir: {}}, {name: w, emptyDir: {}}]",
       "workspace \"w\" provided by pipelinerun more than once, at index 0 and 1: "
       "spec.workspaces[1].name"},
      {ref + "workspaces: [{name: w}]", "expected exactly one, got neither: " + sources},
      {ref + "workspaces: [{name: w, emptyDir: {}, configMap: {name: c}}]",
       "expected exactly one, got both: " + sources},
      {ref + "workspaces: [{name: w, persistentVolumeClaim: {}}]",
       "missing field(s): spec.workspaces[0].persistentvolumeclaim.claimname"},
      {ref + "workspaces: [{name: w, secret: {}}]",
       "missing field(s): spec.workspaces[0].secret.secretName"},
      {ref + "workspaces: [{name: w, configMap: {}}]",
       "missing field(s): spec.workspaces[0].configmap.name"},
      {ref + "workspaces: [{name: w, projected: {}}]",
       "missing field(s): spec.workspaces[0].projected.sources"},
      {ref + "workspaces: [{name: w, csi: {}}]", "missing field(s): spec.workspaces[0].csi.driver"},
      {ref + "params: [{name: a, value: b}, {name: a, value: c}]",
       "parameter names must be unique, the parameter \"a\" is also defined at: "
       "spec.params[1].name"},
      {ref + "params: [{name: a, value: '$(tasks.t.results.r)'}]",
       "invalid value: cannot use result expressions in [tasks.t.results.r] as PipelineRun "
       "parameter values: spec.params[a].value"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(errors_of(object_of("PipelineRun", row.spec)), row.errors) << row.spec;
  }
}

TEST(ValidatePipelineRun, Names) {
  const std::string spec = "pipelineRef: {name: p}";
  EXPECT_EQ(errors_of(object_of("PipelineRun", spec, "a.b")),
            "invalid resource name \"a.b\": must be a valid DNS label: metadata.name");
  EXPECT_EQ(errors_of(object_of("PipelineRun", spec, std::string(64, 'a'))),
            "Invalid resource name: length must be no more than 63 characters: metadata.name");
  EXPECT_EQ(errors_of(object_of("PipelineRun", spec, std::string(63, 'a'))), "");
}

TEST(ValidatePipelineRun, Updates) {
  const Value old_run = object_of("PipelineRun", "pipelineRef: {name: p}");
  Value run = old_run;
  run.member("spec").set("status", "Cancelled");
  EXPECT_EQ(errors_of(run, &old_run), "");
  run = object_of("PipelineRun", "pipelineRef: {name: q}");
  EXPECT_EQ(
      errors_of(run, &old_run),
      "invalid value: Once the PipelineRun has started, only status updates are allowed: spec");
  run = object_of("PipelineRun", "{pipelineRef: {name: p}, managedBy: other}");
  EXPECT_EQ(errors_of(run, &old_run), "invalid value: managedBy is immutable: spec.spec.managedBy");

  Value finished = old_run;
  finished.set("status", parsed("conditions: [{type: Succeeded, status: 'True'}]"));
  run = finished;
  run.member("metadata").set("labels", Value::object({{"a", "b"}}));
  EXPECT_EQ(errors_of(run, &finished), "");
  run.member("spec").set("status", "Cancelled");
  EXPECT_EQ(errors_of(run, &finished),
            "invalid value: Once the PipelineRun is complete, no updates are allowed: spec");

  Value started = old_run;
  started.set("status", parsed("startTime: '2026-01-01T00:00:00Z'"));
  run = started;
  run.member("spec").set("status", "PipelineRunPending");
  EXPECT_EQ(errors_of(run, &started),
            "invalid value: PipelineRun cannot be Pending after it is started: spec.status");
}

TEST(ValidatePipeline, EveryRowOfTheTable) {
  const std::string a = "tasks: [{name: a, taskRef: {name: t}}]\n";
  const Row rows[] = {
      {a, ""},
      {"{}",
       "expected at least one, got none: spec.description, spec.params, spec.resources, "
       "spec.tasks, spec.workspaces"},
      {"tasks: [{name: A_, taskRef: {name: t}}]",
       "invalid value \"A_\": spec.tasks[0].name\nPipeline Task name must be a valid DNS Label.For "
       "more info refer to "
       "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names"},
      {"tasks: [{name: a, taskRef: {name: t}}, {name: a, taskRef: {name: t}}]",
       "expected exactly one, got both: spec.tasks[1].name"},
      {"tasks: [{name: a}]",
       "expected exactly one, got neither: spec.tasks[0].taskRef, spec.tasks[0].taskSpec"},
      {"tasks: [{name: a, taskRef: {name: t}, taskSpec: {steps: [{image: i}]}}]",
       "expected exactly one, got multiple: spec.tasks[0].taskRef, spec.tasks[0].taskSpec"},
      {"tasks: [{name: a, runAfter: [b], taskRef: {name: t}}, {name: b, runAfter: [a], taskRef: "
       "{name: t}}]",
       "invalid value: cycle detected; task \"a\" depends on \"b\": spec.tasks"},
      {"tasks: [{name: a, runAfter: [q], taskRef: {name: t}}]",
       "invalid value: couldn't add link between a and q: task a depends on q but q wasn't present "
       "in Pipeline: spec.tasks"},
      {"tasks: [{name: a, taskRef: {name: t}, workspaces: [{name: i, workspace: w}]}]",
       "invalid value: pipeline task \"a\" expects workspace with name \"w\" but none exists in "
       "pipeline spec: spec.tasks[0].workspaces[0]"},
      {a + "workspaces: [{name: ''}]",
       "invalid value: workspace 0 has empty name: spec.workspaces[0]"},
      {a + "workspaces: [{name: w}, {name: w}]",
       "invalid value: workspace with name \"w\" appears more than once: spec.workspaces[1]"},
      {"tasks: [{name: a, taskRef: {name: t}, params: [{name: p, value: '$(params.q)'}]}]",
       "non-existent variable in \"$(params.q)\": spec.tasks[0].params[p]"},
      {"params: [{name: l, type: array}]\ntasks: [{name: a, taskRef: {name: t}, params: [{name: p, "
       "value: 'x $(params.l[*])'}]}]",
       "variable is not properly isolated in \"x $(params.l[*])\": spec.tasks[0].params[p]"},
      {"params: [{name: l, type: array}]\ntasks: [{name: a, taskRef: {name: t}, when: [{input: "
       "'$(params.l)', operator: in, values: [b]}]}]",
       "variable type invalid in \"$(params.l)\": spec.tasks[0].when[0].input"},
      {"tasks: [{name: a, taskRef: {name: t}, params: [{name: p, value: "
       "'$(context.pipelineRun.x)'}]}]",
       "non-existent variable in \"$(context.pipelineRun.x)\": spec.tasks[0].params[p].value"},
      {"tasks: []\nfinally: [{name: f, taskRef: {name: t}}]",
       "invalid value: spec.tasks is empty but spec.finally has 1 tasks: spec.finally"},
      {a + "finally: [{name: f, taskRef: {name: t}, runAfter: [a]}]",
       "invalid value: no runAfter allowed under spec.finally, final task f has runAfter "
       "specified: spec.finally[0]"},
      {a + "finally: [{name: f, taskRef: {name: t}}, {name: g, taskRef: {name: t}, params: [{name: "
           "p, value: '$(tasks.f.results.r)'}]}]",
       "invalid value: invalid task result reference, final task has task result reference from a "
       "final task f: spec.finally[1].params[p].value"},
      {a + "finally: [{name: g, taskRef: {name: t}, params: [{name: p, value: "
           "'$(tasks.q.results.r)'}]}]",
       "invalid value: invalid task result reference, final task has task result reference from a "
       "task q which is not defined in the pipeline: spec.finally[0].params[p].value"},
      {"tasks: [{name: a, taskRef: {name: t}}, {name: b, taskRef: {name: t}, params: [{name: p, "
       "value: '$(tasks.a.status)'}]}]",
       "invalid value: pipeline tasks can not refer to execution status of any other pipeline task "
       "or aggregate status of tasks: spec.tasks[1].params[p].value"},
      {a + "finally: [{name: g, taskRef: {name: t}, params: [{name: p, value: "
           "'$(tasks.q.status)'}]}]",
       "invalid value: pipeline task q is not defined in the pipeline: "
       "spec.finally[0].params[p].value"},
      {a + "results: [{name: r, value: plain}]",
       "invalid value: expected pipeline results to be task result expressions but no expressions "
       "were found: spec.results[0].value"},
      {a + "results: [{name: r, value: '$(params.x)'}]",
       "invalid value: expected pipeline results to be task result expressions but an invalid "
       "expressions was found: spec.results[0].value"},
      {a + "results: [{name: r, value: '$(tasks.q.results.r)'}]",
       "invalid value: referencing a nonexistent task: spec.results[0].value"},
      {"tasks: [{name: a, taskRef: {name: t}, onError: maybe}]",
       "invalid value: maybe: spec.tasks[0].OnError\nPipelineTask OnError must be either "
       "\"continue\" or \"stopAndFail\""},
      {"tasks: [{name: a, taskRef: {name: t}, onError: continue, retries: 1}]",
       "PipelineTask OnError cannot be set to \"continue\" when Retries is greater than 0: "
       "spec.tasks[0].OnError"},
      {"tasks: [{name: a, taskRef: {name: t}, when: [{}]}]",
       "missing field(s): spec.tasks[0].when[0]"},
      {"tasks: [{name: a, taskRef: {name: t}, when: [{input: x, operator: is, values: [x]}]}]",
       "invalid value: operator \"is\" is not recognized. valid operators: in,notin: "
       "spec.tasks[0].when[0]"},
      {"tasks: [{name: a, taskRef: {name: t}, when: [{input: x, operator: in, values: []}]}]",
       "invalid value: expecting non-empty values field: spec.tasks[0].when[0]"},
      {"tasks: [{name: a, taskRef: {name: t}, when: [{cel: 'true'}]}]",
       "feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in "
       "WhenExpression: spec.tasks[0].when[0]"},
      {"tasks: [{name: a, taskRef: {name: t}, params: [{name: p, value: x}], matrix: {params: "
       "[{name: p, value: [y]}]}}]",
       "expected exactly one, got both: spec.tasks[0].matrix[p], spec.tasks[0].params[p]"},
      {"tasks: [{name: a, pipelineSpec: {}}]",
       "pipelineSpec requires \"enable-api-fields\" feature gate to be \"alpha\" but it is "
       "\"beta\": "},
      {"params: [{name: p}, {name: p}]\n" + a, "parameter appears more than once: spec.params[p]"},
      {"params: [{name: p, type: array, default: x}]\n" + a,
       "\"array\" type does not match default value's type: \"string\": "
       "spec.params.p.default.type, spec.params.p.type"},
      {"params: [{name: p, type: object}]\n" + a, "missing field(s): spec.p.properties"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(errors_of(object_of("Pipeline", row.spec)), row.errors) << row.spec;
  }
}

TEST(ValidatePipeline, CountsMatrixCombinations) {
  std::string values = "0";
  for (int i = 1; i < 17; ++i) {
    values += ", " + std::to_string(i);
  }
  const std::string spec =
      "tasks: [{name: a, taskRef: {name: t}, matrix: {params: [{name: p, value: [" + values +
      "]}, {name: q, value: [" + values + "]}]}}]";
  EXPECT_EQ(errors_of(object_of("Pipeline", spec)),
            "expected 0 <= 289 <= 256: spec.tasks[0].matrix");
}

TEST(ValidateTask, EveryRowOfTheTable) {
  const std::string s = "steps: [{image: i}]\n";
  const Row rows[] = {
      {s, ""},
      {"steps: []", "missing field(s): spec.steps"},
      {"steps: [{name: a}]", "missing field(s): spec.steps[0].Image"},
      {"steps: [{image: i, script: x, command: [y]}]",
       "script cannot be used with command: spec.steps[0].script"},
      {"steps: [{ref: {name: r}, image: i, env: [{name: a}]}]",
       "env cannot be used with Ref: spec.steps[0].env\nimage cannot be used with Ref: "
       "spec.steps[0].image"},
      {"steps: [{image: i, params: [{name: a, value: b}]}]",
       "params cannot be used without Ref: spec.steps[0].params"},
      {"steps: [{name: a, image: i}, {name: a, image: i}]",
       "expected exactly one, got both: spec.steps[1].name"},
      {"steps: [{image: i, onError: x}]",
       "invalid value: \"x\": spec.steps[0].onError\nTask step onError must be either \"continue\" "
       "or \"stopAndFail\""},
      {"steps: [{image: i, onError: '$(params.e)'}]\nparams: [{name: e}]", ""},
      {"steps: [{image: i, timeout: -1s}]", "invalid value: -1s: spec.steps[0].negative timeout"},
      {"steps: [{image: i, volumeMounts: [{name: v, mountPath: /tekton/x}]}]",
       "volumeMount cannot be mounted under /tekton/ (volumeMount \"v\" mounted at \"/tekton/x\"): "
       "spec.steps[0].volumeMounts[0].mountPath"},
      {"steps: [{image: i, volumeMounts: [{name: v, mountPath: /tekton/home}]}]", ""},
      {s + "volumes: [{name: v}, {name: v}]",
       "multiple volumes with same name \"v\": spec.volumes[1].name"},
      {s + "workspaces: [{name: w}, {name: w, mountPath: /x}]",
       "workspace name \"w\" must be unique: spec.workspaces[1].name"},
      {s + "workspaces: [{name: w, mountPath: /x}, {name: v, mountPath: /x}]",
       "workspace mount path \"/x\" must be unique: spec.workspaces[1].mountpath"},
      {"steps: [{image: i, workspaces: [{name: w}]}]",
       "undefined workspace \"w\": spec.steps[0].workspaces[0]"},
      {s + "params: [{name: 1x}]",
       "The format of following array and string variable names is invalid: [1x]: "
       "spec.params\nString/Array Names: \nMust only contain "
       "alphanumeric characters, hyphens (-), underscores (_), and dots (.)\nMust begin with a "
       "letter or an underscore (_)"},
      {"steps: [{image: i, script: 'a $(params.q)'}]",
       "non-existent variable in \"a $(params.q)\": spec.steps[0].script"},
      {"steps: [{image: i, script: 'a > $(results.r.path)'}]",
       "non-existent variable in \"a > $(results.r.path)\": spec.steps[0].script"},
      {"steps: [{image: i, args: ['x $(params.l[*])']}]\nparams: [{name: l, type: array}]",
       "variable is not properly isolated in \"x $(params.l[*])\": spec.steps[0].args[0]"},
      {"steps: [{image: i, args: ['$(params.l[*])', '$(params.l[0])']}]\nparams: [{name: l, type: "
       "array}]",
       ""},
      {"steps: [{image: i, script: '$(date) $(params.s)'}]\nparams: [{name: s}]", ""},
      {s + "sidecars: [{name: tekton-log-results, image: i}]",
       "Invalid: cannot use reserved sidecar name tekton-log-results : spec.sidecars[0].name"},
      {s + "sidecars: [{name: a}]", "missing field(s): spec.sidecars[0].image"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(errors_of(object_of("Task", row.spec)), row.errors) << row.spec;
  }
}

TEST(ValidateTask, InlineSpecsMayRelyOnPropagation) {
  EXPECT_EQ(errors_of(object_of("PipelineRun",
                                "pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: i, "
                                "script: 'x $(params.q)'}]}}]}")),
            "");
}

TEST(ValidateTaskRun, EveryRowOfTheTable) {
  const std::string ref = "taskRef: {name: t}\n";
  const Row rows[] = {
      {ref, ""},
      {"{}", "expected exactly one, got neither: spec.taskRef, spec.taskSpec"},
      {ref + "status: Cancelled",
       "invalid value: Cancelled should be TaskRunCancelled or TaskRunPending: spec.status"},
      {ref + "statusMessage: why",
       "invalid value: statusMessage should not be set if status is not set, but it is currently "
       "set to why: spec.statusMessage"},
      {ref + "retries: -1", "invalid value: -1 should be >= 0: spec.retries"},
      {ref + "timeout: -1m", "invalid value: -1m0s should be >= 0: spec.timeout"},
      {ref + "workspaces: [{name: w, emptyDir: {}}, {name: w, emptyDir: {}}]",
       "workspace \"w\" provided by taskrun more than once, at index 0 and 1: "
       "spec.workspaces[1].name"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(errors_of(object_of("TaskRun", row.spec)), row.errors) << row.spec;
  }
  const Value old_run = object_of("TaskRun", ref);
  Value run = object_of("TaskRun", ref + "status: TaskRunCancelled\nstatusMessage: why");
  EXPECT_EQ(errors_of(run, &old_run), "");
  run = object_of("TaskRun", ref + "retries: 3");
  EXPECT_EQ(errors_of(run, &old_run),
            "invalid value: Once the TaskRun has started, only status and statusMessage updates "
            "are allowed: spec");
}

}  // namespace
}  // namespace athanor::tekton
