// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/custom_fields.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace athanor::lab {
namespace {

using enum nodes::FieldTreatment;

struct CustomRule {
  std::string_view group{};
  std::string_view type{};
  nodes::FieldTreatment treatment = Done;
  std::string_view fields{};  // separated by blanks
};

constexpr std::string_view kTekton = "tekton.dev";
constexpr std::string_view kKueue = "kueue.x-k8s.io";

constexpr CustomRule kCustomRules[] = {
    {kTekton, "Task", Done, "spec"},
    {kTekton, "StepAction", Done, "spec"},
    {kTekton, "Pipeline", Done, "spec"},
    {kTekton, "TaskRun", Done, "spec"},
    {kTekton, "PipelineRun", Done, "spec"},
    // For a controller of others.
    {kTekton, "CustomRun", Whole, "spec"},
    {kTekton, "VerificationPolicy", Noted, "spec"},
    {"resolution.tekton.dev", "ResolutionRequest", Noted, "spec"},
    {kTekton, "TaskSpec", Done,
     "description displayName params results sidecars stepTemplate steps workspaces"},
    {kTekton, "TaskSpec", Whole, "volumes"},
    {kTekton, "TaskSpec", Noted, "resources"},  // of v1beta1, as all "resources" of specs below
    {kTekton, "StepActionSpec", Done, "args command description image params results script"},
    {kTekton, "StepActionSpec", Done, "workingDir"},
    {kTekton, "StepActionSpec", Whole, "env securityContext volumeMounts"},
    {kTekton, "PipelineSpec", Done,
     "description displayName finally params results tasks workspaces"},
    {kTekton, "PipelineSpec", Noted, "resources"},
    {kTekton, "ParamSpec", Done, "default description name type"},
    {kTekton, "ParamSpec", Whole, "properties"},
    {kTekton, "ParamSpec", Refused, "enum"},  // unless its flag is set
    {kTekton, "Param", Done, "name value"},
    {kTekton, "Result", Done, "description name type value"},
    {kTekton, "Result", Whole, "properties"},
    {kTekton, "WorkspaceUsage", Done, "mountPath name"},
    {kTekton, "WorkspaceDeclaration", Done, "description mountPath name optional readOnly"},
    {kTekton, "PipelineWorkspaceDeclaration", Done, "description name optional"},
    {kTekton, "WorkspacePipelineTaskBinding", Done, "name subPath workspace"},
    {kTekton, "WorkspaceBinding", Done, "name subPath"},
    {kTekton, "WorkspaceBinding", Whole,
     "configMap emptyDir persistentVolumeClaim projected secret volumeClaimTemplate"},
    {kTekton, "WorkspaceBinding", Refused, "csi"},  // by the node
    {kTekton, "StepOutputConfig", Done, "path"},
    {kTekton, "WhenExpression", Done, "input operator values"},
    {kTekton, "WhenExpression", Refused, "cel"},  // in steps, and elsewhere unless its flag is set
    {kTekton, "Ref", Done, "apiVersion kind name params resolver"},
    {kTekton, "Ref", Refused, "bundle"},  // of v1beta1
    {kTekton, "Step", Done,
     "args command displayName image imagePullPolicy name onError params ref results script "
     "stderrConfig stdoutConfig timeout when workingDir workspaces"},
    {kTekton, "Step", Whole, "computeResources env envFrom resources securityContext volumeMounts"},
    {kTekton, "Step", Noted, "volumeDevices"},
    {kTekton, "StepTemplate", Done, "args command image imagePullPolicy workingDir"},
    {kTekton, "StepTemplate", Whole,
     "computeResources env envFrom resources securityContext volumeMounts"},
    {kTekton, "StepTemplate", Noted, "volumeDevices"},
    {kTekton, "Sidecar", Done,
     "args command image imagePullPolicy name restartPolicy script stdin stdinOnce "
     "terminationMessagePath terminationMessagePolicy tty workingDir workspaces"},
    {kTekton, "Sidecar", Whole,
     "computeResources env envFrom lifecycle livenessProbe ports readinessProbe resources "
     "securityContext startupProbe volumeMounts"},
    {kTekton, "Sidecar", Noted, "volumeDevices"},
    {kTekton, "IncludeParams", Done, "name params"},
    {kTekton, "Matrix", Done, "include params"},
    {kTekton, "PipelineTask", Done,
     "description displayName matrix name onError params retries runAfter taskRef taskSpec timeout "
     "when workspaces"},
    {kTekton, "PipelineTask", Refused, "pipelineRef pipelineSpec"},
    {kTekton, "PodTemplate", Done,
     "automountServiceAccountToken dnsPolicy enableServiceLinks nodeSelector priorityClassName "
     "schedulerName"},
    {kTekton, "PodTemplate", Whole,
     "affinity dnsConfig env hostAliases securityContext tolerations topologySpreadConstraints "
     "volumes"},
    {kTekton, "PodTemplate", Emulated, "hostNetwork imagePullSecrets"},
    {kTekton, "PodTemplate", Noted, "hostUsers runtimeClassName"},
    {kTekton, "TaskRunStepSpec", Whole, "computeResources name"},
    {kTekton, "TaskRunSidecarSpec", Whole, "computeResources name"},
    {kTekton, "Override", Whole, "name resources"},
    {kTekton, "TaskRunSpec", Done,
     "managedBy params podTemplate retries serviceAccountName sidecarSpecs status statusMessage "
     "stepSpecs taskRef taskSpec timeout workspaces"},
    {kTekton, "TaskRunSpec", Done, "sidecarOverrides stepOverrides"},
    {kTekton, "TaskRunSpec", Whole, "computeResources"},
    {kTekton, "TaskRunSpec", Noted, "debug resources"},
    {kTekton, "PipelineRunSpec", Done,
     "managedBy params pipelineRef pipelineSpec status taskRunSpecs taskRunTemplate timeouts "
     "workspaces"},
    {kTekton, "PipelineRunSpec", Done, "podTemplate serviceAccountName timeout"},
    {kTekton, "PipelineRunSpec", Noted, "resources"},
    {kTekton, "TimeoutFields", Done, "finally pipeline tasks"},
    {kTekton, "PipelineTaskRunTemplate", Done, "podTemplate serviceAccountName"},
    {kTekton, "PipelineTaskRunSpec", Done,
     "metadata pipelineTaskName podTemplate serviceAccountName sidecarSpecs stepSpecs timeout"},
    {kTekton, "PipelineTaskRunSpec", Done,
     "sidecarOverrides stepOverrides taskPodTemplate taskServiceAccountName"},
    {kTekton, "PipelineTaskRunSpec", Whole, "computeResources"},
    {kTekton, "PipelineTaskMetadata", Done, "annotations labels"},

    {kKueue, "ResourceFlavor", Done, "spec"},
    {kKueue, "ResourceFlavorSpec", Done, "nodeLabels nodeTaints tolerations"},
    {kKueue, "ResourceFlavorSpec", Noted, "topologyName"},
    {kKueue, "Taint", Done, "effect key value"},
    {kKueue, "Taint", Emulated, "timeAdded"},
    {kKueue, "Toleration", Done, "effect key operator tolerationSeconds value"},
    {kKueue, "ClusterQueue", Done, "spec"},
    {kKueue, "ClusterQueueSpec", Done,
     "admissionChecksStrategy cohortName fairSharing flavorFungibility preemption queueingStrategy "
     "resourceGroups stopPolicy"},
    {kKueue, "ClusterQueueSpec", Done, "admissionChecks cohort"},  // of v1beta1
    {kKueue, "ClusterQueueSpec", Whole, "namespaceSelector"},
    {kKueue, "ClusterQueueSpec", Noted, "admissionScope"},
    {kKueue, "ResourceGroup", Done, "coveredResources flavors"},
    {kKueue, "FlavorQuotas", Done, "name resources"},
    {kKueue, "ResourceQuota", Done, "borrowingLimit lendingLimit name nominalQuota"},
    {kKueue, "FairSharing", Done, "weight"},
    {kKueue, "FlavorFungibility", Done, "preference whenCanBorrow whenCanPreempt"},
    {kKueue, "BorrowWithinCohort", Done, "maxPriorityThreshold policy"},
    {kKueue, "ClusterQueuePreemption", Done,
     "borrowWithinCohort reclaimWithinCohort withinClusterQueue"},
    {kKueue, "AdmissionCheckStrategyRule", Done, "name onFlavors"},
    {kKueue, "AdmissionChecksStrategy", Done, "admissionChecks"},
    {kKueue, "LocalQueue", Done, "spec"},
    {kKueue, "LocalQueueSpec", Done, "clusterQueue stopPolicy"},
    {kKueue, "LocalQueueSpec", Noted, "fairSharing"},
    {kKueue, "Cohort", Done, "spec"},
    {kKueue, "CohortSpec", Done, "fairSharing parentName resourceGroups"},
    {kKueue, "Workload", Done, "spec"},
    {kKueue, "WorkloadSpec", Done,
     "active maximumExecutionTimeSeconds podSets priority priorityClassRef queueName"},
    {kKueue, "WorkloadSpec", Done, "priorityClassName priorityClassSource"},  // of v1beta1
    {kKueue, "PodSet", Done, "count minCount name"},
    {kKueue, "PodSet", Whole, "template"},
    {kKueue, "PodSet", Noted, "topologyRequest"},
    {kKueue, "PriorityClassRef", Done, "group kind name"},
    {kKueue, "WorkloadPriorityClass", Done, "description value"},
    {kKueue, "AdmissionCheck", Done, "spec"},
    // For a controller of others.
    {kKueue, "AdmissionCheckSpec", Whole, "controllerName parameters"},
    {kKueue, "Topology", Noted, "spec"},
    {kKueue, "MultiKueueConfig", Noted, "spec"},
    {kKueue, "MultiKueueCluster", Noted, "spec"},
    {kKueue, "ProvisioningRequestConfig", Noted, "spec"},
};

// Adds what a pod of these parts would not do. `part` is the path in `spec` that `path` replaces.
void note_part(const Value& spec, std::string_view part, std::string_view path,
               std::vector<std::string>& warnings) {
  for (const std::string& field : nodes::noted_fields(spec)) {
    warnings.push_back(
        fmt::format("{}{}: has no effect on emulated nodes", path, field.substr(part.size())));
  }
}

void note_template(const Value& pod_template, std::string_view path,
                   std::vector<std::string>& warnings) {
  note_part(pod_template, "spec", path, warnings);
}

void note_containers(const Value& list, const std::string& path,
                     std::vector<std::string>& warnings) {
  Value containers = list;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    // Tekton's webhook names these.
    containers.item(i).erase("volumeDevices");
  }
  note_part(Value::object({{"containers", std::move(containers)}}), "spec.containers", path,
            warnings);
}

