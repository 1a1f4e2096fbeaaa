// SPDX-License-Identifier: Apache-2.0
// NodeAccelerators of emulated nodes.
#include "systems/das/agent.hpp"

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/settings.hpp"

namespace athanor::das {
namespace {

Plan publish(const Object& node, const std::optional<Object>& known, const Settings& settings,
             const EmulatedGpus& gpus, Instant now) {
  const std::string name(node.name());
  const Ref ref{&kNodeAccelerator, {settings.ns, name}};
  Plan plan;
  std::int64_t generation = 1;
  Value conditions = Value::list();
  if (!known) {
    const Value owner =
        OwnerReference{
            .api_version = "v1", .kind = "Node", .name = name, .uid = std::string(node.uid())}
            .to_value();
    plan.then(Create{.target = ref,
                     .object = Value::object(
                         {{"apiVersion", kGroupVersion},
                          {"kind", kNodeAccelerator.name},
                          {"metadata", Value::object({{"name", name},
                                                      {"namespace", settings.ns},
                                                      {"ownerReferences", Value::list({owner})}})},
                          {"spec", Value::object({{"acceleratorType", kAcceleratorType}})}})});
    plan.then(Emit{.about = ref,
                   .reason = "GPUDiscovered",
                   .note = std::to_string(gpus.count) + " x " + gpus.model->product()});
  } else {
    generation = known->generation();
    if (known->status()["conditions"].is_list()) {
      conditions = known->status()["conditions"];
    }
    if (known->spec()["acceleratorType"].as_string().empty()) {
      plan.then(Patch{.target = ref,
                      .merge = Value::object(
                          {{"spec", Value::object({{"acceleratorType", kAcceleratorType}})}}),
                      .guard = {.uid = std::string(known->uid())}});
    }
  }
  set_condition(conditions,
                {.type = "Ready",
                 .status = "True",
                 .reason = "GPUsAccessible",
                 .message = "All discovered GPUs are accessible and the driver is healthy.",
                 .observed_generation = generation},
                now);
  plan.then(Status{.target = ref,
                   .status = Value::object({{"conditions", conditions},
                                            {"nodeResources", emulated_resources(name, gpus)}})});
  return plan;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting() || !runs_agent(view, *node)) {
    return Plan::done();
  }
  const Settings settings = settings_of(view);
  const auto gpus = emulated_gpus(*node, settings);
  if (!gpus.ok()) {
    Plan plan;
    plan.then(Emit{.about = {&api::kNode, key},
                   .about_uid = std::string(node->uid()),
                   .type = "Warning",
                   .reason = "InvalidGPUModel",
                   .note = gpus.error().message});
    return plan;
  }
  const auto known = view.get(kNodeAccelerator, {settings.ns, key.name});
  if (known && known->deleting()) {
    return Plan::done();
  }
  return publish(*node, known, settings, *gpus, now);
}

}  // namespace

bool runs_agent(const View& view, const Object& node) {
  const Settings settings = settings_of(view);
  // The label of nodes that this process emulates; others have an agent of their own.
  if (!settings.emulated() || node.label("athanor.dev/emulated") != "true") {
    return false;
  }
  const auto op = view.get<DASOperator>({settings.ns, kOperatorName});
  if (!op || op->object.deleting() || op->spec.management_state == "Removed") {
    return false;
  }
  std::map<std::string, std::string> selector{{kMigCapableLabel, "true"}};
  for (const auto& [label, value] : op->spec.node_selector) {
    selector[label] = value;
  }
  for (const auto& [label, value] : selector) {
    const Value& found = node.metadata()["labels"][label];
    if (!found.is_string() || found.as_string() != value) {
      return false;
    }
  }
  return true;
}

const Operator& agent_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode, &kNodeAccelerator, &kDASOperator};
  static constexpr const Kind* kWrites[] = {&kNodeAccelerator};
  static const Operator kOperator{.name = "das-daemonset",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::das
