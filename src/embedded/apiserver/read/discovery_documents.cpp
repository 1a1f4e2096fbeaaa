// SPDX-License-Identifier: Apache-2.0
// The discovery documents themselves: groups, versions, resources, plain and aggregated.
#include <fmt/format.h>

#include "base/digest.hpp"
#include "embedded/apiserver/read/discovery.hpp"

namespace athanor::apiserver {
namespace {

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

Value strings(const std::vector<std::string>& texts) {
  std::vector<Value> items(texts.begin(), texts.end());
  return Value::list(std::move(items));
}

Value version_entry(std::string_view group, std::string_view version) {
  return Value::object(
      {{"groupVersion", group_version(group, version)}, {"version", Value(version)}});
}

std::string storage_version_hash(const ResourceInfo& resource) {
  const std::string text =
      resource.storage_api_version.find('/') == std::string::npos
          ? fmt::format("/{}/{}", resource.storage_api_version, resource.storage_kind)
          : fmt::format("{}/{}", resource.storage_api_version, resource.storage_kind);
  return base64_encode(sha256(text).substr(0, 8));
}

bool own_kind(const ResourceInfo& resource, const SubresourceInfo& sub) {
  return (sub.group.empty() && sub.version.empty()) ||
         (sub.group == resource.group && sub.version == resource.version);
}

Value resource_entry(const ResourceInfo& resource) {
  Value entry = Value::object({{"name", resource.plural},
                               {"singularName", resource.singular},
                               {"namespaced", resource.namespaced},
                               {"kind", resource.kind},
                               {"verbs", strings(resource.verbs)}});
  if (!resource.short_names.empty()) {
    entry.set("shortNames", strings(resource.short_names));
  }
  if (!resource.categories.empty()) {
    entry.set("categories", strings(resource.categories));
  }
  if (resource.stored) {
    entry.set("storageVersionHash", storage_version_hash(resource));
  }
  return entry;
}

Value subresource_entry(const ResourceInfo& resource, const SubresourceInfo& sub) {
  Value entry = Value::object({{"name", resource.plural + "/" + sub.name},
                               {"singularName", ""},
                               {"namespaced", resource.namespaced}});
  if (!own_kind(resource, sub)) {
    entry.set("group", sub.group);
    entry.set("version", sub.version);
  }
  entry.set("kind", sub.kind);
  entry.set("verbs", strings(sub.verbs));
  return entry;
}

// Built-ins leave group and version to the enclosing entry.
Value response_kind(const ResourceInfo& resource, std::string_view group, std::string_view version,
                    std::string_view kind, bool named) {
  const bool fill = named || resource.is_custom;
  return Value::object({{"group", fill ? Value(group) : Value("")},
                        {"version", fill ? Value(version) : Value("")},
                        {"kind", Value(kind)}});
}

Value aggregated_resource(const ResourceInfo& resource) {
  Value entry =
      Value::object({{"resource", resource.plural},
                     {"responseKind", response_kind(resource, resource.group, resource.version,
                                                    resource.kind, false)},
                     {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", resource.singular},
                     {"verbs", strings(resource.verbs)}});
  if (!resource.short_names.empty()) {
    entry.set("shortNames", strings(resource.short_names));
  }
  if (!resource.categories.empty()) {
    entry.set("categories", strings(resource.categories));
  }
  Value subresources = Value::list();
  for (const SubresourceInfo& sub : resource.subresources) {
    const bool foreign = !own_kind(resource, sub);
    subresources.push_back(
        Value::object({{"subresource", sub.name},
                       {"responseKind",
                        response_kind(resource, foreign ? sub.group : resource.group,
                                      foreign ? sub.version : resource.version, sub.kind, foreign)},
                       {"verbs", strings(sub.verbs)}}));
  }
  if (!subresources.empty()) {
    entry.set("subresources", std::move(subresources));
  }
  return entry;
}

}  // namespace

Value api_versions(const Core& core) {
  const std::string address =
      fmt::format("{}:{}", core.options.advertise_host, core.options.advertise_port);
  return Value::object(
      {{"kind", "APIVersions"},
       {"versions", Value::list({"v1"})},
       {"serverAddressByClientCIDRs",
        Value::list({Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}})})}});
}

Value api_group(const GroupInfo& group) {
  Value versions = Value::list();
  for (const std::string& version : group.versions) {
    versions.push_back(version_entry(group.name, version));
  }
  return Value::object({{"kind", "APIGroup"},
                        {"apiVersion", "v1"},
                        {"name", group.name},
                        {"versions", std::move(versions)},
                        {"preferredVersion", version_entry(group.name, group.versions.front())}});
}

Value api_group_list(const ResourceTable& table) {
  Value groups = Value::list();
  for (const GroupInfo& group : table.groups()) {
    if (group.name.empty()) {
      continue;
    }
    Value entry = api_group(group);
    entry.erase("kind");
    entry.erase("apiVersion");
    groups.push_back(std::move(entry));
  }
  return Value::object(
      {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

Value api_resource_list(const ResourceTable& table, std::string_view group,
                        std::string_view version) {
  Value resources = Value::list();
  for (const ResourceInfo* resource : table.resources(group, version)) {
    resources.push_back(resource_entry(*resource));
    for (const SubresourceInfo& sub : resource->subresources) {
      resources.push_back(subresource_entry(*resource, sub));
    }
  }
  Value list = Value::object({{"kind", "APIResourceList"}});
  if (!group.empty()) {
    list.set("apiVersion", "v1");
  }
  list.set("groupVersion", group_version(group, version));
  list.set("resources", std::move(resources));
  return list;
}

Value aggregated_discovery(const ResourceTable& table, bool core_group) {
  Value items = Value::list();
  for (const GroupInfo& group : table.groups()) {
    if (group.name.empty() != core_group) {
      continue;
    }
    Value versions = Value::list();
    for (const std::string& version : group.versions) {
      Value resources = Value::list();
      for (const ResourceInfo* resource : table.resources(group.name, version)) {
        resources.push_back(aggregated_resource(*resource));
      }
      versions.push_back(Value::object(
          {{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}}));
    }
    Value metadata = Value::object();
    if (!group.name.empty()) {
      metadata.set("name", group.name);
    }
    items.push_back(
        Value::object({{"metadata", std::move(metadata)}, {"versions", std::move(versions)}}));
  }
  return Value::object({{"kind", "APIGroupDiscoveryList"},
                        {"apiVersion", "apidiscovery.k8s.io/v2"},
                        {"metadata", Value::object()},
                        {"items", std::move(items)}});
}

}  // namespace athanor::apiserver
