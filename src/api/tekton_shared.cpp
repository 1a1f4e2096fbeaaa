// SPDX-License-Identifier: Apache-2.0
// Field tables that several Tekton kinds share (docs/spec/tekton.md 3).
#include "api/tekton_fields.hpp"

namespace athanor::api::tekton_schema {

const TypeInfo& param_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the param."),
      any("value", "A string, a list of strings or a map of strings."),
  };
  static constexpr TypeInfo kType{
      .name = "Param", .doc = "The value of a param.", .fields = kFields};
  return kType;
}

const TypeInfo& workspace_binding_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The workspace that is bound."),
      text("subPath", "Directory of the volume to use."),
      core("emptyDir", "A directory that lives as long as the pod."),
      core("persistentVolumeClaim", "An existing claim."),
      core("volumeClaimTemplate", "A claim made for the run and deleted with it."),
      core("configMap", "A ConfigMap as files."),
      core("secret", "A Secret as files."),
      core("projected", "Several sources in one directory."),
      core("csi", "A volume of a CSI driver."),
  };
  static constexpr TypeInfo kType{
      .name = "WorkspaceBinding", .doc = "Where a workspace's files come from.", .fields = kFields};
  return kType;
}

const TypeInfo& pod_template_type() {
  static constexpr FieldInfo kFields[] = {
      text_map("nodeSelector", "Labels a node must have."),
      cores("env", "Environment of every container."),
      cores("tolerations", "Taints that are tolerated."),
      core("affinity", "Where pods shall run."),
      core("securityContext", "Security settings of the pod."),
      cores("volumes", "Volumes that steps may mount."),
      text("runtimeClassName", "Container runtime."),
      flag("automountServiceAccountToken", "Whether the token is mounted."),
      text("dnsPolicy", "DNS policy."),
      core("dnsConfig", "DNS settings."),
      flag("enableServiceLinks", "Whether services appear in the environment."),
      text("priorityClassName", "Priority of the pod."),
      text("schedulerName", "Scheduler of the pod."),
      cores("imagePullSecrets", "Secrets for pulling images."),
      cores("hostAliases", "Entries of the hosts file."),
      flag("hostNetwork", "Whether the node's network is used."),
      flag("hostUsers", "Whether the node's user namespace is used."),
      cores("topologySpreadConstraints", "How pods spread over the nodes."),
  };
  static constexpr TypeInfo kType{
      .name = "PodTemplate", .doc = "Settings of the pods of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& step_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The step."),
      core("computeResources", "Its resources, in place of the task's."),
  };
  static constexpr TypeInfo kType{
      .name = "TaskRunStepSpec", .doc = "Resources of one step of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& sidecar_spec_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "The sidecar."),
      core("computeResources", "Its resources, in place of the task's."),
  };
  static constexpr TypeInfo kType{
      .name = "TaskRunSidecarSpec", .doc = "Resources of one sidecar of a run.", .fields = kFields};
  return kType;
}

const TypeInfo& condition_type() {
  static constexpr FieldInfo kFields[] = {
      row("type", "Succeeded.", ops_of<std::string>(), {.required = true}),
      row("status", "True, False or Unknown.", ops_of<std::string>(), {.required = true}),
      text("severity", "Empty for an error."),
      text("reason", "One word on why."),
      text("message", "A sentence on why."),
      row("lastTransitionTime", "When status last changed.", ops_of<std::string>()),
  };
  static constexpr TypeInfo kType{
      .name = "Condition", .doc = "How a run stands.", .fields = kFields};
  return kType;
}

const TypeInfo& resolver_ref_type() {
  static constexpr FieldInfo kFields[] = {
      text("name", "Name of the definition."),
      text("kind", "Kind of the definition."),
      text("apiVersion", "API version of the definition."),
      text("resolver", "Where else the definition is found."),
      list<param_type>("params", "What the resolver needs to know."),
  };
  static constexpr TypeInfo kType{
      .name = "Ref", .doc = "A definition by name or by resolver.", .fields = kFields};
  return kType;
}

const TypeInfo& metadata_type() {
  static constexpr FieldInfo kFields[] = {
      text_map("labels", "Labels of what is made."),
      text_map("annotations", "Annotations of what is made."),
  };
  static constexpr TypeInfo kType{.name = "PipelineTaskMetadata",
                                  .doc = "Labels and annotations of what is made.",
                                  .fields = kFields};
  return kType;
}

const TypeInfo& provenance_type() {
  static constexpr FieldInfo kFields[] = {
      core("refSource", "Where the definition came from."),
      core("featureFlags", "The settings under which the run started."),
  };
  static constexpr TypeInfo kType{
      .name = "Provenance", .doc = "What a run was made from.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api::tekton_schema
