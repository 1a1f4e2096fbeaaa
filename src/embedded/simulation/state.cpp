// SPDX-License-Identifier: Apache-2.0
// The administrator's requests, and the state that equal runs must share.
#include <algorithm>
#include <map>

#include "embedded/simulation/world_impl.hpp"

namespace athanor::sim {

namespace {

constexpr std::string_view kAdministrator = "system:serviceaccount:kube-system:simulation-admin";

// "jobs" for Job, "policies" for Policy: enough for the kinds that worlds create by their bodies
// alone; custom kinds are found in their definitions.
std::string guessed_plural(std::string_view kind) {
  std::string plural(kind);
  std::transform(plural.begin(), plural.end(), plural.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  if (plural.ends_with("y")) {
    plural.replace(plural.size() - 1, 1, "ies");
  } else if (plural.ends_with("s") || plural.ends_with("ch") || plural.ends_with("x")) {
    plural += "es";
  } else {
    plural += "s";
  }
  return plural;
}

constexpr std::string_view kClusterScoped[] = {
    "Namespace",   "Node",          "PersistentVolume", "CustomResourceDefinition",
    "ClusterRole", "PriorityClass", "StorageClass",     "ClusterRoleBinding",
    "RuntimeClass"};

struct Place {
  std::string plural{};
  bool namespaced = true;
};

Place place_of(const store::Store& store, std::string_view group, std::string_view kind) {
  const auto definitions = store.list("customresourcedefinitions.apiextensions.k8s.io", {});
  if (definitions.ok()) {
    for (const store::StoredPtr& definition : definitions->items) {
      const Value& spec = definition->body["spec"];
      if (spec["group"].as_string() == group && spec["names"]["kind"].as_string() == kind) {
        return {.plural = spec["names"]["plural"].str(),
                .namespaced = spec["scope"].as_string() != "Cluster"};
      }
    }
  }
  const bool cluster = std::find(std::begin(kClusterScoped), std::end(kClusterScoped), kind) !=
                       std::end(kClusterScoped);
  return {.plural = guessed_plural(kind), .namespaced = !cluster};
}

// Times and identities differ between runs that are equal in every way that matters.
Value blurred(const Value& value,
              const std::map<std::string, std::string, std::less<>>& names_of_uids) {
  if (value.is_object()) {
    Value out = Value::object();
    for (const Member& member : value.members()) {
      static constexpr std::string_view kVarying[] = {"managedFields",     "resourceVersion",
                                                      "creationTimestamp", "uid",
                                                      "generation",        "observedGeneration"};
      const bool varies =
          std::find(std::begin(kVarying), std::end(kVarying), member.key()) != std::end(kVarying);
      if (!varies) {
        out.set(member.key(), blurred(member.value, names_of_uids));
      }
    }
    return out;
  }
  if (value.is_list()) {
    Value out = Value::list();
    for (const Value& item : value.items()) {
      out.push_back(blurred(item, names_of_uids));
    }
    return out;
  }
  if (value.is_string()) {
    if (const auto uid = names_of_uids.find(value.as_string()); uid != names_of_uids.end()) {
      return "uid of " + uid->second;
    }
    if (value.as_string().size() >= 20 && parse_time(value.as_string())) {
      return "time";
    }
  }
  return value;
}

}  // namespace

Result<Object> World::Impl::admin_call(apiserver::Request request) {
  request.credentials.internal_user = kAdministrator;
  const apiserver::Response response = server->handle(std::move(request), clock.now());
  runtime::WriteResult result = bridge::to_result(0, response);
  if (result.error) {
    return *std::move(result.error);
  }
  return *std::move(result.object);
}

Result<Object> World::Impl::admin_request(std::string_view method, const Object& object,
                                          Value body) {
  const std::string api_version(object.api_version());
  const auto slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  const std::string version =
      slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  const Place place = place_of(*store, group, object.kind());
  const Kind kind{.group = group,
                  .version = version,
                  .name = object.kind(),
                  .plural = place.plural,
                  .namespaced = place.namespaced};
  apiserver::Request request{.method = std::string(method),
                             .path = runtime::collection_path(kind, object.ns())};
  if (method != "POST") {
    request.path += "/" + std::string(object.name());
  }
  request.headers.emplace("content-type", "application/json");
  request.body = std::move(body);
  return admin_call(std::move(request));
}

Value World::final_state() const {
  const store::Store& store = *impl_->store;
  std::vector<std::string> resources = store.resources();
  std::sort(resources.begin(), resources.end());
  std::map<std::string, std::string, std::less<>> names_of_uids;
  std::map<std::string, std::vector<store::StoredPtr>> all;
  for (const std::string& resource : resources) {
    if (resource == "events" || resource == "leases.coordination.k8s.io") {
      continue;
    }
    auto page = store.list(resource, {});
    if (!page.ok()) {
      continue;
    }
    for (const store::StoredPtr& item : page->items) {
      names_of_uids.emplace(Object(item->body).uid(), resource + " " + item->key.text());
    }
    all.emplace(resource, std::move(page->items));
  }
  Value out = Value::object();
  for (const auto& [resource, items] : all) {
    Value objects = Value::object();
    for (const store::StoredPtr& item : items) {
      objects.set(item->key.text(), blurred(item->body, names_of_uids));
    }
    if (!items.empty()) {
      out.set(resource, std::move(objects));
    }
  }
  return out;
}

}  // namespace athanor::sim
