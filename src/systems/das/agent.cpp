// SPDX-License-Identifier: Apache-2.0
// NodeAccelerators of emulated nodes.
#include "systems/das/agent.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/claim.hpp"
#include "systems/das/dra/ownership.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/settings.hpp"
#include "systems/das/sharing/mode.hpp"

namespace athanor::das {
namespace {

// Which GPUs hold claims, in order of the NodeAccelerator.
std::vector<bool> gpus_in_use(const View& view, const Object& known) {
  std::set<std::string> held;
  for (const Object& claim :
       view.list(kAllocationClaim,
                 {.index = std::string(kClaimsByNode), .index_value = std::string(known.name())})) {
    held.insert(claim.spec()["gpuUUID"].str());
  }
  std::vector<bool> used;
  for (const Value& gpu : known.status()["nodeResources"]["nodeGpus"].items()) {
    used.push_back(held.contains(gpu["gpuUuid"].str()));
  }
  return used;
}

// What is wanted of each GPU; one that holds claims stays what it is until they are gone.
template <class Mode>
std::vector<Mode> in_steps(const View& view, const std::optional<Object>& known,
                           std::vector<Mode> wanted, const std::vector<Mode>& before) {
  if (!known || before == wanted || before.size() != wanted.size()) {
    return wanted;
  }
  const std::vector<bool> used = gpus_in_use(view, *known);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = used[i] ? before[i] : wanted[i];
  }
  return wanted;
}

void warn(Plan& plan, const Object& node, const char* reason, std::string note) {
  plan.then(Emit{.about = {&api::kNode, node.key()},
                 .about_uid = std::string(node.uid()),
                 .type = "Warning",
                 .reason = reason,
                 .note = std::move(note)});
}

Plan publish(const Object& node, const std::optional<Object>& known, const Settings& settings,
             std::string_view type, Value resources, const std::string& found, Instant now) {
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
                          {"spec", Value::object({{"acceleratorType", type}})}})});
    plan.then(Emit{.about = ref, .reason = "GPUDiscovered", .note = found});
  } else {
    generation = known->generation();
    if (known->status()["conditions"].is_list()) {
      conditions = known->status()["conditions"];
    }
    if (known->spec()["acceleratorType"].as_string() != type) {
      plan.then(
          Patch{.target = ref,
                .merge = Value::object({{"spec", Value::object({{"acceleratorType", type}})}}),
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
                   .status = Value::object(
                       {{"conditions", conditions}, {"nodeResources", std::move(resources)}})});
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
    warn(plan, *node, "InvalidGPUModel", gpus.error().message);
    return plan;
  }
  const auto known = view.get(kNodeAccelerator, {settings.ns, key.name});
  if (known && known->deleting()) {
    return Plan::done();
  }
  Plan plan;
  const auto count = static_cast<std::size_t>(gpus->count);
  const Value before = known ? known->status()["nodeResources"] : Value();
  Value resources = emulated_resources(key.name, *gpus);
  auto sharing = wanted_sharing(node->annotation(kSharingAnnotation), count, gpus->model->type);
  if (!sharing.ok()) {
    warn(plan, *node, "InvalidGPUSharing", sharing.error().message);
    sharing = sharing_of(before).size() == count
                  ? Result(sharing_of(before))  // they stay what they are
                  : wanted_sharing({}, count, gpus->model->type);
  }
  set_sharing(resources, in_steps(view, known, *std::move(sharing), sharing_of(before)));
  auto apis =
      wanted_apis(settings.allocation_api, node->annotation(kAllocationApiAnnotation), count);
  if (!apis.ok()) {
    warn(plan, *node, "InvalidAllocationAPI", apis.error().message);
    apis = apis_of(before).size() == count ? apis_of(before)
                                           : *wanted_apis(settings.allocation_api, {}, count);
  }
  if (settings.dra()) {
    set_apis(resources, in_steps(view, known, *std::move(apis), apis_of(before)));
  }
  plan.merge(publish(*node, known, settings, gpus->model->type, std::move(resources),
                     std::to_string(gpus->count) + " x " + gpus->model->product(), now));
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
      type == kNvidiaMig || !is_known_type(type)) {
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
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::das
