// SPDX-License-Identifier: Apache-2.0
// Locks: a sentinel FournosJob that holds all slots of a cluster for its owner (docs/spec/hearth.md
// section 9). Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "systems/hearth/cluster.hpp"

namespace athanor::hearth {

// Returns the owner without blanks at its ends; empty: none.
std::string owner_of(const api::FournosClusterSpec& spec);

// The jobs that hold or want a cluster's lock, under whatever name (D1).
struct Sentinels {
  bool known = true;             // false: asked by name; the answer runs the key again
  std::optional<Error> error{};  // the API server refuses the answer
  std::vector<Object> jobs{};
};
// Reads the view, or by name where FournosJobs may be got but not listed. `seen`: see read_live().
Sentinels sentinels_of(const View& view, const Settings& settings, const std::string& cluster,
                       Instant now, std::string_view seen);
// Returns the API server's own objects under the names of sentinels.
Sentinels live_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                         Instant now, std::string_view seen);
// Returns the same for the context's cluster, as does the next function.
Sentinels sentinels_of(const Context& context);
Sentinels live_sentinels(const Context& context);
// Deletes each that is not going already.
Plan drop_sentinels(const std::vector<Object>& sentinels);

// Workloads, admitted and not finished, that sit on a flavor: index "hearth-flavor".
const Index& flavor_index();
// Returns these Workloads for the cluster's flavor.
std::vector<Object> workloads_on(const View& view, const std::string& cluster);
// Returns why Workloads cannot be seen; nullopt: they can, or there is no such kind.
std::optional<Error> workloads_hidden(const View& view, const Settings& settings);

// Keeps holder, start and end of the lock in the annotation fournos.dev/lock, so that a restart
// extends nothing.
void keep_lock_record(const Context& context, MainPatch& patch, Plan& plan);

// Keeps the sentinel and its part of the status. Steps follow the status.
void keep_lock(const Context& context, StatusWrite& status, Plan& steps);
// Deletes the sentinel of a cluster that is gone, where FournosJobs may be got but not listed.
Plan drop_unlisted_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                             Instant now);

}  // namespace athanor::hearth
