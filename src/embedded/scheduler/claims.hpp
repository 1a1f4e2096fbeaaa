// SPDX-License-Identifier: Apache-2.0
// What a pod's volume claims allow: nothing yet, some nodes, any node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::scheduler {

// The state of a pod's claims.
struct ClaimsState {
  // Why no node will do, in kube-scheduler's words; empty: some may.
  std::string refusal{};
  // Node selectors that the bound volumes ask for, each to be matched.
  std::vector<Value> selectors{};
  // Claims that wait for a node to be chosen first.
  std::vector<Object> waiting{};
  // The node chosen for them earlier; empty: none yet.
  std::string selected{};
};
// Reads claims, volumes and classes through the view.
ClaimsState claims_state(const View& view, const Object& pod);

// Returns true if a node is one that all bound volumes can be reached from.
bool reaches_volumes(const ClaimsState& claims, const Object& node);

// The annotation that names the node of a waiting claim.
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

}  // namespace athanor::scheduler
