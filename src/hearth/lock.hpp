// SPDX-License-Identifier: Apache-2.0
// Locks: a sentinel FournosJob that holds all slots of a cluster for its owner (spec/hearth.md
// section 9). Private to this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hearth/cluster.hpp"
#include "kube/object.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::hearth {

// The owner without blanks at its ends; empty: nobody.
std::string owner_of(const api::FournosClusterSpec& spec);

// The jobs that hold or want the cluster's lock, under whatever name (D1).
std::vector<Object> sentinels_of(const View& view, const Settings& settings,
                                 const std::string& cluster);
// Deletes each that is not going already.
Plan drop_sentinels(const std::vector<Object>& sentinels);

// Workloads, admitted and not finished, that sit on a flavor: index "hearth-flavor".
const Index& flavor_index();
std::vector<Object> workloads_on(const View& view, const std::string& cluster);

// Since when who holds it, and its end: kept in the annotation fournos.dev/lock, so that a restart
// extends nothing.
void keep_lock_record(const Tick& tick, MainPatch& patch, Plan& plan);

// The sentinel, and what the status says of it. Steps follow the status.
void keep_lock(const Tick& tick, StatusWrite& status, Plan& steps);

}  // namespace athanor::hearth
