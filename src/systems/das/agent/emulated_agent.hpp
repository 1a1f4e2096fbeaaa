// SPDX-License-Identifier: Apache-2.0
// The agent of emulated nodes: what a device plugin does there, without hardware (docs/spec/das.md
// 8, 9).
#pragma once

#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::das {

// Publishes the NodeAccelerator of every emulated node that the agent runs on.
const Operator& agent_operator();
// Releases claims whose pod has ended or is gone, with their CDI files.
const Operator& claim_operator();
// Provides capacity and Allocate for the emulated kubelet.
const NodeHooks& mig_node_hooks();

// Returns true if the DASOperator wants an agent on this node.
bool runs_agent(const View& view, const Object& node);

}  // namespace athanor::das