void note_task(const Value& spec, const std::string& path, std::vector<std::string>& warnings) {
  for (const char* list : {"steps", "sidecars"}) {
    if (spec[list].is_list()) {
      note_containers(spec[list], fmt::format("{}.{}", path, list), warnings);
    }
  }
  if (Value step = spec["stepTemplate"]; step.is_object()) {
    step.erase("volumeDevices");
    note_part(Value::object({{"containers", Value::list({std::move(step)})}}), "spec.containers[0]",
              path + ".stepTemplate", warnings);
  }
}

void note_pipeline(const Value& spec, const std::string& path, std::vector<std::string>& warnings) {
  for (const char* list : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      note_task(spec[list][i]["taskSpec"], fmt::format("{}.{}[{}].taskSpec", path, list, i),
                warnings);
    }
  }
}

}  // namespace

std::optional<nodes::FieldTreatment> custom_field(std::string_view group, std::string_view type,
                                                  std::string_view field) {
  for (const CustomRule& rule : kCustomRules) {
    if (rule.group != group || rule.type != type) {
      continue;
    }
    const auto fields = words_of(rule.fields, ' ');
    if (std::ranges::find(fields, field) != fields.end()) {
      return rule.treatment;
    }
  }
  return std::nullopt;
}

std::vector<std::string> custom_fields() {
  std::vector<std::string> rows;
  for (const CustomRule& rule : kCustomRules) {
    for (const std::string_view field : words_of(rule.fields, ' ')) {
      rows.push_back(fmt::format("{}.{}.{}", rule.group, rule.type, field));
    }
  }
  return rows;
}

