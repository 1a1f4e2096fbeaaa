// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/matching/match.hpp"

#include <algorithm>
#include <array>

namespace athanor::apiserver {
namespace {

constexpr std::string_view kAdmissionGroup = "admissionregistration.k8s.io";
constexpr std::array<std::string_view, 6> kExempt = {
    "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
    "validatingadmissionpolicies",   "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",     "mutatingadmissionpolicybindings"};

bool names(const std::vector<std::string>& wanted, std::string_view value) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& one) { return one == "*" || one == value; });
}

bool is_namespace(const AdmissionAttributes& request) {
  return request.resource->storage == "namespaces";
}

bool scope_matches(const HookRule& rule, const AdmissionAttributes& request) {
  const bool namespaced = request.resource->namespaced && !is_namespace(request);
  if (rule.scope == "Namespaced") {
    return namespaced;
  }
  return rule.scope != "Cluster" || !namespaced;
}

// "pods", "pods/status", "pods/*", "*/status", "*", "*/*".
bool resource_matches(const HookRule& rule, std::string_view plural, std::string_view subresource) {
  return std::any_of(rule.resources.begin(), rule.resources.end(), [&](std::string_view wanted) {
    const std::size_t slash = wanted.find('/');
    const std::string_view resource = wanted.substr(0, slash);
    const std::string_view sub =
        slash == std::string_view::npos ? std::string_view() : wanted.substr(slash + 1);
    return (resource == "*" || resource == plural) && (sub == "*" || sub == subresource);
  });
}

bool rule_matches(const HookRule& rule, const AdmissionAttributes& request,
                  const ResourceInfo& resource) {
  return scope_matches(rule, request) &&
         names(rule.operations, operation_name(request.operation)) &&
         names(rule.groups, resource.group) && names(rule.versions, resource.version) &&
         resource_matches(rule, resource.plural, request.subresource);
}

// Every version of the request's resource, its own first.
std::vector<const ResourceInfo*> matching_versions(const ResourceInfo& resource,
                                                   const ResourceTable& table) {
  std::vector<const ResourceInfo*> versions{&resource};
  for (const auto& other : table.all()) {
    if (other.get() != &resource && other->stored && other->storage == resource.storage &&
        (other->group != resource.group || other->version != resource.version)) {
      versions.push_back(other.get());
    }
  }
  return versions;
}

const ResourceInfo* matched_version(const Hook& hook, const AdmissionAttributes& request,
                                    const ResourceTable& table) {
  for (const HookRule& rule : hook.rules) {
    if (rule_matches(rule, request, *request.resource)) {
      return request.resource;
    }
  }
  if (!hook.equivalent) {
    return nullptr;
  }
  const std::vector<const ResourceInfo*> versions = matching_versions(*request.resource, table);
  for (const HookRule& rule : hook.rules) {
    for (std::size_t i = 1; i < versions.size(); ++i) {
      if (rule_matches(rule, request, *versions[i])) {
        return versions[i];
      }
    }
  }
  return nullptr;
}

StatusResult<bool> namespace_matches(const Hook& hook, const AdmissionAttributes& request,
                                     const store::Store& store) {
  if (hook.namespaces.empty() || (!request.resource->namespaced && !is_namespace(request))) {
    return true;
  }
  // A namespace that is about to be written: its labels are those of the request.
  if (is_namespace(request) && request.subresource.empty() && !request.object.is_null()) {
    return hook.namespaces.matches(request.object["metadata"]["labels"]);
  }
  const std::string& name = request_namespace(request);
  const store::StoredPtr stored = store.get("namespaces", {"", name});
  if (stored == nullptr) {
    return status::not_found({"namespaces", ""}, name);
  }
  return hook.namespaces.matches(stored->body["metadata"]["labels"]);
}

bool object_matches(const Hook& hook, const AdmissionAttributes& request) {
  const auto matches = [&](const Value& object) {
    return object.is_object() && hook.objects.matches(object["metadata"]["labels"]);
  };
  return hook.objects.empty() || matches(request.object) || matches(request.old_object);
}

}  // namespace

bool exempt_from_webhooks(const AdmissionAttributes& request) {
  return request.resource->group == kAdmissionGroup &&
         std::find(kExempt.begin(), kExempt.end(), request.resource->plural) != kExempt.end();
}

const std::string& request_namespace(const AdmissionAttributes& request) {
  return is_namespace(request) ? request.key.name : request.key.ns;
}

StatusResult<const ResourceInfo*> match_hook(const Hook& hook, const AdmissionAttributes& request,
                                             const AdmissionContext& context) {
  const ResourceInfo* none = nullptr;
  const StatusResult<bool> in_namespace = namespace_matches(hook, request, context.store);
  if ((in_namespace.ok() && !*in_namespace) || !object_matches(hook, request)) {
    return none;
  }
  const ResourceInfo* version = matched_version(hook, request, context.table);
  if (version == nullptr) {
    return none;
  }
  if (!in_namespace.ok()) {
    return in_namespace.error();
  }
  return version;
}

}  // namespace athanor::apiserver
