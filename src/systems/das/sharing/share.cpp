// SPDX-License-Identifier: Apache-2.0
#include "systems/das/sharing/share.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/text/quantity.hpp"
#include "systems/das/claim.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/request.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;
constexpr int kPercent = 100;

constexpr std::string_view kTypes[] = {"timeslice", "mps", "partition", "vf"};

std::string_view type_of(GpuMode mode) {
  return mode == GpuMode::Mps         ? "mps"
         : mode == GpuMode::Partition ? "partition"
         : mode == GpuMode::Vf        ? "vf"
                                      : "timeslice";
}

}  // namespace

bool is_share_resource(std::string_view resource) {
  constexpr std::string_view kPrefixes[] = {"ts.das.com/", kMpsPrefix, "amd.das.com/",
                                            "intel.das.com/"};
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return resource.starts_with(prefix); });
}

std::vector<ShareRequest> shares_in(const Value& pod_spec) {
  std::vector<ShareRequest> requests;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : pod_spec[list].items()) {
      int index = 0;
      for (const Member& limit : container["resources"]["limits"].members()) {
        const auto amount = Quantity::parse(limit.value);
        if (!is_share_resource(limit.key()) || !amount) {
          continue;
        }
        const std::int64_t count = std::min<std::int64_t>(amount->value(), kMostSlices);
        for (std::int64_t i = 0; i < count; ++i) {
          requests.push_back({.container = container["name"].str(),
                              .resource = std::string(limit.key()),
                              .index = index++});
        }
      }
    }
  }
  return requests;
}

bool is_share(const Object& claim) {
  const std::string_view type = claim.spec()["type"].as_string();
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

std::optional<ShareClaim> read_share(const Object& claim) {
  const Value& spec = claim.spec();
  if (!is_share(claim)) {
    return std::nullopt;
  }
  return ShareClaim{.object = claim,
                    .type = spec["type"].str(),
                    .resource = spec["resource"].str(),
                    .gpu = spec["gpuUUID"].str(),
                    .container = spec["container"].str(),
                    .pod_uid = spec["podRef"]["uid"].str(),
                    .index = static_cast<int>(spec["share"]["index"].as_int()),
                    .state = claim.status()["state"].str(),
                    .memory_mib = spec["share"]["memoryMiB"].as_int(),
                    .thread_percent = static_cast<int>(spec["share"]["threadPercent"].as_int())};
}

std::vector<ShareClaim> shares_on(const View& view, std::string_view node) {
  std::vector<ShareClaim> claims;
  for (const Object& object : view.list(kAllocationClaim, {.index = std::string(kClaimsByNode),
                                                          .index_value = std::string(node)})) {
    if (auto claim = read_share(object)) {
      claims.push_back(*std::move(claim));
    }
  }
  return claims;
}

std::vector<SharedGpu> shared_gpus(const Value& node_resources) {
  std::vector<SharedGpu> gpus;
  const std::vector<GpuSharing> sharing = sharing_of(node_resources);
  for (std::size_t i = 0; i < sharing.size(); ++i) {
    const Value& gpu = node_resources["nodeGpus"][i];
    const auto memory = Quantity::parse(gpu["gpuMemory"]);
    gpus.push_back({.uuid = gpu["gpuUuid"].str(),
                    .sharing = sharing[i],
                    .memory_gib = static_cast<int>((memory ? memory->value() : 0) /
                                                   (kMibPerGib * kMibPerGib * kMibPerGib)),
                    .healthy = gpu["health"].as_string() != "Unhealthy"});
  }
  return gpus;
}

std::vector<std::size_t> place_shares(std::vector<SharedGpu> gpus,
                                      const std::vector<ShareRequest>& requests) {
  std::vector<std::size_t> placed;
  for (std::size_t next = 0; next < requests.size();) {
    const ShareRequest& request = requests[next];
    // A container talks to one MPS daemon, and a daemon serves one GPU: its shares stay together.
    std::size_t end = next + 1;
    while (request.resource.starts_with(kMpsPrefix) && end < requests.size() &&
           requests[end].container == request.container &&
           requests[end].resource == request.resource) {
      ++end;
    }
    const auto count = static_cast<int>(end - next);
    std::size_t best = gpus.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const SharedGpu& gpu = gpus[i];
      const bool room =
          gpu.healthy && resource_of_share(gpu.sharing) == request.resource &&
          static_cast<int>(gpu.used.size()) + count <= shares_of(gpu.sharing, gpu.memory_gib);
      if (room && (best == gpus.size() || gpu.used.size() > gpus[best].used.size())) {
        best = i;
      }
    }
    if (best == gpus.size()) {
      return {};
    }
    for (int i = 0; i < count; ++i) {
      take_share(gpus[best]);
    }
    placed.insert(placed.end(), end - next, best);
    next = end;
  }
  return placed;
}

