// SPDX-License-Identifier: Apache-2.0
// Flags of the verbs about clusters: clusters, clusters add, check and remove, lock, unlock.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Options of each of these verbs.
struct ClusterVerbs {
  ClustersOptions list{};
  ClusterCordonOptions cordon{};
  DescribeOptions describe{};
  NameChoice described{};
  ClusterAddOptions add{};
  ClusterCheckOptions check{};
  ClusterRemoveOptions remove{};
  LockOptions lock{};
  UnlockOptions unlock{};
};

// Adds the verbs with their flags: clusters with the verbs below it; lock and unlock.
void add_cluster_verbs(flags::Verb& app, ClusterVerbs& parsed);
void add_locks(flags::Verb& app, ClusterVerbs& parsed);
// Returns what `athanor clusters` or the verb below it was given.
Command chosen_of_clusters(const flags::Verb& clusters, ClusterVerbs& parsed);

}  // namespace athanor::cli
