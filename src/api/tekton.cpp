// SPDX-License-Identifier: Apache-2.0
// The CRDs of the Tekton kinds: versions, short names, printer columns (docs/spec/tekton.md 1, 2).
#include "api/tekton.hpp"

#include "api/tekton_fields.hpp"

namespace athanor::api {
namespace {

using namespace tekton_schema;

// A root with a spec, and with a status where the kind has one.
template <TypeOf Spec>
const TypeInfo& definition_root() {
  static constexpr FieldInfo kFields[] = {
      object<Spec>("spec", "What it does."),
      core("status", "Unused."),
  };
  static constexpr TypeInfo kType{
      .name = "Definition", .doc = "A definition that runs refer to.", .fields = kFields};
  return kType;
}

template <TypeOf Spec, TypeOf Status>
const TypeInfo& run_root() {
  static constexpr FieldInfo kFields[] = {
      object<Spec>("spec", "What shall run."),
      object<Status>("status", "How it stands."),
  };
  static constexpr TypeInfo kType{
      .name = "Run", .doc = "One run of a definition.", .fields = kFields};
  return kType;
}

const TypeInfo& stored_root() {
  static constexpr FieldInfo kFields[] = {
      core("spec", "Kept as it is written."),
      core("status", "Kept as it is written."),
  };
  static constexpr TypeInfo kType{
      .name = "Stored", .doc = "Served and stored; nothing acts on it.", .fields = kFields};
  return kType;
}

constexpr PrinterColumn kRunColumns[] = {
    {"Succeeded", "string", R"j(.status.conditions[?(@.type=="Succeeded")].status)j"},
    {"Reason", "string", R"j(.status.conditions[?(@.type=="Succeeded")].reason)j"},
    {"StartTime", "date", ".status.startTime"},
    {"CompletionTime", "date", ".status.completionTime"},
};
constexpr std::string_view kCategories[] = {"tekton", "tekton-pipelines"};

constexpr TypeOf kPipelineRunRoot = run_root<pipeline_run_spec_type, pipeline_run_status_type>;
constexpr TypeOf kTaskRunRoot = run_root<task_run_spec_type, task_run_status_type>;
constexpr TypeOf kPipelineRunBeta =
    run_root<pipeline_run_spec_beta_type, pipeline_run_status_beta_type>;
constexpr TypeOf kTaskRunBeta = run_root<task_run_spec_beta_type, task_run_status_beta_type>;

constexpr VersionInfo kPipelineRunVersions[] = {
    {.name = "v1", .type = kPipelineRunRoot, .columns = kRunColumns},
    {.name = "v1beta1", .storage = false, .type = kPipelineRunBeta, .columns = kRunColumns},
};
constexpr VersionInfo kTaskRunVersions[] = {
    {.name = "v1", .type = kTaskRunRoot, .columns = kRunColumns},
    {.name = "v1beta1", .storage = false, .type = kTaskRunBeta, .columns = kRunColumns},
};
constexpr VersionInfo kPipelineVersions[] = {
    {.name = "v1", .type = definition_root<pipeline_spec_type>},
    {.name = "v1beta1", .storage = false, .type = definition_root<pipeline_spec_beta_type>},
};
constexpr VersionInfo kTaskVersions[] = {
    {.name = "v1", .type = definition_root<task_spec_type>},
    {.name = "v1beta1", .storage = false, .type = definition_root<task_spec_beta_type>},
};
constexpr VersionInfo kStepActionVersions[] = {
    {.name = "v1beta1", .type = definition_root<step_action_spec_type>},
    {.name = "v1alpha1", .storage = false, .type = definition_root<step_action_spec_type>},
};
constexpr VersionInfo kStoredBeta[] = {{.name = "v1beta1", .type = stored_root}};
constexpr VersionInfo kStoredAlpha[] = {{.name = "v1alpha1", .type = stored_root}};

constexpr std::string_view kPipelineRunNames[] = {"pr", "prs"};
constexpr std::string_view kTaskRunNames[] = {"tr", "trs"};

constexpr CustomKind kKinds[] = {
    {.kind = &kPipelineRun,
     .singular = "pipelinerun",
     .short_names = kPipelineRunNames,
     .categories = kCategories,
     .versions = kPipelineRunVersions},
    {.kind = &kTaskRun,
     .singular = "taskrun",
     .short_names = kTaskRunNames,
     .categories = kCategories,
     .versions = kTaskRunVersions},
    {.kind = &kPipeline,
     .singular = "pipeline",
     .categories = kCategories,
     .versions = kPipelineVersions},
    {.kind = &kTask, .singular = "task", .categories = kCategories, .versions = kTaskVersions},
    {.kind = &kStepAction,
     .singular = "stepaction",
     .categories = kCategories,
     .versions = kStepActionVersions},
    {.kind = &kCustomRun,
     .singular = "customrun",
     .categories = kCategories,
     .versions = kStoredBeta},
    {.kind = &kResolutionRequest,
     .singular = "resolutionrequest",
     .categories = kCategories,
     .versions = kStoredBeta},
    {.kind = &kVerificationPolicy,
     .singular = "verificationpolicy",
     .categories = kCategories,
     .versions = kStoredAlpha},
};

}  // namespace

std::span<const CustomKind* const> tekton_kinds() {
  static constexpr const CustomKind* kList[] = {&kKinds[0], &kKinds[1], &kKinds[2], &kKinds[3],
                                                &kKinds[4], &kKinds[5], &kKinds[6], &kKinds[7]};
  return kList;
}

}  // namespace athanor::api
