// SPDX-License-Identifier: Apache-2.0
// Defaulting and validation at write time (docs/spec/tekton.md 4, 5), but for the tables of rules:
// those are rows of tests/scenarios/tekton.
#include "embedded/tekton/validation/admission.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton::admission_test {
namespace {

Value parsed(std::string_view text) {
  auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message) << "\n" << text;
  return value.value_or(Value());
}

Value object_of(std::string_view kind, std::string_view spec) {
  Value object = Value::object({{"apiVersion", "tekton.dev/v1"}, {"kind", kind}});
  object.set_path({"metadata", "name"}, "x");
  object.set("spec", parsed(spec));
  return object;
}

constexpr std::string_view kPrefix =
    "admission webhook \"validation.webhook.pipeline.tekton.dev\" denied the request: validation "
    "failed: ";

// The errors behind the prefix, or "" when the object is fine.
std::string errors_of(const Value& object) {
  const auto error = validate(object, nullptr);
  if (!error) {
    return "";
  }
  EXPECT_EQ(error->code, 400);
  EXPECT_TRUE(error->message.starts_with(kPrefix)) << error->message;
  return error->message.substr(kPrefix.size());
}

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

TEST(Defaults, ConvertNumbersAndBooleansOfParamsToText) {
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

TEST(Defaults, ReadNamesOfInlineSpecsAsGoDoes) {
  Value run = object_of("TaskRun", R"y(
taskSpec:
  Workspaces: [{name: w, mountpath: /w}]
  steps: [{name: s, image: i, workingdir: /x, volumemounts: [{name: v, mountpath: /v, SubPath: a}], env: [{name: E, valuefrom: {secretkeyref: {name: s, key: k}}}]}]
  volumes: [{name: v, secret: {secretname: s}}]
  params: [{name: p, default: {mountpath: kept}}]
podTemplate: {nodeselector: {mountpath: kept}}
)y");
  apply_defaults(run);
  const Value& task = run["spec"]["taskSpec"];
  EXPECT_EQ(task["workspaces"], parsed("[{name: w, mountPath: /w}]"));
  EXPECT_EQ(
      task["steps"][0],
      parsed("{name: s, image: i, workingDir: /x, volumeMounts: [{name: v, mountPath: /v, "
             "subPath: a}], env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]}"));
  EXPECT_EQ(task["volumes"][0]["secret"], parsed("{secretName: s}"));
  EXPECT_EQ(task["params"][0]["default"], parsed("{mountpath: kept}"));
  EXPECT_EQ(run["spec"]["podTemplate"]["nodeSelector"], parsed("{mountpath: kept}"));
}

TEST(Names, MayHoldDots) {
  Value pipeline = object_of("Pipeline", "tasks: [{name: a, taskRef: {name: t.v1}}]");
  pipeline.set_path({"metadata", "name"}, "build.v1-2");
  EXPECT_EQ(errors_of(pipeline), "");
  for (const std::string_view bad : {".a", "a.", "a..b", "A.b", "a.-b"}) {
    pipeline.set_path({"metadata", "name"}, bad);
    EXPECT_EQ(errors_of(pipeline), "invalid resource name \"" + std::string(bad) +
                                       "\": must be a valid DNS label: metadata.name");
  }
}

TEST(Refusals, LengthsOfTasksWithoutMatrix) {
  EXPECT_EQ(errors_of(object_of("Pipeline", R"y(
tasks:
- {name: a, taskRef: {name: t}}
- {name: b, taskRef: {name: t}, params: [{name: p, value: $(tasks.a.matrix.length)}]}
)y")),
            "invalid value: $(tasks.a.matrix.length) refers to pipeline task \"a\", which has no "
            "matrix: spec.tasks[1]");
}

TEST(Defaults, GiveUnnamedReferenceTheDefaultResolver) {
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

TEST(Refusals, ScriptsForWindows) {
  constexpr std::string_view kSentence =
      "#!win needs a node with Windows, which the embedded engine has none of: ";
  EXPECT_EQ(errors_of(object_of("Task", "{steps: [{image: i, script: '#!win powershell'}]}")),
            std::string(kSentence) + "spec.steps[0].script");
  EXPECT_EQ(errors_of(object_of("Task",
                                "{steps: [{image: i}], sidecars: [{name: s, image: i, "
                                "script: \"\\n #!win\"}]}")),
            std::string(kSentence) + "spec.sidecars[0].script");
  EXPECT_EQ(errors_of(object_of("TaskRun", "{taskSpec: {steps: [{image: i, script: '#!win'}]}}")),
            std::string(kSentence) + "spec.taskSpec.steps[0].script");
  EXPECT_EQ(errors_of(object_of("StepAction", "{image: i, script: '#!win'}")),
            std::string(kSentence) + "spec.script");
  EXPECT_EQ(errors_of(object_of("Task", "{steps: [{image: i, script: 'echo #!win'}]}")), "");
}

TEST(Refusals, ResolversWithNames) {
  constexpr std::string_view kSentence =
      "name cannot be used with resolver: the embedded engine has no concise resolver syntax, give "
      "the address in params: ";
  const std::string ref = "{resolver: git, name: 'https://a.example/r.git'}";
  EXPECT_EQ(errors_of(object_of("TaskRun", "{taskRef: " + ref + "}")),
            std::string(kSentence) + "spec.taskRef.name");
  EXPECT_EQ(errors_of(object_of("PipelineRun", "{pipelineRef: " + ref + "}")),
            std::string(kSentence) + "spec.pipelineRef.name");
  EXPECT_EQ(errors_of(object_of("Pipeline", "{tasks: [{name: a, taskRef: " + ref + "}]}")),
            std::string(kSentence) + "spec.tasks[0].taskRef.name");
  EXPECT_EQ(errors_of(object_of("Task", "{steps: [{name: a, ref: " + ref + "}]}")),
            std::string(kSentence) + "spec.steps[0].ref.name");
}

TEST(Refusals, ArtifactsNameTheirStep) {
  Settings on;
  on.artifacts = true;
  const auto denial = [&](const std::string& script) {
    const Value task = object_of("Task", "{steps: [{image: i, script: '" + script + "'}]}");
    const auto error = validate(task, nullptr, on);
    return error ? error->message : std::string();
  };
  EXPECT_EQ(denial("cat $(artifacts.path) $(step.artifacts.path) $(steps.a.outputs.x)"), "");
  EXPECT_EQ(denial("cat $(inputs.params.p)").find("names no step"), std::string::npos);
  EXPECT_NE(
      denial("cat $(outputs.x)").find("$(outputs.x) names no step: write $(steps.STEP.outputs.x)"),
      std::string::npos);
}

TEST(Refusals, InlineSpecsWhereDisabled) {
  Settings settings;
  settings.no_inline_spec = "pipeline,taskrun";
  const auto denied = [&](std::string_view kind, std::string_view spec) {
    return validate(object_of(kind, spec), nullptr, settings).has_value();
  };
  EXPECT_TRUE(denied("TaskRun", "{taskSpec: {steps: [{image: i}]}}"));
  EXPECT_FALSE(denied("TaskRun", "{taskRef: {name: t}}"));
  EXPECT_TRUE(denied("Pipeline", "{tasks: [{name: a, taskSpec: {steps: [{image: i}]}}]}"));
  EXPECT_FALSE(denied("PipelineRun",
                      "{pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: i}]}}]}}"));
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

TEST(Defaults, LeaveValuesOfWrongTypeToSchema) {
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

}  // namespace
}  // namespace athanor::tekton::admission_test
