// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/lab_users.hpp"

#include <fmt/format.h>

#include <utility>

namespace athanor::lab {
namespace {

constexpr const char* kUserRights = "rbac.authorization.k8s.io";
// Lists of clusters and queues span namespaces.
constexpr const char* kReading = "athanor-view";

// A RoleBinding, or without a namespace a ClusterRoleBinding.
Value binding_of(const std::string& user, const std::string& role, const std::string& ns) {
  Value metadata = Value::object({{"name", fmt::format("athanor:{}:{}", user, role)}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  return Value::object(
      {{"apiVersion", fmt::format("{}/v1", kUserRights)},
       {"kind", ns.empty() ? "ClusterRoleBinding" : "RoleBinding"},
       {"metadata", std::move(metadata)},
       {"roleRef",
        Value::object({{"apiGroup", kUserRights}, {"kind", "ClusterRole"}, {"name", role}})},
       {"subjects", Value::list({Value::object(
                        {{"apiGroup", kUserRights}, {"kind", "User"}, {"name", user}})})}});
}

}  // namespace

std::vector<Value> user_bindings(const std::vector<LabUser>& users, const std::string& jobs_ns) {
  std::vector<Value> bindings;
  for (const LabUser& user : users) {
    bindings.push_back(binding_of(user.name, user.role, jobs_ns));
    bindings.push_back(binding_of(user.name, kReading, ""));
  }
  return bindings;
}

}  // namespace athanor::lab
