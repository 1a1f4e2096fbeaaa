// SPDX-License-Identifier: Apache-2.0
// Cooperation of a kubelet's device manager and the device plugin when a pod starts: find the
// pod's claims, take them into use, write the CDI files, give the containers their environment.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/agent/cdi.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/life/slice_making.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

// How long Allocate looks for claims before the pod fails (docs/spec/das.md 8.5 step 2).
constexpr Duration kPatience = std::chrono::milliseconds(3100);

Value capacity(const View& view, const Object& node) {
  if (!runs_agent(view, node)) {
    return Value::object();
  }
  const Settings settings = settings_of(view);
  auto gpus = emulated_gpus(node, settings);
  if (!gpus.ok()) {
    return Value::object();
  }
  const Vendor& vendor = *find_vendor(gpus->model->type);
  const auto accelerator = view.get(kNodeAccelerator, {settings.ns, std::string(node.name())});
  const bool published = accelerator && accelerator->status()["nodeResources"].is_object();
  if (!published && settings.dra()) {
    return Value::object();  // of GPUs that may belong to DRA nothing is known yet
  }
  Value resources = published ? accelerator->status()["nodeResources"]
                              : vendor.discover(node.name(), *gpus->model, gpus->count);
  if (!published) {
    const Value before;
    const std::set<std::string, std::less<>> used;
    static_cast<void>(assign_sharing(resources, {.annotation = node.annotation(kSharingAnnotation),
                                                 .vendor = &vendor,
                                                 .before = &before,
                                                 .used = &used}));
  }
  std::map<std::string, int> devices;
  for (const auto& gpu : devices_of(resources, vendor)) {
    for (const auto& [resource, count] : gpu) {
      devices[resource] += count;
    }
  }
  Value capacity = Value::object();
  for (const auto& [resource, count] : devices) {
    capacity.set(resource, fmt::format("{}", count));
  }
  const NodeGpus known = read_resources(resources);
  const auto sliced =
      std::ranges::count_if(known.gpus, [](const NodeGpu& gpu) { return !gpu.dra && !gpu.shared; });
  if (sliced > 0 && !settings.memory_quota_resource.empty()) {
    capacity.set(settings.memory_quota_resource,
                 fmt::format("{}Gi", gpus->model->memory_gib * sliced));
  }
  return capacity;
}

NodeAdmission refuse(std::string message) {
  return {.answer = NodeAdmission::Answer::Refuse, .message = std::move(message)};
}

std::optional<Instant> bound_since(const Object& pod) {
  return parse_time(
      find_condition(pod.status()["conditions"], "PodScheduled")["lastTransitionTime"].as_string());
}

// The pod's spec without extended resources that a ResourceClaim was made for.
Value of_device_plugins(const Object& pod) {
  Value spec = pod.spec();
  for (const Value& mapping :
       pod.status()["extendedResourceClaimStatus"]["requestMappings"].items()) {
    for (const char* list : {"containers", "initContainers"}) {
      for (std::size_t i = 0; i < spec[list].size(); ++i) {
        if (spec[list][i]["name"] == mapping["containerName"]) {
          spec.member(list).item(i).erase_path(
              {"resources", "limits", mapping["resourceName"].as_string()});
        }
      }
    }
  }
  return spec;
}

NodeAdmission admit(const View& view, const Object& pod, const Object& node, Instant now) {
  const Value spec = of_device_plugins(pod);
  const PodSlices request = slices_of(spec);
  if (request.empty()) {
    return {};
  }
  const std::vector<Claim> all = claims_on(view, node.name());
  std::vector<Claim> own;
  for (const Claim& claim : all) {
    if (claim.pod_uid == pod.uid() && !claim.object.deleting() && !is_mirror(claim.object)) {
      own.push_back(claim);
    }
  }
  const auto ready = static_cast<std::size_t>(std::ranges::count_if(own, [](const Claim& claim) {
    return claim.state == kCreated || claim.state == kProcessing || claim.state == kInUse;
  }));
  if (ready < request.slices.size()) {
    const std::string message =
        fmt::format("requested {} allocations but only found {}", request.slices.size(), ready);
    const auto since = bound_since(pod);
    if (!since || *since + kPatience <= now) {
      return refuse(message);
    }
    NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
    admission.steps.wake_at(*since + kPatience);
    return admission;
  }
  if (std::string problem = conflict(own, all); !problem.empty()) {
    return refuse(std::move(problem));
  }
  const Settings settings = settings_of(view);
  if (auto held = held_up(own, settings, now)) {
    return *std::move(held);
  }
  NodeAdmission admission;
  for (const Claim& claim : own) {
    if (claim.state == kCreated) {
      write_state(admission.steps, claim, {kProcessing}, now);
    }
  }
  admission.environment = environment_of(own, spec, settings);
  const bool poststop = never_restarts(pod);
  for (const CdiDevice& device : devices_of(own)) {
    admission.devices[device.container].push_back(
        {.name = fmt::format("{}={}", cdi_kind_of(device.profile), device.id),
         .file = cdi_path(device),
         .poststop = poststop});
    admission.steps.then(Act{
        .id = fmt::format("{}/{}/cdi", pod.uid(), device.id),
        .verb = std::string(kWriteNodeFile),
        .args = Value::object({{"node", node.name()},
                               {"path", cdi_path(device)},
                               {"content", cdi_file(device, admission.environment, poststop)}})});
  }
  take_into_use(admission.steps, own, now);
  return admission;
}

}  // namespace

const NodeHooks& mig_node_hooks() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim, &kDASOperator, &kNodeAccelerator};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const NodeHooks kHooks{.name = "mig",
                                .reads = kReads,
                                .writes = kWrites,
                                .indexes = kIndexes,
                                .access = kAccess,
                                .capacity = capacity,
                                .admit = admit};
  return kHooks;
}

}  // namespace athanor::das
