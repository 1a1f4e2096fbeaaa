// SPDX-License-Identifier: Apache-2.0
// The queues as a tree: cohorts, ClusterQueues and LocalQueues, with quota, use and borrowing.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Returns a list of roots: {kind, name, waiting, admitted, resources: [{flavor, resource, nominal,
// used, borrowed}], queues: [LocalQueues], children: [...]}.
Value queue_tree(const View& view);
// Returns one line a node and one a quota, with a bar of 20 places.
std::string queue_tree_text(const Value& tree);
// Returns a line for each cohort, ClusterQueue and LocalQueue: "clusterqueue.kueue.x-k8s.io/a".
std::string queue_tree_names(const Value& tree);
// Returns a value for each quota of each node, or one for a node without quotas: {kind, name,
// parent, flavor, resource, quota, used, borrowed, share}, of ClusterQueues with admitted, waiting
// and localQueues.
std::vector<Value> queue_tree_items(const Value& tree);
// Returns the titles of the columns, or these values as rows.
std::vector<std::string> queue_tree_header();
std::vector<std::vector<std::string>> queue_tree_rows(const Value& tree);

}  // namespace athanor::kueue
