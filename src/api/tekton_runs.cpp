// SPDX-License-Identifier: Apache-2.0
// Field tables of TaskRun and PipelineRun (docs/spec/tekton.md 3.1, 3.2, 3.5).
#include "api/tekton_fields.hpp"

namespace athanor::api::tekton_schema {
namespace {

const TypeInfo& timeouts_type() {
  static constexpr FieldInfo kFields[] = {
      text("pipeline", "Limit of the whole run; 0s: none."),
      text("tasks", "Limit of the tasks."),
      text("finally", "Limit of the finally tasks."),
  };
  static constexpr TypeInfo kType{
      .name = "TimeoutFields", .doc = "Limits of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& task_run_template_type() {
  static constexpr FieldInfo kFields[] = {
      text("serviceAccountName", "Service account of the pods."),
      object<pod_template_type>("podTemplate", "Settings of the pods."),
  };
  static constexpr TypeInfo kType{.name = "PipelineTaskRunTemplate",
                                  .doc = "What every TaskRun starts from.",
                                  .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_task_run_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("pipelineTaskName", "The task."),
      text("serviceAccountName", "Service account of its pod."),
      object<pod_template_type>("podTemplate", "Settings of its pod."),
      list<step_spec_type>("stepSpecs", "Resources of its steps."),
      list<sidecar_spec_type>("sidecarSpecs", "Resources of its sidecars."),
      object<metadata_type>("metadata", "Labels and annotations of its TaskRun."),
      core("computeResources", "Resources of its pod."),
      text("timeout", "Limit of one attempt."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineTaskRunSpec", .doc = "Settings of one task of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& child_reference_type() {
  static constexpr FieldInfo kFields[] = {
      text("apiVersion", "tekton.dev/v1."),
      text("kind", "TaskRun."),
      text("name", "Name of the TaskRun."),
      text("displayName", "Name shown to people."),
      text("pipelineTaskName", "The task it runs."),
      cores("whenExpressions", "The guards it passed."),
  };
  static constexpr TypeInfo kType{
      .name = "ChildStatusReference", .doc = "A TaskRun of the run.", .fields = kFields};
  return kType;
}

const TypeInfo& skipped_task_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The task."),
      text("reason", "Why it was skipped."),
      cores("whenExpressions", "Its guards."),
  };
  static constexpr TypeInfo kType{
      .name = "SkippedTask", .doc = "A task that will not run.", .fields = kFields};
  return kType;
}

const TypeInfo& run_result_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the result."),
      text("type", "string, array or object."),
      any("value", "Its value."),
  };
  static constexpr TypeInfo kType{
      .name = "RunResult", .doc = "A result of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& step_state_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The step."),
      text("container", "Its container."),
      text("imageID", "The image that ran."),
      core("terminated", "How it ended."),
      core("running", "Since when it runs."),
      core("waiting", "Why it waits."),
      text("terminationReason", "Why it ended."),
      list<run_result_type>("results", "Its results."),
      object<provenance_type>("provenance", "What it was made from."),
      cores("inputs", "Artifacts it read."),
      cores("outputs", "Artifacts it made."),
  };
  static constexpr TypeInfo kType{
      .name = "StepState", .doc = "How a step stands.", .fields = kFields};
  return kType;
}

const TypeInfo& sidecar_state_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The sidecar."),           text("container", "Its container."),
      text("imageID", "The image that ran."), core("terminated", "How it ended."),
      core("running", "Since when it runs."), core("waiting", "Why it waits."),
  };
  static constexpr TypeInfo kType{
      .name = "SidecarState", .doc = "How a sidecar stands.", .fields = kFields};
  return kType;
}

}  // namespace

const TypeInfo& task_run_spec_type() {
  static constexpr FieldInfo kFields[] = {
      object<resolver_ref_type>("taskRef", "A Task."),
      core("taskSpec", "A task written here."),
      list<param_type>("params", "Params."),
      text("serviceAccountName", "Service account of the pod."),
      text("status", "TaskRunCancelled stops it."),
      text("statusMessage", "Why it is stopped."),
      number("retries", "How often it is tried again."),
      text("timeout", "Limit of one attempt; 0s: none."),
      object<pod_template_type>("podTemplate", "Settings of the pod."),
      list<workspace_binding_type>("workspaces", "Workspaces."),
      list<step_spec_type>("stepSpecs", "Resources of the steps."),
      list<sidecar_spec_type>("sidecarSpecs", "Resources of the sidecars."),
      core("computeResources", "Resources of the pod."),
      core("debug", "Not supported."),
      text("managedBy", "The controller that looks after it."),
  };
  static constexpr TypeInfo kType{
      .name = "TaskRunSpec", .doc = "One run of a task.", .fields = kFields};
  return kType;
}

const TypeInfo& task_run_status_type() {
  static constexpr FieldInfo kFields[] = {
      list<condition_type>("conditions", "How it stands."),
      number("observedGeneration", "Generation that was looked at."),
      text_map("annotations", "Notes."),
      text("podName", "Its pod."),
      instant("startTime", "When it was picked up."),
      instant("completionTime", "When it ended."),
      list<step_state_type>("steps", "How the steps stand."),
      list<sidecar_state_type>("sidecars", "How the sidecars stand."),
      list<run_result_type>("results", "Its results."),
      cores("retriesStatus", "How the earlier attempts ended."),
      core("taskSpec", "The task as it runs."),
      object<provenance_type>("provenance", "What it was made from."),
      core("artifacts", "Artifacts."),
      text_map("spanContext", "Trace."),
  };
  static constexpr TypeInfo kType{
      .name = "TaskRunStatus", .doc = "How a TaskRun stands.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_run_spec_type() {
  static constexpr FieldInfo kFields[] = {
      object<resolver_ref_type>("pipelineRef", "A Pipeline."),
      core("pipelineSpec", "A pipeline written here."),
      list<param_type>("params", "Params."),
      list<workspace_binding_type>("workspaces", "Workspaces."),
      object<timeouts_type>("timeouts", "Limits."),
      text("status", "Cancelled, CancelledRunFinally, StoppedRunFinally or PipelineRunPending."),
      object<task_run_template_type>("taskRunTemplate", "What every TaskRun starts from."),
      list<pipeline_task_run_spec_type>("taskRunSpecs", "Settings of single tasks."),
      text("managedBy", "The controller that looks after it."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineRunSpec", .doc = "One run of a pipeline.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_run_status_type() {
  static constexpr FieldInfo kFields[] = {
      list<condition_type>("conditions", "How it stands."),
      number("observedGeneration", "Generation that was looked at."),
      text_map("annotations", "Notes."),
      instant("startTime", "When it was picked up."),
      instant("completionTime", "When it ended."),
      instant("finallyStartTime", "When the finally tasks started."),
      core("pipelineSpec", "The pipeline as it runs."),
      list<child_reference_type>("childReferences", "Its TaskRuns."),
      list<skipped_task_type>("skippedTasks", "Tasks that will not run."),
      list<run_result_type>("results", "Its results."),
      object<provenance_type>("provenance", "What it was made from."),
      text_map("spanContext", "Trace."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineRunStatus", .doc = "How a PipelineRun stands.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api::tekton_schema
