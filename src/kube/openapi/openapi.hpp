// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 documents of group-versions, as kubectl's explain, apply and diff read them
// (docs/spec/apiserver.md 4.6).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

struct OpenApiSubresource {
  std::string name{};
  // The body's; empty group and version: those of the document.
  std::string group{};
  std::string version{};
  std::string kind{};
  std::vector<std::string> verbs{};
};

// One resource of the document's group-version.
struct OpenApiResource {
  std::string plural{};
  std::string kind{};
  std::string list_kind{};  // empty: kind + "List"
  bool namespaced = true;
  std::vector<std::string> verbs{};
  std::vector<OpenApiSubresource> subresources{};
  // Custom resources: the version's openAPIV3Schema as the CRD has it; Null for built-in kinds.
  Value custom_schema{};
};

// Returns the document: path items with actions and parameters (rule c), and the schemas of all
// kinds and of what they refer to (rules d, e). Built once per change; equal parts are shared.
Value openapi_document(std::string_view group, std::string_view version,
                       std::span<const OpenApiResource> resources);

// Returns the built-in resources of a group-version (Appendix D).
std::vector<OpenApiResource> builtin_openapi_resources(std::string_view group,
                                                       std::string_view version);

// Returns the component of one built-in type, without its group-version-kinds.
Value openapi_component(const Schema& schema);

// Returns "com.ex.v1.Widget" for group ex.com.
std::string openapi_custom_name(std::string_view group, std::string_view version,
                                std::string_view kind);

}  // namespace athanor
