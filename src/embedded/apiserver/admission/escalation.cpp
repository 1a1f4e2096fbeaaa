// SPDX-License-Identifier: Apache-2.0
// No user grants what they do not hold: roles need every permission they contain, or the verb
// `escalate`; bindings those of the bound role, or the verb `bind` (docs/spec/apiserver.md 16.2).
#include <fmt/format.h>

#include <set>

#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/auth/policy_rule.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

bool may(const AdmissionAttributes& request, const AdmissionContext& context, std::string_view verb,
         std::string_view resource, std::string_view name) {
  Attributes attributes;
  attributes.user = request.user;
  attributes.verb = std::string(verb);
  attributes.group = std::string(kRbacGroup);
  attributes.version = "v1";
  attributes.resource = std::string(resource);
  attributes.ns = request.key.ns;
  attributes.name = std::string(name);
  return context.authorizer.authorize(attributes).allowed;
}

// A part of split_rule() as a question to the authorizer: a wildcard is held by a wildcard alone.
Attributes question(const PolicyRule& part, const UserInfo& user, const std::string& ns) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = part.verbs.front();
  if (!part.non_resource_urls.empty()) {
    attributes.is_resource = false;
    attributes.path = part.non_resource_urls.front();
    return attributes;
  }
  const std::string& resource = part.resources.front();
  const std::size_t slash = resource.find('/');
  attributes.group = part.api_groups.front();
  attributes.resource = resource.substr(0, slash);
  attributes.subresource = slash == std::string::npos ? std::string() : resource.substr(slash + 1);
  attributes.ns = ns;
  attributes.name = part.resource_names.empty() ? std::string() : part.resource_names.front();
  return attributes;
}

std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& rules,
                                      const AdmissionAttributes& request,
                                      const AdmissionContext& context) {
  std::vector<PolicyRule> missing;
  for (const PolicyRule& rule : rules) {
    for (const PolicyRule& part : split_rule(rule)) {
      if (!context.authorizer.authorize(question(part, *request.user, request.key.ns)).allowed) {
        missing.push_back(part);
      }
    }
  }
  return join_rules(missing);
}

StatusResult<void> require_rules(const std::vector<PolicyRule>& rules,
                                 const AdmissionAttributes& request,
                                 const AdmissionContext& context) {
  const std::vector<PolicyRule> missing = missing_rules(rules, request, context);
  if (missing.empty()) {
    return {};
  }
  std::set<std::string> lines;
  for (const PolicyRule& rule : missing) {
    lines.insert(rule.text());
  }
  return status::forbidden(
      {request.resource->plural, request.resource->group}, request.key.name,
      fmt::format("user {} (groups={}) is attempting to grant RBAC permissions not currently "
                  "held:\n{}",
                  go_quote(request.user->name), quoted_list(request.user->groups),
                  fmt::join(lines, "\n")));
}

StatusResult<void> check_role(const AdmissionAttributes& request, const AdmissionContext& context) {
  if (may(request, context, "escalate", request.resource->plural, request.key.name)) {
    return {};
  }
  const Value& aggregation = request.object["aggregationRule"];
  if (!aggregation.is_null() && aggregation != request.old_object["aggregationRule"]) {
    const PolicyRule everything{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}};
    const PolicyRule every_path{.verbs = {"*"}, .non_resource_urls = {"*"}};
    if (!missing_rules({everything, every_path}, request, context).empty()) {
      return status::forbidden({request.resource->plural, request.resource->group},
                               request.key.name,
                               "must have cluster-admin privileges to use an aggregationRule");
    }
  }
  if (request.object["rules"] == request.old_object["rules"]) {
    return {};
  }
  return require_rules(read_rules(request.object["rules"]), request, context);
}

StatusResult<void> check_binding(const AdmissionAttributes& request,
                                 const AdmissionContext& context) {
  if (!request.old_object.is_null() && request.object["roleRef"] == request.old_object["roleRef"] &&
      request.object["subjects"] == request.old_object["subjects"]) {
    return {};
  }
  const Value& role = request.object["roleRef"];
  const bool cluster = role["kind"].as_string() == "ClusterRole";
  const std::string_view plural = cluster ? "clusterroles" : "roles";
  const std::string name = role["name"].str();
  if (may(request, context, "bind", plural, name)) {
    return {};
  }
  const store::StoredPtr stored = context.store.get(
      fmt::format("{}.{}", plural, kRbacGroup), {cluster ? std::string() : request.key.ns, name});
  if (stored == nullptr) {
    return status::not_found({plural, kRbacGroup}, name);
  }
  return require_rules(read_rules(stored->body["rules"]), request, context);
}

StatusResult<void> validate_escalation(AdmissionAttributes& request,
                                       const AdmissionContext& context) {
  const ResourceInfo& resource = *request.resource;
  if (resource.group != kRbacGroup || request.user == nullptr || !request.subresource.empty() ||
      (request.operation != Operation::Create && request.operation != Operation::Update) ||
      request.user->in_group("system:masters")) {
    return {};
  }
  if (resource.plural == "roles" || resource.plural == "clusterroles") {
    return check_role(request, context);
  }
  return check_binding(request, context);
}

}  // namespace

AdmissionStep escalation_step() {
  return {.name = "RBACEscalation", .mutate = {}, .validate = &validate_escalation};
}

}  // namespace athanor::apiserver
