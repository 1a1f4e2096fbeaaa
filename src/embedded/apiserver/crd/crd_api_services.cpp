// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_api_services.hpp"

#include <fmt/format.h>

#include <map>

#include "base/log.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kApiServices = "apiservices.apiregistration.k8s.io";
constexpr const char* kManaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr int kGroupPriority = 1000;
constexpr int kVersionPriority = 100;

Value api_service(Core& core, const std::string& name, const std::string& group,
                  const std::string& version, Instant now) {
  const std::string time = format_time(now);
  const Value condition = Value::object({{"type", "Available"},
                                         {"status", "True"},
                                         {"lastTransitionTime", time},
                                         {"reason", "Local"},
                                         {"message", "Local APIServices are always available"}});
  return Value::object(
      {{"kind", "APIService"},
       {"apiVersion", "apiregistration.k8s.io/v1"},
       {"metadata", Value::object({{"name", name},
                                   {"uid", core.entropy.uuid()},
                                   {"creationTimestamp", time},
                                   {"labels", Value::object({{kManaged, "true"}})}})},
       {"spec", Value::object({{"group", group},
                               {"version", version},
                               {"groupPriorityMinimum", kGroupPriority},
                               {"versionPriority", kVersionPriority}})},
       {"status", Value::object({{"conditions", Value::list({condition})}})}});
}

// "v1.example.com" to its group and version.
using Wanted = std::map<std::string, std::pair<std::string, std::string>, std::less<>>;

Wanted custom_versions(const ResourceTable& table) {
  Wanted wanted;
  for (const GroupInfo& group : table.groups()) {
    for (const std::string& version : group.versions) {
      const auto resources = table.resources(group.name, version);
      if (!resources.empty() && resources.front()->is_custom) {
        wanted.emplace(fmt::format("{}.{}", version, group.name), std::pair(group.name, version));
      }
    }
  }
  return wanted;
}

}  // namespace

void sync_custom_api_services(Core& core, Instant now) {
  const auto page = core.store.list(kApiServices, {});
  if (!page.ok()) {
    return;
  }
  Wanted wanted = custom_versions(*core.registry.table());
  std::vector<store::Write> writes;
  for (const store::StoredPtr& stored : page->items) {
    const bool known = wanted.erase(stored->key.name) > 0;
    const Value& object = stored->body;
    if (!known && object["metadata"]["labels"][kManaged].as_string() == "true" &&
        object["spec"]["service"].is_null()) {
      writes.push_back({.resource = std::string(kApiServices),
                        .key = stored->key,
                        .body = std::nullopt,
                        .expected = stored->revision});
    }
  }
  for (const auto& [name, version] : wanted) {
    writes.push_back({.resource = std::string(kApiServices),
                      .key = {"", name},
                      .body = api_service(core, name, version.first, version.second, now),
                      .expected = 0});
  }
  if (writes.empty()) {
    return;
  }
  if (const auto done = core.store.commit(writes, now); !done.ok()) {
    log::debug("APIServices changed meanwhile", {{"error", done.error().message}});
  }
}

}  // namespace athanor::apiserver
