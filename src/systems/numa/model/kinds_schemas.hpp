// SPDX-License-Identifier: Apache-2.0
// Schemas of members that are read as plain values. Included by the field tables alone.
#pragma once

#include <string_view>

namespace athanor::numa::schemas {

// A metav1.LabelSelector, as of nodeGroups[].machineConfigPoolSelector.
inline constexpr std::string_view kLabelSelector = R"json({
  "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
    "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
    "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
      "type": "object", "required": ["key", "operator"], "properties": {
        "key": {"type": "string"}, "operator": {"type": "string"},
        "values": {"type": "array", "x-kubernetes-list-type": "atomic",
                   "items": {"type": "string"}}}}}}})json";

// A list of tolerations, as of nodeGroups[].config.tolerations.
inline constexpr std::string_view kTolerations = R"json({
  "type": "array", "items": {"type": "object", "properties": {
    "key": {"type": "string"}, "operator": {"type": "string"}, "value": {"type": "string"},
    "effect": {"type": "string"},
    "tolerationSeconds": {"type": "integer", "format": "int64"}}}})json";

// status of NUMAResourcesOperator (docs/spec/numa.md 2.2).
inline constexpr std::string_view kOperatorStatus = R"json({
  "type": "object", "properties": {
    "daemonsets": {"type": "array", "items": {"type": "object", "properties": {
      "namespace": {"type": "string"}, "name": {"type": "string"}}}},
    "machineconfigpools": {"type": "array", "items": {
      "type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"},
        "conditions": {"type": "array", "items": {
          "type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
    "nodeGroups": {"type": "array", "items": {
      "type": "object", "required": ["daemonsets", "config", "selector"], "properties": {
        "daemonsets": {"type": "object", "properties": {
          "namespace": {"type": "string"}, "name": {"type": "string"}}},
        "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "selector": {"type": "string"}}}},
    "conditions": {"type": "array", "items": {
      "type": "object", "required": ["type", "status", "lastTransitionTime", "reason", "message"],
      "properties": {
        "type": {"type": "string", "maxLength": 316},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
        "message": {"type": "string", "maxLength": 32768}}}},
    "relatedObjects": {"type": "array", "items": {
      "type": "object", "required": ["group", "name", "resource"], "properties": {
        "group": {"type": "string"}, "name": {"type": "string"},
        "namespace": {"type": "string"}, "resource": {"type": "string"}}}}}})json";

// status of NUMAResourcesScheduler (docs/spec/numa.md 3.2).
inline constexpr std::string_view kSchedulerStatus = R"json({
  "type": "object", "properties": {
    "deployment": {"type": "object", "properties": {
      "namespace": {"type": "string"}, "name": {"type": "string"}}},
    "schedulerName": {"type": "string"},
    "cacheResyncPeriod": {"type": "string"},
    "conditions": {"type": "array", "items": {
      "type": "object", "required": ["type", "status", "lastTransitionTime", "reason", "message"],
      "properties": {
        "type": {"type": "string", "maxLength": 316},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
        "message": {"type": "string", "maxLength": 32768}}}},
    "relatedObjects": {"type": "array", "items": {
      "type": "object", "required": ["group", "name", "resource"], "properties": {
        "group": {"type": "string"}, "name": {"type": "string"},
        "namespace": {"type": "string"}, "resource": {"type": "string"}}}}}})json";

// attributes and zones of NodeResourceTopology (docs/spec/numa.md 4).
inline constexpr std::string_view kAttributes = R"json({
  "type": "array", "x-kubernetes-list-type": "atomic", "items": {
    "type": "object", "required": ["name", "value"], "properties": {
      "name": {"type": "string"}, "value": {"type": "string"}}}})json";

inline constexpr std::string_view kZones = R"json({
  "type": "array", "x-kubernetes-list-type": "atomic", "items": {
    "type": "object", "required": ["name", "type"], "properties": {
      "name": {"type": "string"}, "type": {"type": "string"}, "parent": {"type": "string"},
      "costs": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
        "type": "object", "required": ["name", "value"], "properties": {
          "name": {"type": "string"}, "value": {"type": "integer", "format": "int64"}}}},
      "attributes": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
        "type": "object", "required": ["name", "value"], "properties": {
          "name": {"type": "string"}, "value": {"type": "string"}}}},
      "resources": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
        "type": "object", "required": ["name", "capacity", "allocatable", "available"],
        "properties": {
          "name": {"type": "string"},
          "capacity": {"anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true, "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"},
          "allocatable": {"anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true, "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"},
          "available": {"anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true, "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"}}}}}}})json";

}  // namespace athanor::numa::schemas
