// SPDX-License-Identifier: Apache-2.0
// The kinds of DAS: DASOperator, NodeAccelerator, AllocationClaim (docs/spec/das.md 2).
#pragma once

#include <map>
#include <span>
#include <string>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::das {

// The kinds of DAS; all are namespaced.
inline constexpr Kind kDASOperator{"inference.redhat.com", "v1alpha1", "DASOperator",
                                   "dasoperators", true};
inline constexpr Kind kNodeAccelerator{"inference.redhat.com", "v1alpha1", "NodeAccelerator",
                                       "nodeaccelerators", true};
inline constexpr Kind kAllocationClaim{"inference.redhat.com", "v1alpha1", "AllocationClaim",
                                       "allocationclaims", true};

// Kinds of NVIDIA's GPU operator; served where a lab emulates it.
inline constexpr Kind kClusterPolicy{"nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", false};

// spec of DASOperator (docs/spec/das.md 2.1).
struct DASOperatorSpec {
  std::string management_state{};  // Managed, Unmanaged, Force, Removed
  std::string log_level{};         // Normal, Debug, Trace, TraceAll
  std::string operator_log_level{};
  Value observed_config{};
  Value unsupported_config_overrides{};
  std::map<std::string, std::string> node_selector{};
  Value tolerations{};  // null: of every taint
  std::string priority_class_name{};
  Value resources{};
};

// A DASOperator; only the one named `cluster` is acted on.
struct DASOperator {
  Object object{};
  DASOperatorSpec spec{};
  Value status{};
  static const Kind& kind() { return kDASOperator; }
};

// status of NodeAccelerator (docs/spec/das.md 2.3).
struct NodeAcceleratorStatus {
  Value conditions{};
  Value node_resources{};  // inventory.hpp reads it
};

// spec of NodeAccelerator: the accelerator type, empty for NVIDIA's.
struct NodeAcceleratorSpec {
  std::string accelerator_type{};
};

// The GPUs of one node, named as the node.
struct NodeAccelerator {
  Object object{};
  NodeAcceleratorSpec spec{};
  NodeAcceleratorStatus status{};
  static const Kind& kind() { return kNodeAccelerator; }
};

// status of AllocationClaim (docs/spec/das.md 3.1, 3.3).
struct AllocationClaimStatus {
  std::string state{};
  Value conditions{};
};

// The payload has no schema beyond its placement: claim.hpp reads it.
struct AllocationClaim {
  Object object{};
  Value spec{};
  AllocationClaimStatus status{};
  static const Kind& kind() { return kAllocationClaim; }
};

// Returns the definitions of the three kinds of DAS.
std::span<const api::CustomKind* const> das_kinds();
// Returns the definition of ClusterPolicy, for labs that emulate the GPU operator.
const api::CustomKind& cluster_policy_kind();

}  // namespace athanor::das

ATHANOR_DESCRIBED(athanor::das::DASOperatorSpec);
ATHANOR_DESCRIBED(athanor::das::DASOperator);
ATHANOR_DESCRIBED(athanor::das::NodeAcceleratorSpec);
ATHANOR_DESCRIBED(athanor::das::NodeAcceleratorStatus);
ATHANOR_DESCRIBED(athanor::das::NodeAccelerator);
ATHANOR_DESCRIBED(athanor::das::AllocationClaimStatus);
ATHANOR_DESCRIBED(athanor::das::AllocationClaim);
