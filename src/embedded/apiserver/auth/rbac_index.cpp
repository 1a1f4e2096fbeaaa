// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/auth/rbac_index.hpp"

#include <fmt/format.h>

#include "base/mutex.hpp"
#include "embedded/apiserver/auth/token_checker.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kRoles = "roles.rbac.authorization.k8s.io";
constexpr std::string_view kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
constexpr std::string_view kBindings = "rolebindings.rbac.authorization.k8s.io";
constexpr std::string_view kClusterBindings = "clusterrolebindings.rbac.authorization.k8s.io";

}  // namespace

RbacIndex::RbacIndex(store::Store& store)
    : listener_(store.listen([this](std::span<const store::EventPtr> events) {
        for (const store::EventPtr& event : events) {
          update(*event->object, event->type == store::Event::Type::Deleted);
        }
      })) {
  for (const std::string_view resource : {kRoles, kClusterRoles, kBindings, kClusterBindings}) {
    if (const auto page = store.list(resource, {}); page.ok()) {
      for (const store::StoredPtr& object : page->items) {
        update(*object, false);
      }
    }
  }
}

void RbacIndex::update(const store::Stored& object, bool deleted) {
  if (object.resource == kRoles || object.resource == kClusterRoles) {
    const MutexLock lock(mutex_);
    if (deleted) {
      roles_.erase(object.key);
    } else {
      roles_[object.key] = read_rules(object.body["rules"]);
    }
  } else if (object.resource == kBindings || object.resource == kClusterBindings) {
    update_binding(object, object.resource == kClusterBindings, deleted);
  }
}

void RbacIndex::update_binding(const store::Stored& object, bool cluster, bool deleted) {
  const MutexLock lock(mutex_);
  Scope& scope = scopes_[object.key.ns];
  if (const auto old = scope.bindings.find(object.key.name); old != scope.bindings.end()) {
    for (const auto& [subject_key, subject] : old->second.subjects) {
      scope.by_subject[subject_key].erase(object.key.name);
    }
    scope.bindings.erase(old);
  }
  if (deleted) {
    return;
  }
  const Value& role = object.body["roleRef"];
  Binding binding{.cluster = cluster,
                  .key = object.key,
                  .role_kind = role["kind"].str(),
                  .role_name = role["name"].str()};
  for (const Value& item : object.body["subjects"].items()) {
    Subject subject{
        .kind = item["kind"].str(), .name = item["name"].str(), .ns = item["namespace"].str()};
    if (subject.kind == "ServiceAccount" && subject.ns.empty()) {
      subject.ns = object.key.ns;
    }
    std::string subject_key = subject.kind == "Group" ? "Group:" + subject.name
                              : subject.kind == "ServiceAccount"
                                  ? "User:" + service_account_user(subject.ns, subject.name)
                                  : "User:" + subject.name;
    scope.by_subject[subject_key].insert(object.key.name);
    binding.subjects.emplace(std::move(subject_key), std::move(subject));
  }
  scope.bindings.emplace(object.key.name, std::move(binding));
}

void RbacIndex::visit_scope(const UserInfo& user, const Scope& scope, const Visit& visit,
                            bool& done) const {
  std::vector<std::string> keys = {"User:" + user.name};
  for (const std::string& group : user.groups) {
    keys.push_back("Group:" + group);
  }
  for (const std::string& key : keys) {
    const auto names = scope.by_subject.find(key);
    if (names == scope.by_subject.end()) {
      continue;
    }
    for (const std::string& name : names->second) {
      const Binding& binding = scope.bindings.find(name)->second;
      const bool cluster_role = binding.cluster || binding.role_kind == "ClusterRole";
      const auto role =
          roles_.find({cluster_role ? std::string() : binding.key.ns, binding.role_name});
      done = visit(binding, binding.subjects.find(key)->second,
                   role == roles_.end() ? nullptr : &role->second);
      if (done) {
        return;
      }
    }
  }
}

void RbacIndex::visit(const UserInfo& user, std::string_view ns, const Visit& visit) const {
  bool done = false;
  if (const auto cluster = scopes_.find(std::string_view()); cluster != scopes_.end()) {
    visit_scope(user, cluster->second, visit, done);
  }
  if (ns.empty() || done) {
    return;
  }
  if (const auto scope = scopes_.find(ns); scope != scopes_.end()) {
    visit_scope(user, scope->second, visit, done);
  }
}

std::string RbacIndex::describe(const Binding& binding, const Subject& subject) {
  const std::string who =
      subject.kind == "ServiceAccount" ? subject.name + "/" + subject.ns : subject.name;
  const std::string to = fmt::format("{} {} to {} {}", binding.role_kind,
                                     go_quote(binding.role_name), subject.kind, go_quote(who));
  return binding.cluster
             ? fmt::format("ClusterRoleBinding {} of {}", go_quote(binding.key.name), to)
             : fmt::format("RoleBinding {} of {}",
                           go_quote(binding.key.name + "/" + binding.key.ns), to);
}

Decision RbacIndex::authorize(const Attributes& attributes) const {
  const ReadLock lock(mutex_);
  Decision decision;
  std::vector<std::string> missing;
  visit(*attributes.user, attributes.is_resource ? attributes.ns : std::string_view(),
        [&](const Binding& binding, const Subject& subject, const std::vector<PolicyRule>* rules) {
          if (rules == nullptr) {
            missing.push_back(fmt::format("{}.rbac.authorization.k8s.io {} not found",
                                          binding.role_kind == "Role" ? "role" : "clusterrole",
                                          go_quote(binding.role_name)));
            return false;
          }
          for (const PolicyRule& rule : *rules) {
            if (rule.allows(attributes)) {
              decision = {.allowed = true,
                          .reason = "RBAC: allowed by " + describe(binding, subject)};
              return true;
            }
          }
          return false;
        });
  if (!decision.allowed && !missing.empty()) {
    decision.reason = missing.size() == 1 ? "RBAC: " + missing.front()
                                          : fmt::format("RBAC: [{}]", fmt::join(missing, ", "));
  }
  return decision;
}

std::vector<PolicyRule> RbacIndex::rules_for(const UserInfo& user, std::string_view ns) const {
  const ReadLock lock(mutex_);
  std::vector<PolicyRule> result;
  visit(user, ns, [&](const Binding&, const Subject&, const std::vector<PolicyRule>* rules) {
    if (rules != nullptr) {
      result.insert(result.end(), rules->begin(), rules->end());
    }
    return false;
  });
  return result;
}

bool RbacIndex::cluster_role_allows(std::string_view role, const Attributes& attributes) const {
  const ReadLock lock(mutex_);
  const auto found = roles_.find({"", std::string(role)});
  if (found == roles_.end()) {
    return false;
  }
  for (const PolicyRule& rule : found->second) {
    if (rule.allows(attributes)) {
      return true;
    }
  }
  return false;
}

}  // namespace athanor::apiserver
