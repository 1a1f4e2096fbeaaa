// SPDX-License-Identifier: Apache-2.0
// The status of KubeletConfigs in a lab: a pool takes one, and the others that select it say so.
#include <fmt/core.h>

#include <string>

#include "kube/value/condition.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/kubelet_configs.hpp"

namespace athanor::numa {
namespace {

// Why no pool, or not every pool that is selected, takes the configuration; empty: all do.
std::string obstacle(const View& view, const Object& config) {
  for (const Object& pool : view.list(kMachineConfigPool)) {
    if (!selects(config, pool)) {
      continue;
    }
    if (const auto first = kubelet_config_of(view, pool); first && first->uid() != config.uid()) {
      return fmt::format(
          "Error: MachineConfigPool {} takes KubeletConfig {}, the oldest that selects it",
          pool.name(), first->name());
    }
  }
  return {};
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto config = view.get(kKubeletConfig, key);
  if (!config || config->deleting()) {
    return Plan::done();
  }
  const std::string error = obstacle(view, *config);
  Value conditions = config->status()["conditions"];
  if (error.empty() && conditions.empty()) {
    return Plan::done();
  }
  // The machine config operator has one of both, and the status of Failure is False.
  const Condition wanted =
      error.empty() ? Condition{.type = "Success", .status = "True", .message = "Success"}
                    : Condition{.type = "Failure", .status = "False", .message = error};
  const Value& present = find_condition(conditions, wanted.type);
  if (conditions.size() != 1 || present["message"].as_string() != wanted.message) {
    conditions = Value::list();
    set_condition(conditions, wanted, now);
  }
  Plan plan;
  plan.then(athanor::Status{.target = {&kKubeletConfig, key},
                            .status = Value::object({{"conditions", std::move(conditions)}}),
                            .guard = {.uid = std::string(config->uid())}});
  return plan;
}

}  // namespace

const Operator& kubelet_config_emulation() {
  static const Kind* const kReads[] = {&kKubeletConfig, &kMachineConfigPool};
  static const Kind* const kWrites[] = {&kKubeletConfig};
  static const Access kAccess[] = {{&kKubeletConfig, "patch", "status"}};
  static const Operator kOperator{.name = "emulated-kubelet-config",
                                  .primary = &kKubeletConfig,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .small = kReads,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::numa
