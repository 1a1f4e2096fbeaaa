// SPDX-License-Identifier: Apache-2.0
// What Hearth says of a job's cluster: the FournosCluster, and why it lets nothing in.
#pragma once

#include <optional>
#include <string>

#include "systems/fournos/job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {

// Returns the FournosCluster of that name; nullopt: Hearth does not manage it.
std::optional<api::FournosCluster> cluster_of_hearth(const Context& context,
                                                     const std::string& cluster);

// Returns the sentence for a cluster that does not answer; empty: it does, as far as is known.
std::string unreachable_text(const api::FournosCluster& cluster);

// Returns true while Hearth may still bring a new cluster into the queue: for a minute after it was
// made, unless it says that it does not.
bool is_joining(const Context& context, const std::string& cluster);
// Returns true while a new cluster may still bring GPUs of this type into the queue.
bool may_bring_gpus(const Context& context, const std::string& type);

// Returns why the cluster lets nothing in, by cordon, lock, or reach; empty: Hearth holds nothing
// back.
std::string closed_by_hearth(const Context& context, const std::string& cluster);

// Says that no ClusterQueue lists the cluster's flavor, and why Hearth does not add it; empty: one
// does.
std::string no_place_text(const Context& context, const std::string& cluster);

}  // namespace athanor::fournos
