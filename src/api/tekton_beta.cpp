// SPDX-License-Identifier: Apache-2.0
// Field tables of tekton.dev/v1beta1 where they differ from v1's (docs/spec/tekton.md 1): what
// moved, and names that changed.
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "api/tekton_fields.hpp"

namespace athanor::api::tekton_schema {
namespace {

using Fields = std::vector<FieldInfo>;

// The fields of a v1 type without those that v1beta1 names otherwise, and then v1beta1's own.
Fields older_tekton(const TypeInfo& type, std::initializer_list<std::string_view> without,
                    Fields own) {
  Fields fields;
  for (const FieldInfo& field : type.fields) {
    if (std::find(without.begin(), without.end(), field.name) == without.end()) {
      fields.push_back(field);
    }
  }
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

// The type of a field's object or of its list's items.
const TypeInfo& type_below(const TypeInfo& type, std::string_view name) {
  const auto field = std::find_if(type.fields.begin(), type.fields.end(),
                                  [&](const FieldInfo& one) { return one.name == name; });
  const MemberOps& ops = *field->ops;
  return (ops.shape == Shape::List ? *ops.element : ops).type();
}

FieldInfo resources() {
  return core("resources", "Resources.");
}

// Inputs and outputs of the time before workspaces: kept, without effect.
FieldInfo old_resources() {
  return core("resources", "PipelineResources: kept, without effect.");
}

FieldInfo bundle() {
  return text("bundle", "An OCI image that holds the definition; resolver bundles.");
}

const TypeInfo& ref_beta_type() {
  static const Fields kFields = older_tekton(resolver_ref_type(), {}, {bundle()});
  static const TypeInfo kType{
      .name = "Ref", .doc = "A definition by name or by resolver.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_task_beta_type() {
  static const Fields kFields = older_tekton(type_below(pipeline_spec_type(), "tasks"), {"taskRef"},
                                             {object<ref_beta_type>("taskRef", "A Task.")});
  static const TypeInfo kType{
      .name = "PipelineTask", .doc = "A task of a pipeline.", .fields = kFields};
  return kType;
}

const TypeInfo& step_beta_type() {
  static const Fields kFields =
      older_tekton(type_below(task_spec_type(), "steps"), {"computeResources"}, {resources()});
  static const TypeInfo kType{.name = "Step", .doc = "One container of a task.", .fields = kFields};
  return kType;
}

const TypeInfo& step_template_beta_type() {
  static const Fields kFields = older_tekton(type_below(task_spec_type(), "stepTemplate"),
                                             {"computeResources"}, {resources()});
  static const TypeInfo kType{
      .name = "StepTemplate", .doc = "What every step starts from.", .fields = kFields};
  return kType;
}

const TypeInfo& sidecar_beta_type() {
  static const Fields kFields =
      older_tekton(type_below(task_spec_type(), "sidecars"), {"computeResources"}, {resources()});
  static const TypeInfo kType{
      .name = "Sidecar", .doc = "A container beside the steps.", .fields = kFields};
  return kType;
}

const TypeInfo& override_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The step or sidecar."),
      core("resources", "Its resources, in place of the task's."),
  };
  static constexpr TypeInfo kType{
      .name = "Override", .doc = "Resources of one container of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_task_run_spec_beta_type() {
  static constexpr FieldInfo kFields[] = {
      text("pipelineTaskName", "The task."),
      text("taskServiceAccountName", "Service account of its pod."),
      object<pod_template_type>("taskPodTemplate", "Settings of its pod."),
      list<override_type>("stepOverrides", "Resources of its steps."),
      list<override_type>("sidecarOverrides", "Resources of its sidecars."),
      object<metadata_type>("metadata", "Labels and annotations of its TaskRun."),
      core("computeResources", "Resources of its pod."),
      text("timeout", "Limit of one attempt."),
  };
  static constexpr TypeInfo kType{
      .name = "PipelineTaskRunSpec", .doc = "Settings of one task of a run.", .fields = kFields};
  return kType;
}

FieldInfo results_as(std::string_view name, const TypeInfo& status) {
  const auto results = std::find_if(status.fields.begin(), status.fields.end(),
                                    [](const FieldInfo& one) { return one.name == "results"; });
  FieldInfo field = *results;
  field.name = name;
  return field;
}

}  // namespace

const TypeInfo& task_spec_beta_type() {
  static const Fields kFields = older_tekton(
      task_spec_type(), {"steps", "stepTemplate", "sidecars"},
      {list<step_beta_type>("steps", "The steps, one after another."),
       object<step_template_beta_type>("stepTemplate", "What every step starts from."),
       list<sidecar_beta_type>("sidecars", "Containers beside the steps."), old_resources()});
  static const TypeInfo kType{
      .name = "TaskSpec", .doc = "Steps that run in one pod.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_spec_beta_type() {
  static const Fields kFields = older_tekton(
      pipeline_spec_type(), {"tasks", "finally"},
      {list<pipeline_task_beta_type>("tasks", "The tasks."),
       list<pipeline_task_beta_type>("finally", "Tasks that run when all others are done."),
       cores("resources", "PipelineResources: kept, without effect.")});
  static const TypeInfo kType{
      .name = "PipelineSpec", .doc = "Tasks and their order.", .fields = kFields};
  return kType;
}

const TypeInfo& task_run_spec_beta_type() {
  static const Fields kFields = older_tekton(
      task_run_spec_type(), {"stepSpecs", "sidecarSpecs", "taskRef"},
      {object<ref_beta_type>("taskRef", "A Task."),
       list<override_type>("stepOverrides", "Resources of the steps."),
       list<override_type>("sidecarOverrides", "Resources of the sidecars."), old_resources()});
  static const TypeInfo kType{
      .name = "TaskRunSpec", .doc = "One run of a task.", .fields = kFields};
  return kType;
}

const TypeInfo& task_run_status_beta_type() {
  static const Fields kFields = older_tekton(task_run_status_type(), {"results"},
                                             {results_as("taskResults", task_run_status_type())});
  static const TypeInfo kType{
      .name = "TaskRunStatus", .doc = "How a TaskRun stands.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_run_spec_beta_type() {
  static const Fields kFields = older_tekton(
      pipeline_run_spec_type(), {"taskRunTemplate", "taskRunSpecs", "pipelineRef"},
      {object<ref_beta_type>("pipelineRef", "A Pipeline."),
       cores("resources", "PipelineResources: kept, without effect."),
       text("timeout", "Limit of the whole run; 0s: none."),
       text("serviceAccountName", "Service account of the pods."),
       object<pod_template_type>("podTemplate", "Settings of the pods."),
       list<pipeline_task_run_spec_beta_type>("taskRunSpecs", "Settings of single tasks.")});
  static const TypeInfo kType{
      .name = "PipelineRunSpec", .doc = "One run of a pipeline.", .fields = kFields};
  return kType;
}

const TypeInfo& pipeline_run_status_beta_type() {
  static const Fields kFields =
      older_tekton(pipeline_run_status_type(), {"results"},
                   {results_as("pipelineResults", pipeline_run_status_type())});
  static const TypeInfo kType{
      .name = "PipelineRunStatus", .doc = "How a PipelineRun stands.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api::tekton_schema
