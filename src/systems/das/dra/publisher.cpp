// SPDX-License-Identifier: Apache-2.0
// Publishes what emulated nodes have. A pool is rewritten as a whole, one generation later, when
// anything of it changes.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/device_kinds.hpp"
#include "kube/text/quantity.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/dra/publication.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kByNode = "das-slices";

// ResourceSlices that this operator publishes, by node.
std::vector<std::string> slice_nodes(const Object& slice) {
  return slice.spec()["driver"].as_string() == kDraDriver
             ? std::vector<std::string>{slice.spec()["nodeName"].str()}
             : std::vector<std::string>();
}

// The GPUs of a node that belong to DRA.
PublishedNode published(const Object& node, const Object& accelerator, const EmulatedGpus& gpus) {
  PublishedNode result{.name = std::string(node.name()), .uid = std::string(node.uid())};
  const Value& resources = accelerator.status()["nodeResources"];
  const std::vector<AllocationApi> apis = apis_of(resources);
  for (std::size_t i = 0; i < apis.size() && i < static_cast<std::size_t>(gpus.count); ++i) {
    // A GPU that is shared without slices is no partitionable device.
    if (apis[i] == AllocationApi::Dra && resources["nodeGpus"][i][kSharingMember].is_null()) {
      result.gpus.push_back({.minor = static_cast<int>(i),
                             .uuid = resources["nodeGpus"][i]["gpuUuid"].str(),
                             .model = gpus.model});
    }
  }
  return result;
}

Value spec_with(const Value& slice, std::int64_t generation) {
  Value spec = slice["spec"];
  spec.set_path({"pool", "generation"}, generation);
  return spec;
}

// Makes the pool what is wanted.
Plan bring_to(const PublishedNode& wanted, const std::vector<Object>& there) {
  std::int64_t generation = 1;
  std::map<std::string, const Object*> known;
  for (const Object& slice : there) {
    generation = std::max(generation, slice.spec()["pool"]["generation"].as_int());
    known.emplace(std::string(slice.name()), &slice);
  }
  std::vector<Value> slices = resource_slices(wanted, generation);
  const bool same =
      slices.size() == there.size() && std::ranges::all_of(slices, [&](const Value& slice) {
        const auto found = known.find(slice["metadata"]["name"].str());
        return found != known.end() && found->second->spec() == slice["spec"];
      });
  Plan plan;
  if (same) {
    return plan;
  }
  if (!there.empty()) {
    ++generation;
  }
  for (Value& slice : slices) {
    const Ref target{&api::kResourceSlice, {"", slice["metadata"]["name"].str()}};
    const Value spec = spec_with(slice, generation);
    const auto found = known.find(target.key.name);
    if (found == known.end()) {
      slice.set("spec", spec);
      plan.then(Create{.target = target, .object = std::move(slice)});
      continue;
    }
    // The whole object: a merge would keep devices of before.
    Value object = found->second->body();
    object.set("spec", spec);
    plan.then(Replace{.target = target, .object = std::move(object)});
    known.erase(found);
  }
  for (const auto& [name, slice] : known) {
    plan.then(Delete{.target = {&api::kResourceSlice, {"", name}},
                     .guard = {.uid = std::string(slice->uid())}});
  }
  return plan;
}

Plan publish(const View& view, const Key& key, Instant /*now*/) {
  const std::vector<Object> there =
      view.list(api::kResourceSlice, {.index = std::string(kByNode), .index_value = key.name});
  const auto node = view.get(api::kNode, key);
  if (!node || node->deleting()) {
    return bring_to({.name = key.name}, there);
  }
  const Settings settings = settings_of(view);
  if (node->label(kEmulatedLabel) != "true") {
    return Plan::done();
  }
  const auto gpus = emulated_gpus(*node, settings);
  const auto accelerator = view.get(kNodeAccelerator, {settings.ns, key.name});
  if (!runs_agent(view, *node) || !gpus.ok() || !accelerator) {
    return bring_to({.name = key.name}, there);
  }
  return bring_to(published(*node, *accelerator, *gpus), there);
}

// ---- a real node

// Copies of what a GPU that is in no table says of itself.
struct Models {
  std::deque<GpuModel> made{};
};

const GpuModel* model_of(const Value& gpu, const MigTable& table, Models& models) {
  constexpr std::string_view kMaker = "NVIDIA ";
  std::string_view name = gpu["gpuName"].as_string();
  name.remove_prefix(name.starts_with(kMaker) ? kMaker.size() : 0);
  if (const GpuModel* known = find_model(name); known != nullptr) {
    return known;
  }
  GpuModel& model = models.made.emplace_back();
  model.key = name;  // lives as long as the NodeAccelerator that is read
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  const auto memory = Quantity::parse(gpu["gpuMemory"]);
  model.memory_gib = memory ? static_cast<int>(memory->value() / kGib) : 0;
  model.table = table;
  for (MigProfile& profile : model.table.profiles) {
    profile.smi_id = profile.smi_id < 0 ? profile.gi_profile : profile.smi_id;
  }
  return &model;
}

