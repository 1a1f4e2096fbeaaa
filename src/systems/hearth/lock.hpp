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

// The owner without blanks at its ends; empty: none.
std::string owner_of(const api::FournosClusterSpec& spec);

// The jobs that hold or want a cluster's lock, under whatever name (D1).
struct Sentinels {
  bool known = true;             // false: asked by name; the answer runs the key again
  std::optional<Error> error{};  // the API server refuses the answer
  std::vector<Object> jobs{};
};
// From the view or, where FournosJobs may be got but not listed, by name. `seen` as of read_live().
Sentinels sentinels_of(const View& view, const Settings& settings, const std::string& cluster,
                       Instant now, std::string_view seen);
// What the API server itself has under the names of sentinels.
Sentinels live_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                         Instant now, std::string_view seen);
// The same two for the context's cluster.
Sentinels sentinels_of(const Context& context);
Sentinels live_sentinels(const Context& context);
// Deletes each that is not going already.
Plan drop_sentinels(const std::vector<Object>& sentinels);

// Workloads, admitted and not finished, that sit on a flavor: index "hearth-flavor".
const Index& flavor_index();
// Returns these Workloads for the cluster's flavor.
std::vector<Object> workloads_on(const View& view, const std::string& cluster);
// Why Workloads cannot be seen; nullopt: they can, or there is no such kind.
std::optional<Error> workloads_hidden(const View& view, const Settings& settings);

// Since when who holds it, and its end: kept in the annotation fournos.dev/lock, so that a restart
// extends nothing.
void keep_lock_record(const Context& context, MainPatch& patch, Plan& plan);

// The sentinel, and what the status says of it. Steps follow the status.
void keep_lock(const Context& context, StatusWrite& status, Plan& steps);
// Deletes the sentinel of a cluster that is gone, where FournosJobs may be got but not listed.
Plan drop_unlisted_sentinels(const View& view, const Settings& settings, const std::string& cluster,
                             Instant now);

}  // namespace athanor::hearth
