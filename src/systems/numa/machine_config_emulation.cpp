// SPDX-License-Identifier: Apache-2.0
// MachineConfigPools of a lab: every configuration is taken over at once (docs/spec/numa.md 16.2).
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/condition.hpp"
#include "kube/selector.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/node_state.hpp"

namespace athanor::numa {
namespace {

std::vector<std::string> names_of(const std::vector<Object>& objects, const Value& selector) {
  std::vector<std::string> names;
  const auto parsed = LabelSelector::from_value(selector);
  if (!parsed.ok()) {
    return names;
  }
  for (const Object& object : objects) {
    if (parsed->matches(object.metadata()["labels"])) {
      names.emplace_back(object.name());
    }
  }
  std::ranges::sort(names);
  return names;
}

bool has_kubelet_config(const View& view, const Object& pool) {
  return std::ranges::any_of(view.list(kKubeletConfig), [&](const Object& config) {
    const auto selector = LabelSelector::from_value(config.spec()["machineConfigPoolSelector"]);
    return selector.ok() && selector->matches(pool.metadata()["labels"]);
  });
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto pool = view.get(kMachineConfigPool, key);
  if (!pool || pool->deleting() || pool->spec()["paused"].as_bool()) {
    return Plan::done();
  }
  std::vector<std::string> sources =
      names_of(view.list(kMachineConfig), pool->spec()["machineConfigSelector"]);
  if (has_kubelet_config(view, *pool)) {
    sources.push_back(fmt::format("99-{}-generated-kubelet", pool->name()));
    std::ranges::sort(sources);
  }
  Value list = Value::list();
  for (const std::string& name : sources) {
    list.push_back(Value::object({{"name", name}}));
  }
  const auto machines = static_cast<std::int64_t>(
      names_of(view.list(api::kNode), pool->spec()["nodeSelector"]).size());
  Value conditions = pool->status()["conditions"];
  for (const auto& [type, status] :
       {std::pair{"Updated", "True"}, {"Updating", "False"}, {"Degraded", "False"}}) {
    set_condition(conditions, {.type = type, .status = status}, now);
  }
  Plan plan;
  plan.then(athanor::Status{
      .target = {&kMachineConfigPool, key},
      .status = Value::object({{"configuration", Value::object({{"source", std::move(list)}})},
                               {"conditions", std::move(conditions)},
                               {"machineCount", machines},
                               {"readyMachineCount", machines},
                               {"updatedMachineCount", machines},
                               {"unavailableMachineCount", 0},
                               {"degradedMachineCount", 0}}),
      .guard = {.uid = std::string(pool->uid())}});
  return plan;
}

}  // namespace

const Operator& machine_config_emulation() {
  static const Kind* const kReads[] = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig,
                                       &api::kNode};
  static const Kind* const kWrites[] = {&kMachineConfigPool};
  static const Kind* const kSmall[] = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig,
                                       &api::kNode};
  static const Operator kOperator{.name = "emulated-machine-config",
                                  .primary = &kMachineConfigPool,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::numa
