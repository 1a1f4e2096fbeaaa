// SPDX-License-Identifier: Apache-2.0
// One list of hooks for the scheduler, one for nodes.
#include "cli/hooked_operators.hpp"

#include <span>

#include "embedded/nodes/nodes.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "systems/numa/node_state.hpp"
#include "systems/numa/session.hpp"

namespace athanor::cli {
namespace {

std::span<const SchedulingHooks* const> scheduling() {
  static const SchedulingHooks* const kHooks[] = {&numa::numa_scheduling()};
  return kHooks;
}

std::span<const NodeHooks* const> on_nodes() {
  static const NodeHooks* const kHooks[] = {&numa::numa_node_hooks()};
  return kHooks;
}

}  // namespace

std::vector<const Operator*> hooked_operators() {
  static const scheduler::HookedScheduler kScheduler(
      scheduling(), [](const View& view, const Key& /*key*/, Instant now) {
        return scheduler::schedule(view, now, scheduling());
      });
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), on_nodes(),
                                          [](const View& view, const Key& key, Instant now) {
                                            return nodes::run_pod(view, key, now, on_nodes());
                                          });
  static const nodes::HookedNode kNode(nodes::node_operator(), on_nodes(),
                                       [](const View& view, const Key& key, Instant now) {
                                         return nodes::report_node(view, key, now, on_nodes());
                                       });
  return {&kScheduler.get(), &kKubelet.get(), &kNode.get()};
}

}  // namespace athanor::cli
