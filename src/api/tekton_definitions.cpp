// SPDX-License-Identifier: Apache-2.0
// Field tables of Task, StepAction and Pipeline (docs/spec/tekton.md 3.3, 3.4).
#include "api/tekton_fields.hpp"

namespace athanor::api::tekton_schema {
namespace {

const TypeInfo& param_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the param."),
      text("type", "string, array or object."),
      text("description", "What the param is for."),
      core("properties", "Keys of an object param."),
      any("default", "Value when none is given."),
      texts("enum", "Allowed values."),
  };
  static constexpr TypeInfo kType{
      .name = "ParamSpec", .doc = "A param that may or must be given.", .fields = kFields};
  return kType;
}

const TypeInfo& result_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the result."),          text("type", "string, array or object."),
      text("description", "What the result says."), core("properties", "Keys of an object result."),
      any("value", "Where the value comes from."),
  };
  static constexpr TypeInfo kType{
      .name = "Result", .doc = "A value that is handed on.", .fields = kFields};
  return kType;
}

const TypeInfo& workspace_usage_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The workspace."),
      text("mountPath", "Where this step sees it."),
  };
  static constexpr TypeInfo kType{
      .name = "WorkspaceUsage", .doc = "A workspace of one step alone.", .fields = kFields};
  return kType;
}

const TypeInfo& output_type() {
  static constexpr FieldInfo kFields[] = {text("path", "File that receives the output.")};
  static constexpr TypeInfo kType{
      .name = "StepOutputConfig", .doc = "Where output is kept.", .fields = kFields};
  return kType;
}

const TypeInfo& when_type() {
  static constexpr FieldInfo kFields[] = {
      text("input", "What is looked at."),
      text("operator", "in or notin."),
      texts("values", "What it is compared with."),
      text("cel", "Not supported."),
  };
  static constexpr TypeInfo kType{
      .name = "WhenExpression", .doc = "A guard of a task.", .fields = kFields};
  return kType;
}

const TypeInfo& step_type() {
  static constexpr FieldInfo kFields[] = {
      row("name", "Name of the step.", ops_of<std::string>()),
      text("displayName", "Name shown to people."),
      text("image", "Container image."),
      texts("command", "Program."),
      texts("args", "Arguments."),
      text("script", "A script in place of a program."),
      text("workingDir", "Working directory."),
      cores("env", "Environment."),
      cores("envFrom", "Environment from ConfigMaps and Secrets."),
      core("computeResources", "Resources."),
      cores("volumeMounts", "Mounted volumes."),
      cores("volumeDevices", "Block devices."),
      text("imagePullPolicy", "When the image is pulled."),
      core("securityContext", "Security settings."),
      text("timeout", "How long the step may take."),
      list<workspace_usage_type>("workspaces", "Workspaces that only these steps see."),
      text("onError", "continue or stopAndFail."),
      object<output_type>("stdoutConfig", "Where standard output is kept."),
      object<output_type>("stderrConfig", "Where standard error is kept."),
      object<resolver_ref_type>("ref", "A StepAction."),
      list<param_type>("params", "Params of the StepAction."),
      list<result_type>("results", "Results of the step."),
      list<when_type>("when", "Guards of the step."),
  };
  static constexpr TypeInfo kType{
      .name = "Step", .doc = "One container of a task.", .fields = kFields};
  return kType;
}

const TypeInfo& step_template_type() {
  static constexpr FieldInfo kFields[] = {
      text("image", "Container image."),
      texts("command", "Program."),
      texts("args", "Arguments."),
      text("workingDir", "Working directory."),
      cores("env", "Environment."),
      cores("envFrom", "Environment from ConfigMaps and Secrets."),
      core("computeResources", "Resources."),
      cores("volumeMounts", "Mounted volumes."),
      cores("volumeDevices", "Block devices."),
      text("imagePullPolicy", "When the image is pulled."),
      core("securityContext", "Security settings."),
  };
  static constexpr TypeInfo kType{
      .name = "StepTemplate", .doc = "What every step starts from.", .fields = kFields};
  return kType;
}

const TypeInfo& sidecar_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the sidecar."),
      text("image", "Container image."),
      texts("command", "Program."),
      texts("args", "Arguments."),
      text("script", "A script in place of a program."),
      text("workingDir", "Working directory."),
      cores("env", "Environment."),
      cores("envFrom", "Environment from ConfigMaps and Secrets."),
      cores("ports", "Ports."),
      core("computeResources", "Resources."),
      cores("volumeMounts", "Mounted volumes."),
      cores("volumeDevices", "Block devices."),
      text("imagePullPolicy", "When the image is pulled."),
      core("securityContext", "Security settings."),
      core("livenessProbe", "Probe."),
      core("readinessProbe", "Probe."),
      core("startupProbe", "Probe."),
      core("lifecycle", "Hooks."),
      text("terminationMessagePath", "File of the last words."),
      text("terminationMessagePolicy", "Where the last words come from."),
      flag("stdin", "Whether there is an input."),
      flag("stdinOnce", "Whether the input ends."),
      flag("tty", "Whether there is a terminal."),
      list<workspace_usage_type>("workspaces", "Workspaces that only these containers see."),
      text("restartPolicy", "Always: a sidecar of the node's own kind."),
  };
  static constexpr TypeInfo kType{
      .name = "Sidecar", .doc = "A container beside the steps.", .fields = kFields};
  return kType;
}

