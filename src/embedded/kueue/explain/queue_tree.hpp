// SPDX-License-Identifier: Apache-2.0
// The queues as a tree: cohorts, ClusterQueues and LocalQueues, with quota, use and borrowing.
// Pure.
#pragma once

#include <string>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// A list of roots: {kind, name, waiting, admitted, resources: [{flavor, resource, nominal, used,
// borrowed}], queues: [LocalQueues], children: [...]}.
Value queue_tree(const View& view);
// One line a node and one a quota, with a bar of 20 places.
std::string queue_tree_text(const Value& tree);

}  // namespace athanor::kueue
