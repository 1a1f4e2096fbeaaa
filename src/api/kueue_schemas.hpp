// SPDX-License-Identifier: Apache-2.0
// Schema texts that several Kueue kinds share. Private to src/api/kueue*.cpp.
#pragma once

#include <string_view>

namespace athanor::api::kueue {

inline constexpr std::string_view kConditionsSchema = R"({
  "type": "array", "maxItems": 16,
  "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
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

inline constexpr std::string_view kLabelSelectorSchema = R"({
  "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
    "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
    "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic",
      "items": {"type": "object", "required": ["key", "operator"], "properties": {
        "key": {"type": "string"}, "operator": {"type": "string"},
        "values": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}}}}}}})";

// DNS-1123 subdomain and label.
inline constexpr std::string_view kSubdomainPattern =
    R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)";
inline constexpr std::string_view kLabelPattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

// Returns the rules of a v1beta1 Workload as a whole.
std::string_view workload_rules_v1beta1();

}  // namespace athanor::api::kueue
