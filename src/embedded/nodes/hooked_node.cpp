// SPDX-License-Identifier: Apache-2.0
// Operators of nodes with the hooks of systems.
#include "embedded/nodes/nodes.hpp"

namespace athanor::nodes {

HookedNode::HookedNode(const Operator& base, std::span<const NodeHooks* const> hooks,
                       Plan (*reconcile)(const View& view, const Key& key, Instant now))
    : operator_(base) {
  const auto append = [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  append(reads_, operator_.reads);
  append(writes_, operator_.writes);
  append(indexes_, operator_.indexes);
  append(access_, operator_.access);
  for (const NodeHooks* one : hooks) {
    append(reads_, one->reads);
    append(writes_, one->writes);
    append(indexes_, one->indexes);
    append(access_, one->access);
  }
  operator_.reads = reads_;
  operator_.writes = writes_;
  operator_.indexes = indexes_;
  operator_.access = access_;
  operator_.reconcile = reconcile;
}

}  // namespace athanor::nodes
