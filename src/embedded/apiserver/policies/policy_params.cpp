// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/policy_params.hpp"

#include <fmt/format.h>

#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/matching/review.hpp"
#include "embedded/apiserver/resources/versions.hpp"

namespace athanor::apiserver {
namespace {

PolicyParams binding_error(std::string_view text) {
  return {.found = {}, .error = fmt::format("failed to configure binding: {}", text)};
}

// What a name or a selector finds.
StatusResult<std::vector<Value>> find_params(const ResourceInfo& resource, const Value& ref,
                                             const std::string& ns,
                                             const AdmissionContext& context) {
  std::vector<Value> found;
  const std::string name = ref["name"].str();
  if (!name.empty()) {
    if (const store::StoredPtr stored = context.store.get(resource.storage, {ns, name})) {
      ATHANOR_TRY(Value object, to_served(resource, *stored, versions_of(context)));
      found.push_back(std::move(object));
    }
    return found;
  }
  const auto selector = LabelSelector::from_value(ref["selector"]);
  const auto page = context.store.list(resource.storage, {.ns = ns});
  if (!selector.ok() || !page.ok()) {
    return status::of(selector.ok() ? page.error() : selector.error());
  }
  for (const store::StoredPtr& stored : page->items) {
    if (selector->matches(stored->body["metadata"]["labels"])) {
      ATHANOR_TRY(Value object, to_served(resource, *stored, versions_of(context)));
      found.push_back(std::move(object));
    }
  }
  return found;
}

}  // namespace

PolicyParams collect_params(const Policy& policy, const PolicyBinding& binding,
                            const AdmissionAttributes& request, const AdmissionContext& context) {
  const Value& ref = binding.param_ref;
  if (policy.param_kind.is_null() || ref.is_null()) {
    return {.found = {Value()}, .error = {}};
  }
  const std::string_view api_version = policy.param_kind["apiVersion"].as_string();
  const std::string_view kind = policy.param_kind["kind"].as_string();
  const ResourceInfo* resource = context.table.by_kind(api_version, kind);
  if (resource == nullptr) {
    return {.found = {},
            .error = fmt::format("failed to configure policy: failed to find resource referenced "
                                 "by paramKind: '{}, Kind={}'",
                                 api_version, kind),
            .of_policy = true};
  }
  std::string ns = ref["namespace"].str();
  if (!resource->namespaced && !ns.empty()) {
    return binding_error(
        "paramRef.namespace must not be provided for a cluster-scoped "
        "`paramKind`");
  }
  if (resource->namespaced && ns.empty()) {
    ns = request_namespace(request);
    if (ns.empty()) {
      return binding_error(
          "cannot use namespaced paramRef in policy binding that matches "
          "cluster-scoped resources");
    }
  }
  auto found = find_params(*resource, ref, ns, context);
  if (!found.ok() && is_pending(found.error())) {
    return {.found = {}, .error = {}, .pending = true};
  }
  if (!found.ok()) {
    return binding_error(found.error().message);
  }
  if (found->empty() && ref["parameterNotFoundAction"].as_string() == "Deny") {
    return binding_error("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return {.found = *std::move(found), .error = {}};
}

}  // namespace athanor::apiserver
