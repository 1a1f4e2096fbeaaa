// SPDX-License-Identifier: Apache-2.0
// MachineConfigPools of a lab: nodes take over a KubeletConfig at once, without a drain, and their
// pool reports the changed configuration after a delay (docs/spec/numa.md 16.2).
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/settings.hpp"

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

// Returns the step by which a node takes over policy and scope of its pool's KubeletConfig;
// nullopt: it has them.
std::optional<Patch> reconfigured(const Object& node, const Object& config) {
  auto profile = json::parse(node.annotation(kProfileAnnotation));
  if (!profile.ok() || !profile->is_object()) {
    return std::nullopt;
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
    return std::nullopt;
  }
  return Patch{
      .target = {&api::kNode, node.key()},
      .merge = Value::object(
          {{"metadata",
            Value::object(
                {{"annotations", Value::object({{kProfileAnnotation, json::print(*profile)}})}})}}),
      .guard = {.uid = std::string(node.uid())}};
}

// Names of the machine configurations that the pool is to have.
Value sources_of(const View& view, const Object& pool, bool kubelet_config) {
  std::vector<std::string> sources =
      names_of(view.list(kMachineConfig), pool.spec()["machineConfigSelector"]);
  if (kubelet_config) {
    sources.push_back(fmt::format("99-{}-generated-kubelet", pool.name()));
    std::ranges::sort(sources);
  }
  Value list = Value::list();
  for (const std::string& name : sources) {
    list.push_back(Value::object({{"name", name}}));
  }
  return list;
}

bool is_updating(const Object& pool) {
  return condition_is(pool.status()["conditions"], "Updating", "True");
}

// Returns when the update that is under way ends; one that begins now where none is.
Instant end_of_update(const Object& pool, Duration delay, Instant now) {
  const Value& updating = find_condition(pool.status()["conditions"], "Updating");
  const auto since =
      is_updating(pool) ? parse_time(updating["lastTransitionTime"].as_string()) : std::nullopt;
  return since.value_or(now) + delay;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto pool = view.get(kMachineConfigPool, key);
  if (!pool || pool->deleting() || pool->spec()["paused"].as_bool()) {
    return Plan::done();
  }
  const auto kubelet_config = kubelet_config_of(view, *pool);
  Value sources = sources_of(view, *pool, kubelet_config.has_value());
  const std::vector<Object> nodes = view.list(api::kNode);
  const std::vector<std::string> members = names_of(nodes, pool->spec()["nodeSelector"]);
  std::vector<Patch> changes;
  for (const Object& node : nodes) {
    if (kubelet_config && std::ranges::binary_search(members, node.name())) {
      if (auto change = reconfigured(node, *kubelet_config)) {
        changes.push_back(*std::move(change));
      }
    }
  }
  const Value& status = pool->status();
  const auto delay = parse_go_duration(settings_of(view.config("numa")).machine_config_delay);
  // A pool begins with what is there.
  const bool changed = !status["conditions"].empty() &&
                       (status["configuration"]["source"] != sources || !changes.empty());
  const Instant end = end_of_update(*pool, delay.ok() ? *delay : Duration(0), now);
  const bool updates = (changed || is_updating(*pool)) && end > now;
  const auto machines = static_cast<std::int64_t>(members.size());
  Value conditions = status["conditions"];
  for (const auto& [type, value] : {std::pair{"Updated", updates ? "False" : "True"},
                                    {"Updating", updates ? "True" : "False"},
                                    {"Degraded", "False"}}) {
    set_condition(conditions, {.type = type, .status = value}, now);
  }
  Plan plan;
  plan.then(athanor::Status{
      .target = {&kMachineConfigPool, key},
      .status = Value::object(
          {{"configuration",
            updates ? status["configuration"] : Value::object({{"source", std::move(sources)}})},
           {"conditions", std::move(conditions)},
           {"machineCount", machines},
           {"readyMachineCount", updates ? 0 : machines},
           {"updatedMachineCount", updates ? 0 : machines},
           {"unavailableMachineCount", 0},
           {"degradedMachineCount", 0}}),
      .guard = {.uid = std::string(pool->uid())}});
  for (Patch& change : changes) {
    plan.then(std::move(change));
  }
  if (updates) {
    plan.wake_at(end);
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