// GPUs that the node's agent found and may hand out by ResourceClaims.
Plan publish_found(const View& view, const Key& key, Instant /*now*/) {
  const auto node = view.get(api::kNode, key);
  const Settings settings = settings_of(view);
  const auto accelerator = view.get(kNodeAccelerator, {settings.ns, key.name});
  if (!node || node->deleting() || !accelerator ||
      key.name != view.config(kAgentSection)["node"].as_string()) {
    return Plan::done();  // the node's end takes its slices along
  }
  const Value& resources = accelerator->status()["nodeResources"];
  const NodeGpus gpus = read_resources(resources);
  Models models;
  PublishedNode published{.name = key.name, .uid = std::string(node->uid())};
  for (std::size_t i = 0; i < gpus.gpus.size(); ++i) {
    const NodeGpu& gpu = gpus.gpus[i];
    if (gpu.dra && gpu.healthy && !gpu.shared) {
      const Value& written = resources["nodeGpus"][i];
      published.gpus.push_back(
          {.minor = static_cast<int>(written["index"].as_int(static_cast<std::int64_t>(i))),
           .uuid = gpu.uuid,
           .model = model_of(written, gpus.tables[gpu.table], models),
           .foreign = gpu.foreign});
    }
  }
  return bring_to(published, view.list(api::kResourceSlice,
                                       {.index = std::string(kByNode), .index_value = key.name}));
}

// ---- DeviceClasses

constexpr const char* kManaged = "app.kubernetes.io/managed-by";

Plan keep_classes(const View& view, const Key& key, Instant /*now*/) {
  const Settings settings = settings_of(view);
  if (key.ns != settings.ns || key.name != kOperatorName) {
    return Plan::done();
  }
  const auto op = view.get<DASOperator>(key);
  const bool wanted = op && !op->object.deleting() && op->spec.management_state != "Removed";
  std::set<std::string> profiles;
  bool any = false;
  for (const Object& accelerator : view.list(kNodeAccelerator)) {
    const Value& resources = accelerator.status()["nodeResources"];
    if (std::ranges::count(apis_of(resources), AllocationApi::Dra) > 0) {
      any = true;
      for (std::string& profile : offered_profiles(resources)) {
        profiles.insert(std::move(profile));
      }
    }
  }
  Plan plan;
  std::set<std::string> kept;
  if (wanted && any) {
    for (const Value& made : device_classes(profiles)) {
      const Ref target{&api::kDeviceClass, {"", made["metadata"]["name"].str()}};
      kept.insert(target.key.name);
      const auto known = view.get(api::kDeviceClass, target.key);
      if (!known) {
        plan.then(Create{.target = target, .object = made});
      } else if (known->label(kManaged) == "das-operator" && known->spec() != made["spec"]) {
        Value object = known->body();
        object.set("spec", made["spec"]);
        plan.then(Replace{.target = target, .object = std::move(object)});
      }
    }
  }
  for (const Object& known :
       view.list(api::kDeviceClass, {.labels = {{kManaged, "das-operator"}}})) {
    if (!kept.contains(std::string(known.name()))) {
      plan.then(Delete{.target = {&api::kDeviceClass, known.key()},
                       .guard = {.uid = std::string(known.uid())}});
    }
  }
  return plan;
}

}  // namespace

const Operator& publisher_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode, &kNodeAccelerator, &kDASOperator,
                                           &api::kResourceSlice};
  static constexpr const Kind* kWrites[] = {&api::kResourceSlice};
  static constexpr Access kAccess[] = {{&api::kResourceSlice, "create update delete"}};
  static const Index kIndexes[] = {{&api::kResourceSlice, kByNode, slice_nodes}};
  static const Operator kOperator{.name = "das-dra-publisher",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = publish,
                                  .access = kAccess};
  return kOperator;
}

const Operator& found_publisher_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode, &kNodeAccelerator, &api::kResourceSlice};
  static constexpr const Kind* kWrites[] = {&api::kResourceSlice};
  static constexpr Access kAccess[] = {{&api::kResourceSlice, "create update delete"}};
  static const Index kIndexes[] = {{&api::kResourceSlice, kByNode, slice_nodes}};
  static const Operator kOperator{.name = "das-agent-slices",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = publish_found,
                                  .access = kAccess};
  return kOperator;
}

const Operator& classes_operator() {
  static constexpr const Kind* kReads[] = {&kDASOperator, &kNodeAccelerator, &api::kDeviceClass};
  static constexpr const Kind* kWrites[] = {&api::kDeviceClass};
  static constexpr Access kAccess[] = {{&api::kDeviceClass, "create update delete"}};
  static constexpr const Kind* kSmall[] = {&kNodeAccelerator};
  static const Operator kOperator{.name = "das-dra-classes",
                                  .primary = &kDASOperator,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = keep_classes,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

bool is_dra(const Operator& op) {
  return &op == &publisher_operator() || &op == &classes_operator() || &op == &mirror_operator();
}

}  // namespace athanor::das
