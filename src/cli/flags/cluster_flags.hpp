// SPDX-License-Identifier: Apache-2.0
// Flags of the verbs about clusters: clusters, clusters add, check and remove, lock, unlock.
#pragma once

#include "cli/options.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named itself
namespace CLI {
class App;
}

namespace athanor::cli {

// Options of each of these verbs.
struct ClusterVerbs {
  ClustersOptions list{};
  ClusterAddOptions add{};
  ClusterCheckOptions check{};
  ClusterRemoveOptions remove{};
  LockOptions lock{};
  UnlockOptions unlock{};
};

// Add the verbs with their flags: clusters with the verbs below it; lock and unlock.
void add_cluster_verbs(CLI::App& app, ClusterVerbs& parsed);
void add_locks(CLI::App& app, ClusterVerbs& parsed);
// Returns what `athanor clusters` or the verb below it was given.
Command chosen_of_clusters(const CLI::App& clusters, ClusterVerbs& parsed);

}  // namespace athanor::cli
