// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_systems.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "api/describe.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "systems/das/operators.hpp"
#include "systems/das/tables.hpp"
#include "systems/das/webhook.hpp"

namespace athanor::cli {
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

std::vector<const Operator*> hooked_operators() {
  static const scheduler::HookedScheduler kScheduler(das::das_scheduling(), schedule_pods);
  static const nodes::HookedNode kKubelet(nodes::kubelet_operator(), das::das_nodes(), run_pod);
  static const nodes::HookedNode kNode(nodes::node_operator(), das::das_nodes(), report_node);
  return {&kScheduler.get(), &kKubelet.get(), &kNode.get()};
}

}  // namespace

Result<void> add_hooked_systems(const std::map<std::string, std::string>& variables,
                                lab::ControlPlaneOptions& options) {
  std::map<std::string, std::string> settings = variables;
  // The nodes of a lab have no other GPUs than emulated ones.
  settings.emplace("EMULATED_MODE", "enabled");
  ATHANOR_TRY(const das::Settings das, das::parse_settings(settings));
  for (const lab::Node& node : options.lab.nodes) {
    if (!node.gpus.model.empty() && das::find_model(node.gpus.model) == nullptr) {
      return Error::bad_request(fmt::format("node {}: unknown emulated GPU model \"{}\"; known: {}",
                                            node.name, node.gpus.model, das::known_models()));
    }
  }
  options.config[das::kSettingsSection] = api::encode(das);
  const auto append = [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  append(options.operators, das::das_operators());
  append(options.operators, hooked_operators());
  append(options.custom_kinds, das::das_kinds());
  append(options.webhooks, das::das_webhooks());
  // A lab without GPUs, whose user did not ask for them, runs no pods of DAS.
  const bool asked = variables.contains("EMULATED_MODE") && das.emulated();
  const bool equipped = std::ranges::any_of(
      options.lab.nodes, [](const lab::Node& node) { return node.gpus.count > 0; });
  if (asked || equipped) {
    append(options.objects, das::das_lab_objects(das));
  }
  return {};
}

}  // namespace athanor::cli
