// SPDX-License-Identifier: Apache-2.0
#include "product/hooked.hpp"

#include <span>

#include "embedded/nodes/nodes.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "product/list.hpp"

namespace athanor {
namespace {

std::span<const SchedulingHooks* const> scheduling() {
  static const std::vector<const SchedulingHooks*> kHooks = [] {
    std::vector<const SchedulingHooks*> hooks;
    for (const System* system : all_systems()) {
      hooks.insert(hooks.end(), system->scheduling.begin(), system->scheduling.end());
    }
    return hooks;
  }();
  return kHooks;
}

std::span<const NodeHooks* const> on_nodes() {
  static const std::vector<const NodeHooks*> kHooks = [] {
    std::vector<const NodeHooks*> hooks;
    for (const System* system : all_systems()) {
      hooks.insert(hooks.end(), system->node_hooks.begin(), system->node_hooks.end());
    }
    return hooks;
  }();
  return kHooks;
}

Plan schedule_pods(const View& view, const Key& /*key*/, Instant now) {
  return scheduler::schedule(view, now, scheduling());
}

Plan run_pod(const View& view, const Key& key, Instant now) {
  return nodes::run_pod(view, key, now, on_nodes());
}

Plan report_node(const View& view, const Key& key, Instant now) {
  return nodes::report_node(view, key, now, on_nodes());
}

}  // namespace

std::vector<const Operator*> hooked_operators() {
  static const scheduler::HookedScheduler kScheduler(scheduling(), schedule_pods);
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), on_nodes(), run_pod);
  static const nodes::HookedNode kNode(nodes::node_operator(), on_nodes(), report_node);
  return {&kScheduler.get(), &kKubelet.get(), &kNode.get()};
}

}  // namespace athanor
