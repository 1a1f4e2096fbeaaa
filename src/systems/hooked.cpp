// SPDX-License-Identifier: Apache-2.0
#include "systems/hooked.hpp"

#include <fmt/core.h>

#include "embedded/nodes/nodes.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "systems/das/operators.hpp"
#include "systems/das/tables.hpp"

namespace athanor {
namespace {

Plan schedule_pods(const View& view, const Key& /*key*/, Instant now) {
  return scheduler::schedule(view, now, das::das_scheduling());
}

Plan run_pod(const View& view, const Key& key, Instant now) {
  return nodes::run_pod(view, key, now, das::das_nodes());
}

Plan report_node(const View& view, const Key& key, Instant now) {
  return nodes::report_node(view, key, now, das::das_nodes());
}

}  // namespace

std::span<const Operator* const> hooked_operators() {
  static const scheduler::HookedScheduler kScheduler(das::das_scheduling(), schedule_pods);
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), das::das_nodes(), run_pod);
  static const nodes::HookedNode kNode(nodes::node_operator(), das::das_nodes(), report_node);
  static const Operator* const kOperators[] = {&kScheduler.get(), &kKubelet.get(), &kNode.get()};
  return kOperators;
}

Result<void> check_gpu_model(std::string_view model) {
  if (model.empty() || das::find_model(model) != nullptr) {
    return {};
  }
  return Error::bad_request(
      fmt::format("unknown emulated GPU model \"{}\"; known: {}", model, das::known_models()));
}

}  // namespace athanor
