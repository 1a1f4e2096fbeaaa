// SPDX-License-Identifier: Apache-2.0
// NodeAccelerators of emulated nodes.
#include "systems/das/agent/emulated_agent.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/agent/node_accelerator.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {
namespace {

// UUIDs of the GPUs that hold claims.
std::set<std::string, std::less<>> gpus_in_use(const View& view, std::string_view node) {
  std::set<std::string, std::less<>> held;
  for (const Object& claim : view.list(kAllocationClaim, {.index = std::string(kClaimsByNode),
                                                         .index_value = std::string(node)})) {
    held.insert(claim.spec()["gpuUUID"].str());
  }
  return held;
}

void warn(Plan& plan, const Object& node, const char* reason, std::string note) {
  plan.then(Emit{.about = {&api::kNode, node.key()},
                 .about_uid = std::string(node.uid()),
                 .type = "Warning",
                 .reason = reason,
                 .note = std::move(note)});
}

Plan publish_accelerator(const Object& node, const std::optional<Object>& known,
                         const Settings& settings, const EmulatedGpus& gpus, Value resources,
                         Instant now) {
  const std::string name(node.name());
  const Ref ref{&kNodeAccelerator, {settings.ns, name}};
  Plan plan;
  std::int64_t generation = 1;
  Value conditions = Value::list();
  keep_accelerator(node, known, settings, gpus.model->type, plan);
  if (!known) {
    plan.then(Emit{.about = ref,
                   .reason = "GPUDiscovered",
                   .note = std::to_string(gpus.count) + " x " + gpus.model->product()});
  } else {
    generation = known->generation();
    if (known->status()["conditions"].is_list()) {
      conditions = known->status()["conditions"];
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
                   .status = Value::object(
                       {{"conditions", conditions}, {"nodeResources", std::move(resources)}})});
  return plan;
}

Plan reconcile_agent(const View& view, const Key& key, Instant now) {
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting() || !runs_agent(view, *node)) {
    return Plan::done();
  }
  const Settings settings = settings_of(view);
  const auto gpus = emulated_gpus(*node, settings);
  if (!gpus.ok()) {
    Plan plan;
    warn(plan, *node, "InvalidGPUModel", gpus.error().message);
    return plan;
  }
  const auto known = view.get(kNodeAccelerator, {settings.ns, key.name});
  if (known && known->deleting()) {
    return Plan::done();
  }
  Plan plan;
  const Value before = known ? known->status()["nodeResources"] : Value();
  const Vendor& vendor = *find_vendor(gpus->model->type);
  Value resources = vendor.discover(key.name, *gpus->model, gpus->count);
  const std::set<std::string, std::less<>> used = gpus_in_use(view, key.name);
  for (std::string& problem :
       assign_sharing(resources, {.annotation = node->annotation(kSharingAnnotation),
                                 .vendor = &vendor,
                                 .before = &before,
                                 .used = &used})) {
    warn(plan, *node, "InvalidGPUSharing", std::move(problem));
  }
  if (settings.dra()) {
    const auto assigned = assign_apis(resources, before, settings.allocation_api,
                                      node->annotation(kAllocationApiAnnotation), used);
    if (!assigned.ok()) {
      warn(plan, *node, "InvalidAllocationAPI", assigned.error().message);
    }
  } else if (const auto wanted =
                 wanted_apis(settings.allocation_api, node->annotation(kAllocationApiAnnotation),
                             static_cast<std::size_t>(gpus->count));
             !wanted.ok()) {
    warn(plan, *node, "InvalidAllocationAPI", wanted.error().message);
  }
  plan.merge(publish_accelerator(*node, known, settings, *gpus, std::move(resources), now));
  return plan;
}

}  // namespace

bool runs_agent(const View& view, const Object& node) {
  const Settings settings = settings_of(view);
  // The label of nodes that this process emulates; others have an agent of their own.
  if (!settings.emulated() || node.label(kEmulatedLabel) != "true") {
    return false;
  }
  const auto op = view.get<DASOperator>({settings.ns, kOperatorName});
  if (!op || op->object.deleting() || op->spec.management_state == "Removed") {
    return false;
  }
  // GPUs of other vendors are found by a label of their own.
  std::map<std::string, std::string> selector;
  if (const std::string_view type = node.label(kAcceleratorLabel);
      type == kNvidiaMig || find_vendor(type) == nullptr || type.empty()) {
    selector[kMigCapableLabel] = "true";
  }
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
  static constexpr const Kind* kReads[] = {&api::kNode, &kNodeAccelerator, &kDASOperator,
                                           &kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&kNodeAccelerator};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static const Operator kOperator{.name = "das-daemonset",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile_agent};
  return kOperator;
}

}  // namespace athanor::das