void warn_of_custom_fields(std::string_view resource, const Value& object,
                           std::vector<std::string>& warnings) {
  const Value& spec = object["spec"];
  if (resource == "tasks.tekton.dev") {
    note_task(spec, "spec", warnings);
  } else if (resource == "stepactions.tekton.dev") {
    note_part(Value::object({{"containers", Value::list({spec})}}), "spec.containers[0]", "spec",
              warnings);
  } else if (resource == "pipelines.tekton.dev") {
    note_pipeline(spec, "spec", warnings);
  } else if (resource == "taskruns.tekton.dev") {
    note_task(spec["taskSpec"], "spec.taskSpec", warnings);
    note_template(spec["podTemplate"], "spec.podTemplate", warnings);
  } else if (resource == "pipelineruns.tekton.dev") {
    note_pipeline(spec["pipelineSpec"], "spec.pipelineSpec", warnings);
    note_template(spec["taskRunTemplate"]["podTemplate"], "spec.taskRunTemplate.podTemplate",
                  warnings);
    for (std::size_t i = 0; i < spec["taskRunSpecs"].size(); ++i) {
      note_template(spec["taskRunSpecs"][i]["podTemplate"],
                    fmt::format("spec.taskRunSpecs[{}].podTemplate", i), warnings);
    }
  }
}

}  // namespace athanor::lab
