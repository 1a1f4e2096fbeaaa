// SPDX-License-Identifier: Apache-2.0
#include "api/kueue_stored.hpp"

#include <string>

#include "api/describe_ops.hpp"
#include "api/kueue_schemas.hpp"

namespace athanor::api::kueue {
namespace {

constexpr std::string_view kTopologySpec = R"json({"type": "object", "required": ["levels"],
  "properties": {"levels": {"type": "array", "minItems": 1, "maxItems": 16,
    "x-kubernetes-list-type": "atomic",
    "x-kubernetes-validations": [
      {"rule": "self == oldSelf", "message": "field is immutable"},
      {"rule": "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0",
       "message": "must be unique"},
      {"rule": "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
       "message": "the kubernetes.io/hostname label can only be used at the lowest level of topology"}],
    "items": {"type": "object", "required": ["nodeLabel"], "properties": {
      "nodeLabel": {"type": "string", "minLength": 1, "maxLength": 316,
        "description": "Label of the nodes of one domain of this level.",
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"}}}}}})json";

constexpr std::string_view kConfigSpec = R"json({"type": "object", "required": ["clusters"],
  "properties": {"clusters": {"type": "array", "minItems": 1, "maxItems": 20,
    "description": "MultiKueueClusters that take Workloads.",
    "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 256}}}})json";

constexpr std::string_view kClusterSpec = R"json({"type": "object", "required": ["clusterSource"],
  "properties": {"clusterSource": {"type": "object", "description": "How to reach the cluster.",
    "x-kubernetes-validations": [{"rule": "has(self.kubeConfig) != has(self.clusterProfileRef)",
      "message": "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"}],
    "properties": {"kubeConfig": {"type": "object", "required": ["location"], "properties": {
      "location": {"type": "string", "minLength": 1, "maxLength": 256,
                   "description": "Name of the Secret, or path of the file."},
      "locationType": {"type": "string", "enum": ["Secret", "Path"], "default": "Secret",
                       "description": "What the location is."}}},
    "clusterProfileRef": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 256,
               "description": "Name of the ClusterProfile."}}}}}}})json";
constexpr std::string_view kClusterSpecV1beta1 = R"json({"type": "object", "properties": {
    "kubeConfig": {"type": "object", "required": ["location"], "properties": {
      "location": {"type": "string", "minLength": 1, "maxLength": 256,
                   "description": "Name of the Secret, or path of the file."},
      "locationType": {"type": "string", "enum": ["Secret", "Path"], "default": "Secret",
                       "description": "What the location is."}}},
    "clusterProfileRef": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 256,
               "description": "Name of the ClusterProfile."}}}}})json";

constexpr std::string_view kProvisioningSpec = R"json({"type": "object",
  "required": ["provisioningClassName"], "properties": {
    "provisioningClassName": {"type": "string", "minLength": 1, "maxLength": 253,
      "description": "Class of the ProvisioningRequests.",
      "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
    "parameters": {"type": "object", "maxProperties": 100,
      "additionalProperties": {"type": "string", "maxLength": 255}},
    "managedResources": {"type": "array", "maxItems": 100, "x-kubernetes-list-type": "set",
      "items": {"type": "string"}},
    "retryStrategy": {"type": "object",
      "default": {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
      "properties": {
        "backoffLimitCount": {"type": "integer", "format": "int32", "default": 3},
        "backoffBaseSeconds": {"type": "integer", "format": "int32", "default": 60},
        "backoffMaxSeconds": {"type": "integer", "format": "int32", "default": 1800}}},
    "podSetUpdates": {"type": "object", "properties": {
      "nodeSelector": {"type": "array", "maxItems": 8, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["key"],
        "items": {"type": "object", "required": ["key", "valueFromProvisioningClassDetail"],
          "properties": {
            "key": {"type": "string", "minLength": 1, "maxLength": 317},
            "valueFromProvisioningClassDetail": {"type": "string", "minLength": 1,
              "maxLength": 32768}}}}}},
    "podSetMergePolicy": {"type": "string",
      "enum": ["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"]}}})json";

constexpr std::string_view kDoc = "Served and stored; no controller of Athanor acts on it.";

// status of both versions of a MultiKueueCluster.
const FieldInfo& cluster_status_field() {
  static const std::string kSchema =
      R"({"type": "object", "properties": {"conditions": )" + std::string(kConditionsSchema) + "}}";
  static const FieldInfo kField =
      schema_field<Value>("status", "Whether it is connected.", {.schema_json = kSchema});
  return kField;
}

}  // namespace

const TypeInfo& topology_type() {
  static const FieldInfo kFields[] = {schema_field<Value>("spec", "Levels of the nodes' topology.",
                                                          {.schema_json = kTopologySpec})};
  static const TypeInfo kType{.name = "Topology", .doc = kDoc, .fields = kFields};
  return kType;
}

const TypeInfo& multi_kueue_config_type() {
  static const FieldInfo kFields[] = {
      schema_field<Value>("spec", "Clusters that take Workloads.", {.schema_json = kConfigSpec})};
  static const TypeInfo kType{.name = "MultiKueueConfig", .doc = kDoc, .fields = kFields};
  return kType;
}

const TypeInfo& multi_kueue_cluster_type() {
  static const FieldInfo kFields[] = {
      schema_field<Value>("spec", "How to reach the cluster.", {.schema_json = kClusterSpec}),
      cluster_status_field()};
  static const TypeInfo kType{.name = "MultiKueueCluster", .doc = kDoc, .fields = kFields};
  return kType;
}

const TypeInfo& multi_kueue_cluster_type_v1beta1() {
  static const FieldInfo kFields[] = {schema_field<Value>("spec", "How to reach the cluster.",
                                                          {.schema_json = kClusterSpecV1beta1}),
                                      cluster_status_field()};
  static const TypeInfo kType{.name = "MultiKueueCluster", .doc = kDoc, .fields = kFields};
  return kType;
}

const TypeInfo& provisioning_request_config_type() {
  static const FieldInfo kFields[] = {schema_field<Value>("spec", "How resources are asked for.",
                                                          {.schema_json = kProvisioningSpec})};
  static const TypeInfo kType{.name = "ProvisioningRequestConfig", .doc = kDoc, .fields = kFields};
  return kType;
}

}  // namespace athanor::api::kueue
