// SPDX-License-Identifier: Apache-2.0
#include "product/people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/describe.hpp"

namespace athanor {
namespace {

// Kinds that those make who use the systems; all others are set up by those who run them, or are
// written by controllers alone.
constexpr std::array<std::string_view, 16> kMadeByUsers{
    "FournosJob", "AppWrapper", "JobSet",          "PyTorchJob",
    "RayCluster", "RayJob",     "Pipeline",        "PipelineRun",
    "Task",       "TaskRun",    "PodGroup",        "CustomRun",
    "StepAction", "Run",        "LeaderWorkerSet", "ResolutionRequest"};

// A lock and a cordon are changes of a cluster, which others set up. The right holds where the role
// is bound: in the clusters' namespace, not in that of the jobs.
constexpr std::string_view kChangedByUsers = "FournosCluster";

using Resources = std::map<std::string, std::set<std::string>>;  // by group

Value rules_of(const Resources& resources, const Value& verbs, bool with_status) {
  Value rules = Value::list();
  for (const auto& [group, names] : resources) {
    Value all = Value::list();
    for (const std::string& name : names) {
      all.push_back(name);
      if (with_status) {
        all.push_back(name + "/status");
      }
    }
    rules.push_back(Value::object(
        {{"apiGroups", Value::list({group})}, {"resources", std::move(all)}, {"verbs", verbs}}));
  }
  return rules;
}

Value role_of(std::string_view name, const std::vector<std::string_view>& into, Value rules) {
  Value labels = Value::object({{"app.kubernetes.io/name", "athanor"},
                                {"app.kubernetes.io/component", "people"},
                                {"app.kubernetes.io/part-of", "athanor"}});
  for (const std::string_view role : into) {
    labels.set(fmt::format("rbac.authorization.k8s.io/aggregate-to-{}", role), "true");
  }
  return Value::object(
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "ClusterRole"},
       {"metadata", Value::object({{"name", name}, {"labels", std::move(labels)}})},
       {"rules", std::move(rules)}});
}

}  // namespace

std::vector<Value> people_roles(Systems systems, std::string_view name) {
  Resources read;
  Resources made_by_users;
  Resources changed_by_users;
  Resources other;
  for (const System* system : systems) {
    if (system->kinds == nullptr) {
      continue;
    }
    for (const api::CustomKind* custom : system->kinds(Value())) {
      const Kind& kind = *custom->kind;
      const std::string group(kind.group);
      read[group].emplace(kind.plural);
      const bool by_users = std::ranges::find(kMadeByUsers, kind.name) != kMadeByUsers.end();
      (by_users ? made_by_users : other)[group].emplace(kind.plural);
      if (kind.name == kChangedByUsers) {
        changed_by_users[group].emplace(kind.plural);
      }
    }
  }
  const Value reading = Value::list({"get", "list", "watch"});
  const Value writing = Value::list({"create", "update", "patch", "delete", "deletecollection"});
  Value of_users = rules_of(made_by_users, writing, false);
  const Value changing = rules_of(changed_by_users, Value::list({"update", "patch"}), false);
  for (const Value& rule : changing.items()) {
    of_users.push_back(rule);
  }
  std::vector<Value> roles{
      role_of(fmt::format("{}-view", name), {"view", "edit", "admin"},
              rules_of(read, reading, true)),
      role_of(fmt::format("{}-edit", name), {"edit", "admin"}, std::move(of_users)),
      role_of(fmt::format("{}-admin", name), {"admin"}, rules_of(other, writing, false))};
  std::erase_if(roles, [](const Value& role) { return role["rules"].empty(); });
  return roles;
}

}  // namespace athanor
