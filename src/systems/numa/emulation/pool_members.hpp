// SPDX-License-Identifier: Apache-2.0
// The nodes of a MachineConfigPool (docs/spec/numa.md 16.2). A node is in one pool: where several
// select it, `master` has it, then a pool of the user's own, then `worker`.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::numa {

// Nodes of one pool.
struct PoolMembers {
  std::vector<std::string> names{};  // sorted
  // The first node that another pool of the user's own has although this one selects it, and that
  // pool; empty: there is none.
  std::string lost{};
  std::string lost_to{};
};

// Finds the nodes of `pool`, one of `pools`.
PoolMembers members_of(const Object& pool, const std::vector<Object>& pools,
                       const std::vector<Object>& nodes);

}  // namespace athanor::numa
