// SPDX-License-Identifier: Apache-2.0
// The minimal RBAC permissions of operators, derived from their declarations (Operator::reads,
// access).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"

namespace athanor::runtime {

// One line of a role; resource "pods" or "pods/status"; verbs in the order of the API's handbook.
struct Permission {
  std::string group{};
  std::string resource{};
  bool namespaced = true;
  std::vector<std::string> verbs{};
  std::vector<std::string> names{};  // of objects; empty: all
  friend bool operator==(const Permission&, const Permission&) = default;
};
// Returns the permissions by group and resource, without repeats. Reads: list and watch;
// Operator::access; without it get, create, patch, update and delete of written kinds, their
// status, and Events. Adds the rights in these roles, which the operators grant to others.
std::vector<Permission> permissions_of(std::span<const Operator* const> operators,
                                       const std::vector<Value>& granted_roles = {});

// Operators that know where their kinds are: in each namespace they get what they do there, no
// more.
struct RbacPart {
  std::vector<const Operator*> operators{};
  Places places{};
  std::vector<Value> granted_roles{};  // System::granted_roles
};

// Names and namespaces of the roles that rbac_objects() prints.
struct RbacOptions {
  std::string name = "athanor";  // of roles, bindings and the service account
  std::string install_namespace = "athanor-system";
  std::vector<std::string> namespaces{};              // where they work; empty: everywhere
  std::string lease = "athanor";                      // empty: no leader election
  std::string lease_namespace{};                      // empty: install_namespace
  std::string webhook_secret{};                       // of serving certificates; empty: no webhooks
  std::vector<std::string> webhook_configurations{};  // whose caBundle is kept up to date
  std::vector<std::string> converted_crds{};          // likewise
  std::vector<Value> granted_roles{};                 // of the systems; by parts: see RbacPart
};
// Returns rbac_objects() by parts; options.namespaces is not used.
std::vector<Value> rbac_objects_of(const std::vector<RbacPart>& parts, const RbacOptions& options);
// Returns ServiceAccount, ClusterRole, Roles and their bindings, ready to be applied.
std::vector<Value> rbac_objects(std::span<const Operator* const> operators,
                                const RbacOptions& options);

}  // namespace athanor::runtime