int take_share(SharedGpu& gpu) {
  int index = 0;
  while (!gpu.used.insert(index).second) {
    ++index;
  }
  return index;
}

Value make_share(const Object& pod, std::string_view ns, std::string_view node,
                 const ShareRequest& request, const SharedGpu& gpu, int index) {
  Value share = Value::object({{"index", index}});
  if (gpu.sharing.mode == GpuMode::Mps) {
    share.set("memoryMiB", gpu.sharing.unit_gb * kMibPerGib);
    share.set("threadPercent",
              std::max(1, kPercent * gpu.sharing.unit_gb / std::max(gpu.memory_gib, 1)));
  } else if (gpu.sharing.mode == GpuMode::TimeSlice) {
    share.set("interval", gpu.sharing.interval);
  } else {
    share.set("memoryMiB", gpu.memory_gib * kMibPerGib / std::max(gpu.sharing.replicas, 1));
  }
  const SliceRequest named{.container = request.container + "-share", .index = request.index};
  return Value::object(
      {{"apiVersion", kGroupVersion},
       {"kind", kAllocationClaim.name},
       {"metadata",
        Value::object({{"name", claim_name(pod.uid(), node, named)}, {"namespace", ns}})},
       {"spec", Value::object({{"type", type_of(gpu.sharing.mode)},
                               {"resource", request.resource},
                               {"share", std::move(share)},
                               {"container", request.container},
                               {"gpuUUID", gpu.uuid},
                               {"nodename", node},
                               {"podRef", Value::object({{"kind", "Pod"},
                                                         {"name", pod.name()},
                                                         {"namespace", pod.ns()},
                                                         {"uid", pod.uid()}})}})}});
}

namespace {

std::string numbers(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  return text;
}

struct OnGpu {
  std::int64_t memory_mib = 0;
  int percent = 0;
};

// Of GPUs that are visible as a whole.
Variables shared_variables(const std::map<std::string, OnGpu>& gpus,
                           const std::map<std::string, std::string>& names) {
  std::string visible;
  std::string limits;
  std::string pipe;
  int percent = kPercent;
  int index = 0;
  for (const auto& [uuid, gpu] : gpus) {
    const char* const comma = index == 0 ? "" : ",";
    const auto name = names.find(uuid);
    visible += comma + (name == names.end() ? uuid : name->second);
    if (gpu.memory_mib > 0) {
      limits += fmt::format("{}{}={}M", comma, index, gpu.memory_mib);
      pipe = pipe.empty() ? fmt::format("/var/run/das/mps/{}/pipe", uuid) : pipe;
      percent = std::min(percent, gpu.percent);
    }
    ++index;
  }
  Variables variables{{"NVIDIA_VISIBLE_DEVICES", visible},
                      {"CUDA_VISIBLE_DEVICES", numbers(gpus.size())}};
  if (!pipe.empty()) {
    variables.emplace_back("CUDA_MPS_PIPE_DIRECTORY", pipe);
    variables.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", percent));
    variables.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
  }
  return variables;
}

}  // namespace

std::map<std::string, Variables> share_environment(
    const std::vector<ShareClaim>& claims, const std::map<std::string, std::string>& names) {
  std::map<std::string, std::map<std::string, OnGpu>> shared;  // by container, then GPU
  std::map<std::string, std::vector<std::string>> partitions;  // AMD, by container
  std::map<std::string, std::size_t> functions;                // Intel
  for (const ShareClaim& claim : claims) {
    if (claim.type == "partition") {
      const auto name = names.find(claim.gpu);
      partitions[claim.container].push_back(name != names.end() && name->second != claim.gpu
                                                ? name->second
                                                : fmt::format("{}:{}", claim.gpu, claim.index));
    } else if (claim.type == "vf") {
      ++functions[claim.container];
    } else {
      OnGpu& gpu = shared[claim.container][claim.gpu];
      gpu.memory_mib += claim.type == "mps" ? claim.memory_mib : 0;
      gpu.percent += claim.thread_percent;
    }
  }
  std::map<std::string, Variables> environment;
  for (const auto& [container, gpus] : shared) {
    environment[container] = shared_variables(gpus, names);
  }
  for (const auto& [container, devices] : partitions) {
    std::string visible;
    for (const std::string& device : devices) {
      visible += (visible.empty() ? "" : ",") + device;
    }
    environment[container].emplace_back("AMD_VISIBLE_DEVICES", visible);
    environment[container].emplace_back("ROCR_VISIBLE_DEVICES", numbers(devices.size()));
  }
  for (const auto& [container, count] : functions) {
    environment[container].emplace_back("ZE_AFFINITY_MASK", numbers(count));
  }
  return environment;
}

}  // namespace athanor::das
