// SPDX-License-Identifier: Apache-2.0
// The NodeAccelerator of a real node, from what its agent found.
#include <fmt/core.h>

#include <map>

#include "api/builtin.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/agent/node_accelerator.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {
namespace {

// The agent reads the GPUs itself and reports changes at once.
constexpr Duration kLookAge = std::chrono::minutes(5);

std::map<std::string, std::string> health_of(const Value& resources) {
  std::map<std::string, std::string> health;
  for (const Value& gpu : resources["nodeGpus"].items()) {
    health[gpu["gpuUuid"].str()] = gpu["health"].str();
  }
  return health;
}

void tell_changes(const Ref& about, const Value& before, const Value& after, Plan& plan) {
  const auto known = health_of(before);
  for (const auto& [uuid, health] : health_of(after)) {
    const auto was = known.find(uuid);
    if (was == known.end()) {
      plan.then(Emit{.about = about, .reason = "GPUDiscovered", .note = uuid});
    } else if (health == "Unhealthy" && was->second != "Unhealthy") {
      plan.then(Emit{.about = about, .type = "Warning", .reason = "GPUUnhealthy", .note = uuid});
    }
  }
}

// The memory of all GPUs, as a resource that quotas count (docs/spec/das.md K7).
void offer_memory(const Object& node, const Value& resources, const std::string& resource,
                  Plan& plan) {
  if (resource.empty()) {
    return;
  }
  std::int64_t bytes = 0;
  for (const Value& gpu : resources["nodeGpus"].items()) {
    const auto memory = Quantity::parse(gpu["gpuMemory"]);
    bytes += memory ? memory->value() : 0;
  }
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  const std::string amount = fmt::format("{}Gi", bytes / kGib);
  if (node.status()["capacity"][resource].as_string() == amount &&
      node.status()["allocatable"][resource].as_string() == amount) {
    return;
  }
  const Value offered = Value::object({{resource, amount}});
  plan.then(Patch{.target = {&api::kNode, node.key()},
                  .merge = Value::object({{"status", Value::object({{"capacity", offered},
                                                                    {"allocatable", offered}})}}),
                  .subresource = "status",
                  .guard = {.uid = std::string(node.uid())}});
}

Plan publish(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting() || key.name != view.config(kAgentSection)["node"].as_string()) {
    return Plan::done();
  }
  const Observed seen = view.observe(kGpusQuery, kLookAge);
  if (!seen.value) {
    return Plan::done();
  }
  const Settings settings = settings_of(view);
  const Ref ref{&kNodeAccelerator, {settings.ns, key.name}};
  const auto known = view.get(kNodeAccelerator, ref.key);
  if (known && known->deleting()) {
    return Plan::done();
  }
  Plan plan;
  Value conditions = Value::list();
  const std::string_view found_type = (*seen.value)["type"].as_string();
  const std::string type(found_type.empty() ? kNvidiaMig : found_type);
  keep_accelerator(*node, known, settings, type, plan);
  if (known && known->status()["conditions"].is_list()) {
    conditions = known->status()["conditions"];
  }
  const Value& found = *seen.value;
  set_condition(conditions,
                {.type = "Ready",
                 .status = found["ready"]["status"].str(),
                 .reason = found["ready"]["reason"].str(),
                 .message = found["ready"]["message"].str(),
                 .observed_generation = known ? known->generation() : 1},
                now);
  const Value resources = known ? known->status()["nodeResources"] : Value();
  plan.then(Status{.target = ref,
                   .status = Value::object(
                       {{"conditions", conditions}, {"nodeResources", found["nodeResources"]}})});
  tell_changes(ref, resources, found["nodeResources"], plan);
  offer_memory(*node, found["nodeResources"], settings.memory_quota_resource, plan);
  return plan;
}

}  // namespace

const Operator& publication_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode, &kNodeAccelerator};
  static constexpr const Kind* kWrites[] = {&kNodeAccelerator, &api::kNode};
  static constexpr Access kAccess[] = {{&kNodeAccelerator, "create patch"},
                                       {&api::kNode, "patch", "status"},
                                       {&kNodeAccelerator, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "das-daemonset",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = publish,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
