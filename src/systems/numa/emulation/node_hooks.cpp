// SPDX-License-Identifier: Apache-2.0
// Admission on emulated nodes.
#include <algorithm>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/emulation/emulated_podresources.hpp"
#include "systems/numa/emulation/node_files.hpp"
#include "systems/numa/emulation/node_state.hpp"

namespace athanor::numa {
namespace {

std::map<std::string, PodAllocation> read_allocations(const Object& node) {
  std::map<std::string, PodAllocation> all;
  const auto value = json::parse(node.annotation(kAllocationsAnnotation));
  if (!value.ok()) {
    return all;
  }
  for (const Member& pod : value->members()) {
    PodAllocation& containers = all[std::string(pod.key())];
    for (const Member& container : pod.value.members()) {
      containers.emplace(container.key(), Allocation::of(container.value));
    }
  }
  return all;
}

std::string print_allocations(const std::map<std::string, PodAllocation>& all) {
  Value value = Value::object();
  for (const auto& [uid, containers] : all) {
    Value pod = Value::object();
    for (const auto& [name, allocation] : containers) {
      pod.set(name, allocation.to_value());
    }
    value.set(uid, std::move(pod));
  }
  return json::print(value);
}

bool is_active(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase != "Succeeded" && phase != "Failed";
}

Value capacity(const View& /*view*/, const Object& node) {
  const auto profile = profile_of(node);
  return profile ? sum_of_zones(*profile, false) : Value();
}

Value allocatable(const View& /*view*/, const Object& node) {
  const auto profile = profile_of(node);
  return profile ? sum_of_zones(*profile, true) : Value();
}

NodeAdmission admit(const View& view, const Object& pod, const Object& node, Instant /*now*/) {
  const auto profile = profile_of(node);
  if (!profile) {
    return {};
  }
  std::map<std::string, PodAllocation> all = allocations_of(view, node);
  const std::string uid(pod.uid());
  if (all.contains(uid)) {
    return {};  // the node was restarted: the pod keeps what it has
  }
  FreeZones free(*profile);
  for (const auto& [other, containers] : all) {
    for (const auto& [name, allocation] : containers) {
      free.take(*profile, allocation);
    }
  }
  auto allocation = admit_pod(*profile, std::move(free), request_of(pod));
  if (!allocation) {
    return {.answer = NodeAdmission::Answer::Refuse,
            .message = "Pod was rejected: Resources cannot be allocated with Topology locality",
            .reason = "TopologyAffinityError"};
  }
  NodeAdmission admission;
  if (!allocation->empty()) {
    all.emplace(uid, *std::move(allocation));
    // Guarded by the version: of two pods that are admitted at a time one looks again.
    admission.steps.then(
        Patch{.target = {&api::kNode, node.key()},
              .merge = Value::object(
                  {{"metadata",
                    Value::object({{"annotations", Value::object({{kAllocationsAnnotation,
                                                                   print_allocations(all)}})}})}}),
              .guard = {.uid = std::string(node.uid()),
                        .resource_version = std::string(node.resource_version())}});
  }
  return admission;
}

}  // namespace

std::map<std::string, PodAllocation> allocations_of(const View& view, const Object& node) {
  std::map<std::string, PodAllocation> all = read_allocations(node);
  const std::vector<Object> pods =
      view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())});
  std::erase_if(all, [&](const auto& entry) {
    return std::ranges::none_of(
        pods, [&](const Object& pod) { return pod.uid() == entry.first && is_active(pod); });
  });
  return all;
}

const NodeHooks& numa_node_hooks() {
  static const Kind* const kReads[] = {&api::kPod, &api::kNode};
  static const Kind* const kWrites[] = {&api::kNode};
  static const Access kAccess[] = {{&api::kNode, "patch"}};
  static const NodeSocket kSockets[] = {podresources_socket()};
  static const NodeHooks kHooks{.name = "numa",
                                .reads = kReads,
                                .writes = kWrites,
                                .access = kAccess,
                                .capacity = capacity,
                                .allocatable = allocatable,
                                .admit = admit,
                                .sockets = kSockets,
                                .files = files_of};
  return kHooks;
}

}  // namespace athanor::numa
