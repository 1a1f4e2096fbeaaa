// SPDX-License-Identifier: Apache-2.0
// The discovery of other servers, merged into ours (docs/spec/apiserver.md 4.1, 4.2 g).
#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {
namespace {

using Group = std::vector<RemoteApi>;

// By group, the versions of highest priority first, then newest.
std::map<std::string, Group> by_group(std::vector<RemoteApi> remotes) {
  std::map<std::string, Group> groups;
  for (RemoteApi& api : remotes) {
    groups[api.group].push_back(std::move(api));
  }
  for (auto& [name, group] : groups) {
    std::ranges::stable_sort(group, [](const RemoteApi& a, const RemoteApi& b) {
      return a.version_priority != b.version_priority ? a.version_priority > b.version_priority
                                                      : version_before(a.version, b.version);
    });
  }
  return groups;
}

Value version_entry(const RemoteApi& api) {
  return Value::object(
      {{"groupVersion", fmt::format("{}/{}", api.group, api.version)}, {"version", api.version}});
}

Value group_entry(const Group& group) {
  Value versions = Value::list();
  for (const RemoteApi& api : group) {
    versions.push_back(version_entry(api));
  }
  return Value::object({{"name", group.front().group},
                        {"versions", std::move(versions)},
                        {"preferredVersion", version_entry(group.front())}});
}

// The entry called `name` in a list, or nullptr.
Value* entry_of(Value& list, std::string_view name, bool in_metadata) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& item = list[i];
    if ((in_metadata ? item["metadata"]["name"] : item["name"]).as_string() == name) {
      return &list.item(i);
    }
  }
  return nullptr;
}

Value kind_of(const RemoteApi& api, const Value& resource) {
  const auto or_own = [](const Value& value, const std::string& own) {
    return value.as_string().empty() ? Value(own) : value;
  };
  return Value::object({{"group", or_own(resource["group"], api.group)},
                        {"version", or_own(resource["version"], api.version)},
                        {"kind", resource["kind"]}});
}

}  // namespace

Value discovery_version(const RemoteApi& api) {
  Value version = Value::object({{"version", api.version}});
  if (!api.available) {
    version.set("freshness", "Stale");
    return version;
  }
  Value resources = Value::list();
  for (const Value& resource : api.discovery["resources"].items()) {
    const std::string_view name = resource["name"].as_string();
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
      Value entry =
          Value::object({{"resource", name},
                         {"responseKind", kind_of(api, resource)},
                         {"scope", resource["namespaced"].as_bool() ? "Namespaced" : "Cluster"},
                         {"singularResource", resource["singularName"].as_string()},
                         {"verbs", resource["verbs"]}});
      for (const std::string_view field : {"shortNames", "categories"}) {
        if (!resource[field].empty()) {
          entry.set(field, resource[field]);
        }
      }
      resources.push_back(std::move(entry));
      continue;
    }
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (resources[i]["resource"].as_string() == name.substr(0, slash)) {
        resources.item(i)
            .member("subresources")
            .push_back(Value::object({{"subresource", name.substr(slash + 1)},
                                      {"responseKind", kind_of(api, resource)},
                                      {"verbs", resource["verbs"]}}));
      }
    }
  }
  version.set("resources", std::move(resources));
  version.set("freshness", "Current");
  return version;
}

void Aggregation::add_groups(Value& list) const {
  Value& groups = list.member("groups");
  for (const auto& [name, group] : by_group(remotes())) {
    Value* local = entry_of(groups, name, false);
    if (local == nullptr) {
      groups.push_back(group_entry(group));
      continue;
    }
    for (const RemoteApi& api : group) {
      local->member("versions").push_back(version_entry(api));
    }
  }
}

std::optional<Value> Aggregation::group(std::string_view name) const {
  const auto groups = by_group(remotes());
  const auto found = groups.find(std::string(name));
  if (found == groups.end()) {
    return std::nullopt;
  }
  Value entry = Value::object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
  const Value rest = group_entry(found->second);
  for (const Member& member : rest.members()) {
    entry.set(member.key(), member.value);
  }
  return entry;
}

void Aggregation::add_discovery(Value& list) const {
  Value& items = list.member("items");
  for (const auto& [name, group] : by_group(remotes())) {
    Value* local = entry_of(items, name, true);
    Value versions = local == nullptr ? Value::list() : (*local)["versions"];
    for (const RemoteApi& api : group) {
      versions.push_back(discovery_version(api));
    }
    if (local != nullptr) {
      local->set("versions", std::move(versions));
    } else {
      items.push_back(Value::object(
          {{"metadata", Value::object({{"name", name}})}, {"versions", std::move(versions)}}));
    }
  }
}

}  // namespace athanor::apiserver
