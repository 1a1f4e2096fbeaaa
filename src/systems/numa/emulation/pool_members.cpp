// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/emulation/pool_members.hpp"

#include <algorithm>

#include "kube/names/selector.hpp"
#include "kube/value/precedence.hpp"

namespace athanor::numa {
namespace {

enum class Sort : unsigned char { Master, Own, Worker };
Sort sort_of(const Object& pool) {
  return pool.name() == "master"   ? Sort::Master
         : pool.name() == "worker" ? Sort::Worker
                                   : Sort::Own;
}

bool pool_selects(const Object& pool, const Object& node) {
  const auto selector = LabelSelector::from_value(pool.spec()["nodeSelector"]);
  return selector.ok() && !pool.deleting() && selector->matches(node.metadata()["labels"]);
}

bool goes_before(const Object& a, const Object& b) {
  return sort_of(a) != sort_of(b) ? sort_of(a) < sort_of(b) : precedes(a, b);
}

}  // namespace

PoolMembers members_of(const Object& pool, const std::vector<Object>& pools,
                       const std::vector<Object>& nodes) {
  PoolMembers members;
  for (const Object& node : nodes) {
    if (!pool_selects(pool, node)) {
      continue;
    }
    const auto other = std::ranges::find_if(pools, [&](const Object& one) {
      return one.uid() != pool.uid() && pool_selects(one, node) && goes_before(one, pool);
    });
    if (other == pools.end()) {
      members.names.emplace_back(node.name());
    } else if (sort_of(pool) == Sort::Own && members.lost.empty()) {
      members.lost = node.name();
      members.lost_to = other->name();
    }
  }
  std::ranges::sort(members.names);
  return members;
}

}  // namespace athanor::numa
