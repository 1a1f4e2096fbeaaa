// SPDX-License-Identifier: Apache-2.0
#include "product/hooked.hpp"

#include <algorithm>
#include <iterator>
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

bool uses(const Operator& op, const Kind* kind) {
  return op.primary == kind || std::ranges::find(op.reads, kind) != op.reads.end() ||
         std::ranges::find(op.writes, kind) != op.writes.end();
}

}  // namespace

std::vector<const Operator*> hooked_operators() {
  static const scheduler::HookedScheduler kScheduler(scheduling(), schedule_pods);
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), on_nodes(), run_pod);
  static const nodes::HookedNode kNode(nodes::node_operator(), on_nodes(), report_node);
  return {&kScheduler.get(), &kKubelet.get(), &kNode.get()};
}

std::vector<const Operator*> with_hooks(std::vector<const Operator*> operators) {
  for (const Operator* hooked : hooked_operators()) {
    const auto plain = std::ranges::find(operators, hooked->name, &Operator::name);
    if (plain != operators.end()) {
      *plain = hooked;
    }
  }
  return operators;
}

std::vector<const Kind*> kinds_of_hooks(const std::vector<const Operator*>& operators) {
  std::vector<const Kind*> kinds;
  for (const Operator* hooked : hooked_operators()) {
    if (std::ranges::find(operators, hooked->name, &Operator::name) == operators.end()) {
      continue;
    }
    for (const auto& used : {hooked->reads, hooked->writes}) {
      std::ranges::copy_if(used, std::back_inserter(kinds), [&](const Kind* kind) {
        return std::ranges::find(kinds, kind) == kinds.end() &&
               std::ranges::none_of(operators, [&](const Operator* op) { return uses(*op, kind); });
      });
    }
  }
  return kinds;
}

}  // namespace athanor
