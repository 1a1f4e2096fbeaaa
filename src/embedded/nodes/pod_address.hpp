// SPDX-License-Identifier: Apache-2.0
// Addresses of pods on emulated nodes: each has one of its own on the loopback network, so that
// endpoints of several pods stay apart. All of them are this machine: who listens on every address
// is reached through each.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Address of emulated nodes, and of pods on the host's network.
inline constexpr const char* kHostAddress = "127.0.0.1";

// Returns the address in the pod's status, else a free one that follows from its uid; the node's
// for pods on the host's network.
std::string pod_address(const View& view, const Object& pod);
// Returns the index of pods by status.podIP, which pod_address() reads.
Index pod_address_index();

}  // namespace athanor::nodes
