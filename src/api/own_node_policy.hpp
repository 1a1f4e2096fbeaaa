// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicies by which the pods of a DaemonSet write objects of their own node
// alone: roles name kinds, not nodes.
#pragma once

#include <string>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::api {

// The built-in kinds, which a server before Kubernetes 1.30 lacks.
inline constexpr Kind kValidatingPolicy{"admissionregistration.k8s.io", "v1",
                                        "ValidatingAdmissionPolicy", "validatingadmissionpolicies",
                                        false};
inline constexpr Kind kValidatingPolicyBinding{"admissionregistration.k8s.io", "v1",
                                               "ValidatingAdmissionPolicyBinding",
                                               "validatingadmissionpolicybindings", false};

// A policy for one ServiceAccount.
struct OwnNodePolicy {
  std::string name{};
  std::string ns{};       // of the ServiceAccount
  std::string account{};  // of the ServiceAccount
  std::string role{};     // as messages name a pod: "an agent"
  std::vector<Value> rules{};
  // Returns the node of the object in the variable "object" or "oldObject", as CEL.
  std::string (*node_of)(const std::string& object) = nullptr;
};

// Returns a rule of OwnNodePolicy for creating, changing and deleting these resources of a group.
Value own_node_rule(const char* group, const std::vector<std::string>& resources);
// Returns the policy and its binding. The node is that which the writer's token is bound to.
std::vector<Value> own_node_objects(const OwnNodePolicy& policy);

}  // namespace athanor::api
