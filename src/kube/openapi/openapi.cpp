// SPDX-License-Identifier: Apache-2.0
#include "kube/openapi/openapi.hpp"

#include <array>

#include "kube/openapi/openapi_parts.hpp"
#include "kube/schema/resources.hpp"
#include "kube/schema/types.hpp"

namespace athanor {
namespace {

using openapi::BodyNames;
using openapi::Components;
using openapi::group_version_kind;

// The kinds that requests and answers of every resource use.
void add_common(Components& components, std::string_view group, std::string_view version) {
  const BuiltinTypes& types = BuiltinTypes::get();
  for (const char* kind : {"DeleteOptions", "WatchEvent"}) {
    const SchemaPtr schema = types.by_name(std::string("meta.") + kind);
    components.add(schema, group_version_kind("", "v1", kind));
    components.add(schema, group_version_kind(group, version, kind));
  }
  components.add(types.by_name("meta.Status"), group_version_kind("", "v1", "Status"));
  components.add(types.by_name("meta.Patch"), {});
}

void add_subresources(Components& components, std::string_view group, std::string_view version,
                      const OpenApiResource& resource) {
  for (const OpenApiSubresource& sub : resource.subresources) {
    const SchemaPtr schema =
        BuiltinTypes::get().by_name(openapi::subresource_component(group, version, resource, sub));
    if (schema != nullptr) {
      components.add(schema, sub.version.empty()
                                 ? group_version_kind(group, version, sub.kind)
                                 : group_version_kind(sub.group, sub.version, sub.kind));
    }
  }
}

BodyNames add_resource(Components& components, std::string_view group, std::string_view version,
                       const OpenApiResource& resource) {
  const std::string list_kind =
      resource.list_kind.empty() ? resource.kind + "List" : resource.list_kind;
  if (!resource.custom_schema.is_null()) {
    components.add_custom(group, version, resource);
    return {.object = openapi_custom_name(group, version, resource.kind),
            .list = openapi_custom_name(group, version, list_kind)};
  }
  BodyNames names;
  const BuiltinTypes& types = BuiltinTypes::get();
  if (const SchemaPtr schema = types.by_kind(group, version, resource.kind)) {
    components.add(schema, group_version_kind(group, version, resource.kind));
    names.object = schema->name;
  }
  if (const SchemaPtr schema = types.by_kind(group, version, list_kind)) {
    components.add(schema, group_version_kind(group, version, list_kind));
    names.list = schema->name;
  }
  return names;
}

}  // namespace

Value openapi_document(std::string_view group, std::string_view version,
                       std::span<const OpenApiResource> resources) {
  Components components;
  Value paths = Value::object();
  for (const OpenApiResource& resource : resources) {
    const BodyNames names = add_resource(components, group, version, resource);
    add_subresources(components, group, version, resource);
    openapi::add_paths(paths, group, version, resource, names);
  }
  add_common(components, group, version);
  const Value token = Value::object({{"type", "apiKey"},
                                     {"description", "Bearer token"},
                                     {"name", "authorization"},
                                     {"in", "header"}});
  return Value::object(
      {{"openapi", "3.0.0"},
       {"info", Value::object({{"title", "Kubernetes"}, {"version", "1.35"}})},
       {"paths", std::move(paths)},
       {"components",
        Value::object({{"schemas", components.schemas()},
                       {"securitySchemes", Value::object({{"BearerToken", token}})}})}});
}

std::vector<OpenApiResource> builtin_openapi_resources(std::string_view group,
                                                       std::string_view version) {
  std::vector<OpenApiResource> resources;
  for (const BuiltinResource& builtin : builtin_resources()) {
    if (builtin.group != group || builtin.version != version) {
      continue;
    }
    OpenApiResource resource;
    resource.plural = builtin.plural;
    resource.kind = builtin.kind;
    resource.namespaced = builtin.namespaced;
    resource.verbs = builtin.verbs;
    for (const BuiltinSubresource& sub : builtin.subresources) {
      resource.subresources.push_back({.name = sub.name,
                                       .group = sub.group,
                                       .version = sub.version,
                                       .kind = sub.kind,
                                       .verbs = sub.verbs});
    }
    resources.push_back(std::move(resource));
  }
  return resources;
}

}  // namespace athanor