const TypeInfo& workspace_declaration_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the workspace."),
      text("description", "What it is for."),
      text("mountPath", "Where steps see it."),
      flag("readOnly", "Whether it is mounted read only."),
      flag("optional", "Whether it may be left unbound."),
  };
  static constexpr TypeInfo kType{
      .name = "WorkspaceDeclaration", .doc = "Files a task needs.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_workspace_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the workspace."),
      text("description", "What it is for."),
      flag("optional", "Whether it may be left unbound."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineWorkspaceDeclaration", .doc = "Files a pipeline needs.", .fields = kFields};
  return kType;
}

const TypeInfo& task_workspace_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The task's workspace."),
      text("workspace", "The pipeline's workspace."),
      text("subPath", "Directory of it to use."),
  };
  static constexpr TypeInfo kType{.name = "WorkspacePipelineTaskBinding",
                                  .doc = "Which workspace of the pipeline a task gets.",
                                  .fields = kFields};
  return kType;
}

const TypeInfo& matrix_include_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the combination."),
      list<param_type>("params", "Its params."),
  };
  static constexpr TypeInfo kType{
      .name = "IncludeParams", .doc = "One named combination.", .fields = kFields};
  return kType;
}

const TypeInfo& matrix_type() {
  static constexpr FieldInfo kFields[] = {
      list<param_type>("params", "Params whose values are combined."),
      list<matrix_include_type>("include", "Combinations by name."),
  };
  static constexpr TypeInfo kType{
      .name = "Matrix", .doc = "Runs a task once a combination.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_task_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the task in the pipeline."),
      text("displayName", "Name shown to people."),
      text("description", "What it does."),
      object<resolver_ref_type>("taskRef", "A Task."),
      core("taskSpec", "A task written here."),
      object<resolver_ref_type>("pipelineRef", "A Pipeline; alpha."),
      core("pipelineSpec", "A pipeline written here; alpha."),
      list<param_type>("params", "Params of the task."),
      object<matrix_type>("matrix", "Runs it once a combination."),
      list<when_type>("when", "Guards."),
      list<task_workspace_type>("workspaces", "Workspaces of the task."),
      texts("runAfter", "Tasks that must be done first."),
      number("retries", "How often it is tried again."),
      text("timeout", "How long one attempt may take."),
      text("onError", "continue or stopAndFail."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineTask", .doc = "A task of a pipeline.", .fields = kFields};
  return kType;
}

}  // namespace

const TypeInfo& task_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("displayName", "Name shown to people."),
      text("description", "What the task does."),
      list<param_spec_type>("params", "Params."),
      list<result_type>("results", "Results."),
      list<workspace_declaration_type>("workspaces", "Workspaces."),
      list<step_type>("steps", "The steps, one after another."),
      object<step_template_type>("stepTemplate", "What every step starts from."),
      list<sidecar_type>("sidecars", "Containers beside the steps."),
      cores("volumes", "Volumes that steps may mount."),
  };
  static constexpr TypeInfo kType{
      .name = "TaskSpec", .doc = "Steps that run in one pod.", .fields = kFields};
  return kType;
}

const TypeInfo& step_action_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("description", "What the step does."),
      text("image", "Container image."),
      texts("command", "Program."),
      texts("args", "Arguments."),
      text("script", "A script in place of a program."),
      text("workingDir", "Working directory."),
      cores("env", "Environment."),
      list<param_spec_type>("params", "Params."),
      list<result_type>("results", "Results."),
      core("securityContext", "Security settings."),
      cores("volumeMounts", "Mounted volumes."),
  };
  static constexpr TypeInfo kType{
      .name = "StepActionSpec", .doc = "A step to be used in tasks.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("displayName", "Name shown to people."),
      text("description", "What the pipeline does."),
      list<param_spec_type>("params", "Params."),
      list<pipeline_workspace_type>("workspaces", "Workspaces."),
      list<pipeline_task_type>("tasks", "The tasks."),
      list<pipeline_task_type>("finally", "Tasks that run when all others are done."),
      list<result_type>("results", "Results."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineSpec", .doc = "Tasks and their order.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api::tekton_schema
