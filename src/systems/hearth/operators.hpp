// SPDX-License-Identifier: Apache-2.0
// The controllers of Hearth (docs/spec/hearth.md). Settings come from view.config("hearth"), see
// settings.hpp; target clusters are asked through observations, see probe.hpp.
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::hearth {

// Makes a FournosCluster of a labelled Secret (section 4).
const Operator& discovery_operator();
// Handles one FournosCluster: kubeconfig, GPUs, flavor, lock, and its end (sections 5 to 10).
const Operator& cluster_operator();
// Writes, as the only one, the ClusterQueue: flavors and quotas of all clusters (section 8).
const Operator& queue_operator();
// Sentinels whose FournosCluster is gone (section 10.1).
const Operator& sentinel_operator();

// Returns all of them.
std::span<const Operator* const> hearth_operators();

}  // namespace athanor::hearth
