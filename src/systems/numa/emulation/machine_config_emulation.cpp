// SPDX-License-Identifier: Apache-2.0
// MachineConfigPools of a lab: every configuration is taken over at once, a KubeletConfig by the
// pool's nodes, too (docs/spec/numa.md 16.2).
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/kinds.hpp"

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

// The first one by name, as with the exporter's ConfigMap.
std::optional<Object> kubelet_config_of(const View& view, const Object& pool) {
  for (const Object& config : view.list(kKubeletConfig)) {
    const auto selector = LabelSelector::from_value(config.spec()["machineConfigPoolSelector"]);
    if (selector.ok() && selector->matches(pool.metadata()["labels"])) {
      return config;
    }
  }
  return std::nullopt;
}

// The pool's nodes take over policy and scope of its KubeletConfig.
void reconfigure(const Object& node, const Object& config, Plan& plan) {
  auto profile = json::parse(node.annotation(kProfileAnnotation));
  if (!profile.ok() || !profile->is_object()) {
    return;
  }
  const Value before = *profile;
  const Value& kubelet = config.spec()["kubeletConfig"];
  for (const auto& [from, to] :
       {std::pair{"topologyManagerPolicy", "policy"}, {"topologyManagerScope", "scope"}}) {
    if (!kubelet[from].as_string().empty()) {
      profile->set(to, kubelet[from]);
    }
  }
  // What the node could not read would leave it without zones.
  if (*profile == before || !read_profile(*profile).ok()) {
    return;
  }
  plan.then(Patch{
      .target = {&api::kNode, node.key()},
      .merge = Value::object(
          {{"metadata",
            Value::object(
                {{"annotations", Value::object({{kProfileAnnotation, json::print(*profile)}})}})}}),
      .guard = {.uid = std::string(node.uid())}});
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto pool = view.get(kMachineConfigPool, key);
  if (!pool || pool->deleting() || pool->spec()["paused"].as_bool()) {
    return Plan::done();
  }
  std::vector<std::string> sources =
      names_of(view.list(kMachineConfig), pool->spec()["machineConfigSelector"]);
  const auto kubelet_config = kubelet_config_of(view, *pool);
  if (kubelet_config) {
    sources.push_back(fmt::format("99-{}-generated-kubelet", pool->name()));
    std::ranges::sort(sources);
  }
  Value list = Value::list();
  for (const std::string& name : sources) {
    list.push_back(Value::object({{"name", name}}));
  }
  const std::vector<Object> nodes = view.list(api::kNode);
  const std::vector<std::string> members = names_of(nodes, pool->spec()["nodeSelector"]);
  const auto machines = static_cast<std::int64_t>(members.size());
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
  for (const Object& node : nodes) {
    if (kubelet_config && std::ranges::binary_search(members, node.name())) {
      reconfigure(node, *kubelet_config, plan);
    }
  }
  return plan;
}

}  // namespace

const Operator& machine_config_emulation() {
  static const Kind* const kReads[] = {&kMachineConfigPool, &kMachineConfig, &kKubeletConfig,
                                       &api::kNode};
  static const Kind* const kWrites[] = {&kMachineConfigPool, &api::kNode};
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
