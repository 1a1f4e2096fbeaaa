// SPDX-License-Identifier: Apache-2.0
// The field tables of AppWrapper.
#include "systems/appwrapper/model/kinds.hpp"

#include "api/describe_ops.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kRootDoc =
    "Objects that are queued, started, watched, retried and removed as one workload.";
constexpr std::string_view kSpecDoc = "The wrapped objects, and whether they may exist.";
constexpr std::string_view kStatusDoc = "State of the workload; written by the controller.";
constexpr std::string_view kComponentsDoc = "The wrapped objects, in order of creation.";
constexpr std::string_view kPodSetsDoc =
    "Groups of identical pods of the template; inferred for well-known kinds.";
constexpr std::string_view kAnnotationsDoc = "Annotations; stored, not interpreted.";

// metav1.Condition, merged by type.
constexpr std::string_view kConditions = R"({
  "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
  "items": {"type": "object", "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
      "type": {"type": "string", "maxLength": 316,
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},
      "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
      "lastTransitionTime": {"type": "string", "format": "date-time"},
      "reason": {"type": "string", "minLength": 1, "maxLength": 1024,
        "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
      "message": {"type": "string", "maxLength": 32768},
      "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0}}}})";

constexpr std::string_view kPodSetInfos = R"({
  "type": "array",
  "items": {"type": "object", "properties": {
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
    "tolerations": {"type": "array", "items": {"type": "object", "properties": {
      "key": {"type": "string"}, "operator": {"type": "string"}, "value": {"type": "string"},
      "effect": {"type": "string"}, "tolerationSeconds": {"type": "integer", "format": "int64"}}}},
    "schedulingGates": {"type": "array", "items": {"type": "object", "required": ["name"],
      "properties": {"name": {"type": "string"}}}}}}})";

// kubectl prints NAME first.
constexpr api::PrinterColumn kColumns[] = {
    {.name = "Status", .type = "string", .json_path = ".status.phase"},
    {.name = "Quota Reserved",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=="QuotaReserved")].status)"},
    {.name = "Resources Deployed",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=="ResourcesDeployed")].status)"},
    {.name = "Unhealthy",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=="Unhealthy")].status)"},
    {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"},
};
constexpr std::string_view kShortNames[] = {"aw"};
constexpr api::VersionInfo kVersions[] = {
    {.name = "v1beta2", .type = &api::Describe<AppWrapper>::type, .columns = kColumns}};
constexpr api::CustomKind kCustomKind{.kind = &kAppWrapper,
                                      .singular = "appwrapper",
                                      .short_names = kShortNames,
                                      .versions = kVersions};

}  // namespace

Value to_value(const PodSet& pod_set) {
  return api::encode(pod_set);
}

Value to_value(const std::vector<PodSet>& pod_sets) {
  Value list = Value::list();
  for (const PodSet& pod_set : pod_sets) {
    list.push_back(to_value(pod_set));
  }
  return list;
}

std::span<const api::CustomKind* const> custom_kinds() {
  static constexpr const api::CustomKind* kKinds[] = {&kCustomKind};
  return kKinds;
}

}  // namespace athanor::appwrapper

namespace athanor::api {

using appwrapper::AppWrapper;
using appwrapper::AppWrapperSpec;
using appwrapper::AppWrapperStatus;
using appwrapper::Component;
using appwrapper::ComponentStatus;
using appwrapper::PodSet;

const TypeInfo& Describe<PodSet>::type() {
  static const FieldInfo kFields[] = {
      field<&PodSet::path>("path", "Where the pod template is inside the component's template.",
                           {.required = true}),
      field<&PodSet::replicas>("replicas", "Number of pods; absent: 1."),
      field<&PodSet::annotations>("annotations", "Topology hints for the queueing system."),
  };
  static const TypeInfo kType{
      .name = "AppWrapperPodSet", .doc = "A group of identical pods.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Component>::type() {
  static const FieldInfo kFields[] = {
      field<&Component::template_value>(
          "template", "The object to create.",
          {.required = true, .preserve_unknown = true, .embedded_resource = true}),
      field<&Component::pod_sets>("podSets", appwrapper::kPodSetsDoc),
      field<&Component::pod_set_infos>(
          "podSetInfos", "What admission adds to each PodSet; written by the workload controller.",
          {.schema_json = appwrapper::kPodSetInfos}),
      field<&Component::annotations>("annotations", appwrapper::kAnnotationsDoc),
  };
  static const TypeInfo kType{
      .name = "AppWrapperComponent", .doc = "One wrapped object.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AppWrapperSpec>::type() {
  static const FieldInfo kFields[] = {
      field<&AppWrapperSpec::components>("components", appwrapper::kComponentsDoc,
                                         {.required = true}),
      field<&AppWrapperSpec::suspend>("suspend", "True: the wrapped objects must not exist."),
      field<&AppWrapperSpec::managed_by>("managedBy",
                                         "Name of the controller that acts on this object."),
  };
  static const TypeInfo kType{
      .name = "AppWrapperSpec", .doc = appwrapper::kSpecDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ComponentStatus>::type() {
  static const FieldInfo kFields[] = {
      field<&ComponentStatus::name>("name", "Name of the created object; empty before.",
                                    {.required = true}),
      field<&ComponentStatus::kind>("kind", "Kind of the created object; empty before.",
                                    {.required = true}),
      field<&ComponentStatus::api_version>(
          "apiVersion", "API version of the created object; empty before.", {.required = true}),
      field<&ComponentStatus::pod_sets>("podSets", "PodSets as declared, else as inferred.",
                                        {.required = true}),
      field<&ComponentStatus::conditions>("conditions", "ResourcesDeployed.",
                                          {.schema_json = appwrapper::kConditions}),
  };
  static const TypeInfo kType{
      .name = "AppWrapperComponentStatus", .doc = "State of one component.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AppWrapperStatus>::type() {
  static const FieldInfo kFields[] = {
      field<&AppWrapperStatus::phase>("phase", "Phase; empty until the controller has seen it."),
      field<&AppWrapperStatus::resetting_count>("resettingCount", "Number of counted resets."),
      field<&AppWrapperStatus::conditions>(
          "conditions",
          "QuotaReserved, ResourcesDeployed, PodsReady, Unhealthy, DeletingResources.",
          {.schema_json = appwrapper::kConditions}),
      field<&AppWrapperStatus::component_status>("componentStatus",
                                                 "One entry for each entry of spec.components."),
  };
  static const TypeInfo kType{
      .name = "AppWrapperStatus", .doc = appwrapper::kStatusDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AppWrapper>::type() {
  static const FieldInfo kFields[] = {
      field<&AppWrapper::spec>("spec", appwrapper::kSpecDoc),
      field<&AppWrapper::status>("status", appwrapper::kStatusDoc),
  };
  static const TypeInfo kType{.name = "AppWrapper", .doc = appwrapper::kRootDoc, .fields = kFields};
  return kType;
}

}  // namespace athanor::api
