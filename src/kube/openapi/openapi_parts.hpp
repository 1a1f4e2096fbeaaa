// SPDX-License-Identifier: Apache-2.0
// The two halves of an OpenAPI document; inside kube/ only.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/openapi/openapi.hpp"

namespace athanor::openapi {

Value reference(std::string_view component);
// Returns {"group","kind","version"}.
Value group_version_kind(std::string_view group, std::string_view version, std::string_view kind);

// components.schemas, grown by reachability.
class Components {
 public:
  // Adds a built-in type and everything it refers to; `kind` is one of its group-version-kinds,
  // Null when the type is not a kind of its own.
  void add(SchemaPtr schema, const Value& kind);
  // Adds a custom resource and its list.
  void add_custom(std::string_view group, std::string_view version,
                  const OpenApiResource& resource);
  // Returns objects by component name, sorted.
  [[nodiscard]] Value schemas() const;

 private:
  void collect(const Schema& schema);

  std::map<std::string, Value> schemas_{};
  std::map<std::string, std::vector<Value>> kinds_{};
};

// Where the bodies of a resource are described.
struct BodyNames {
  std::string object{};  // component names
  std::string list{};
};

// Returns the component of a subresource's body; empty: its kind has no schema (connect options).
std::string subresource_component(std::string_view group, std::string_view version,
                                  const OpenApiResource& resource, const OpenApiSubresource& sub);

// Adds the path items of one resource to `paths`.
void add_paths(Value& paths, std::string_view group, std::string_view version,
               const OpenApiResource& resource, const BodyNames& names);

}  // namespace athanor::openapi
