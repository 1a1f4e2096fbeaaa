// SPDX-License-Identifier: Apache-2.0
// Admission on emulated nodes.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

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

// The node's cpus and memory are not enough for the pod and those that run, as a kubelet says it.
std::optional<NodeAdmission> out_of(const View& view, const NodeProfile& profile,
                                    const Object& node, const PodRequest& request) {
  const Amounts all = amounts_of(sum_of_zones(profile, true));
  Amounts used;
  for (const Object& pod :
       view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    if (pod.status()["phase"].as_string() == "Running") {
      const PodRequest other = request_of(pod);
      for (const char* resource : {"cpu", "memory"}) {
        used[resource] += amount_of(other.effective, resource);
      }
    }
  }
  for (const std::string_view resource : {"cpu", "memory"}) {
    const std::int64_t requested = amount_of(request.effective, resource);
    if (requested == 0 || amount_of(used, resource) + requested <= amount_of(all, resource)) {
      continue;
    }
    const std::int64_t unit = resource == "cpu" ? 1 : kUnit;  // milli cpus, bytes
    return NodeAdmission{
        .answer = NodeAdmission::Answer::Refuse,
        .message = fmt::format("Pod was rejected: Node didn't have enough resource: {}, requested: "
                               "{}, used: {}, capacity: {}",
                               resource, requested / unit, amount_of(used, resource) / unit,
                               amount_of(all, resource) / unit),
        .reason = fmt::format("OutOf{}", resource)};
  }
  return std::nullopt;
}

// Policies that do not align admit pods by their zones whatever is left: here the devices count.
std::optional<NodeAdmission> lacks_devices(const NodeProfile& profile, const PodRequest& request,
                                           const PodAllocation& allocation) {
  const Value known = sum_of_zones(profile, true);
  for (const ContainerRequest& container : request.containers) {
    if (container.role == ContainerRequest::Role::Init) {
      continue;
    }
    const auto given = allocation.find(container.name);
    for (const auto& [resource, amount] : container.requests) {
      if (is_native(resource) || !known.contains(resource)) {
        continue;
      }
      std::size_t devices = 0;
      if (given != allocation.end()) {
        const auto ids = given->second.devices.find(resource);
        devices = ids == given->second.devices.end() ? 0 : ids->second.size();
      }
      if (static_cast<std::int64_t>(devices) < amount / kUnit) {
        return NodeAdmission{
            .answer = NodeAdmission::Answer::Refuse,
            .message = fmt::format("Allocate failed due to requested number of devices unavailable "
                                   "for {}. Requested: {}, Available: {}, which is unexpected",
                                   resource, amount / kUnit, devices)};
      }
    }
  }
  return std::nullopt;
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
  const PodRequest request = request_of(pod);
  auto allocation = admit_pod(*profile, std::move(free), request);
  if (!allocation) {
    return {.answer = NodeAdmission::Answer::Refuse,
            .message = "Pod was rejected: Resources cannot be allocated with Topology locality",
            .reason = "TopologyAffinityError"};
  }
  if (auto refused = lacks_devices(*profile, request, *allocation)) {
    return *std::move(refused);
  }
  if (auto refused = out_of(view, *profile, node, request)) {
    return *std::move(refused);
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
