// SPDX-License-Identifier: Apache-2.0
#include "systems/das/sharing/share.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/text/quantity.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;

// Shares of slices whose slots an instance that DAS did not make holds.
std::set<int> foreign_shares(const GpuSharing& sharing, const Value& gpu) {
  std::set<int> shares;
  const int each = sharing.replicas;
  for (int part = 0; !sharing.profile.empty() && part < sharing.parts(); ++part) {
    const SlotMask own = mask_of(sharing.starts[static_cast<std::size_t>(part)], sharing.size);
    if ((own & foreign_slots(gpu)) != 0) {
      for (int i = 0; i < each; ++i) {
        shares.insert(part * each + i);
      }
    }
  }
  return shares;
}

}  // namespace

bool is_share_resource(std::string_view resource, std::span<const Vendor* const> among) {
  return vendor_of_resource(resource, among) != nullptr;
}

std::vector<ShareRequest> shares_in(const Value& pod_spec, std::span<const Vendor* const> among) {
  std::vector<ShareRequest> requests;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : pod_spec[list].items()) {
      int index = 0;
      for (const Member& limit : container["resources"]["limits"].members()) {
        const auto amount = Quantity::parse(limit.value);
        if (!is_share_resource(limit.key(), among) || !amount) {
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

std::optional<Conflict> conflict_in(const Value& pod_spec) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : pod_spec[list].items()) {
      const std::string name = container["name"].str();
      bool slices = false;
      std::string mps;
      std::string other;  // a share of another resource
      for (const Member& limit : container["resources"]["limits"].members()) {
        if (const auto amount = Quantity::parse(limit.value); !amount || amount->value() <= 0) {
          continue;
        }
        slices = slices || profile_of_resource(limit.key()).has_value();
        if (is_share_resource(limit.key())) {
          const bool first_mps = mps.empty() && limit.key().starts_with(kMpsPrefix);
          (first_mps ? mps : other) = limit.key();
        }
      }
      if (slices && !(mps.empty() && other.empty())) {
        return Conflict{
            .container = name,
            .message = fmt::format("container \"{}\" asks for slices and for shares of GPUs: put "
                                   "them into different containers",
                                   name)};
      }
      if (!mps.empty() && !other.empty()) {
        return Conflict{.container = name,
                        .message = fmt::format("container \"{}\" asks for {} and for {}: a process "
                                               "has one MPS control daemon; put them into "
                                               "different containers",
                                               name, mps, other)};
      }
    }
  }
  return std::nullopt;
}

bool is_share(const Object& claim) {
  return claim.spec()["share"].is_object() && !claim.spec()["type"].as_string().empty();
}

std::optional<ShareClaim> read_share(const Object& claim) {
  const Value& spec = claim.spec();
  if (!is_share(claim)) {
    return std::nullopt;
  }
  const Value& slice = spec["share"]["slice"];
  const std::int64_t start = slice["start"].as_int();
  const std::int64_t size = slice["size"].as_int();
  const bool fits = start >= 0 && size >= 1 && size <= kMostSlots && start <= kMostSlots - size;
  if (slice.is_object() && (!fits || !parse_profile(slice["profile"].as_string()))) {
    return std::nullopt;
  }
  return ShareClaim{.object = claim,
                    .type = spec["type"].str(),
                    .resource = spec["resource"].str(),
                    .gpu = spec["gpuUUID"].str(),
                    .container = spec["container"].str(),
                    .pod_uid = spec["podRef"]["uid"].str(),
                    .index = static_cast<int>(spec["share"]["index"].as_int()),
                    .profile = slice["profile"].str(),
                    .start = static_cast<int>(start),
                    .size = static_cast<int>(size),
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
  std::ranges::stable_sort(claims, {}, [](const ShareClaim& claim) {
    // All are written in one form, whose texts are in order.
    return claim.object.metadata()["creationTimestamp"].str();
  });
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
                    .used = foreign_shares(sharing[i], gpu),
                    .healthy = gpu["health"].as_string() != "Unhealthy"});
  }
  return gpus;
}

std::vector<std::map<std::string, int>> devices_of(const Value& node_resources,
                                                   const Vendor& vendor) {
  const NodeGpus node = read_resources(node_resources);
  const std::vector<SharedGpu> gpus = shared_gpus(node_resources);
  std::vector<std::map<std::string, int>> devices(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!node.gpus[i].dra) {
      devices[i] = vendor.capacity(gpus[i], node.tables[node.gpus[i].table]);
    }
  }
  return devices;
}

std::optional<Claim> read_slice_or_share(const Object& claim) {
  const auto share = read_share(claim);
  if (!share) {
    return read_claim(claim);
  }
  const Value& pod = claim.spec()["podRef"];
  return Claim{.object = claim,
               .profile = share->resource,
               .gpu = share->gpu,
               .node = claim.spec()["nodename"].str(),
               .container = share->container,
               .pod_uid = share->pod_uid,
               .pod = {pod["namespace"].str(), pod["name"].str()},
               .start = share->index,
               .state = share->state};
}

std::optional<Claim> shared_slice(const Claim& claim) {
  const auto share = is_share(claim) ? read_share(claim.object) : std::nullopt;
  if (!share || share->profile.empty()) {
    return std::nullopt;
  }
  Claim slice = claim;
  slice.profile = share->profile;
  slice.start = share->start;
  slice.size = share->size;
  return slice;
}

int take_share(SharedGpu& gpu) {
  int index = 0;
  while (!gpu.used.insert(index).second) {
    ++index;
  }
  return index;
}

Value make_share(const NewShare& share, const SharedGpu& gpu, int index, const Vendor& vendor) {
  const auto& [pod, ns, node, request] = share;
  const SliceRequest named{.container = request.container + "-share", .index = request.index};
  return Value::object(
      {{"apiVersion", kGroupVersion},
       {"kind", kAllocationClaim.name},
       {"metadata",
        Value::object({{"name", claim_name(pod.uid(), node, named)}, {"namespace", ns}})},
       {"spec", Value::object({{"type", gpu.sharing.mode},
                               {"resource", request.resource},
                               {"share", vendor.share(gpu, index)},
                               {"container", request.container},
                               {"gpuUUID", gpu.uuid},
                               {"nodename", node},
                               {"podRef", Value::object({{"kind", "Pod"},
                                                         {"name", pod.name()},
                                                         {"namespace", pod.ns()},
                                                         {"uid", pod.uid()}})}})}});
}

std::map<std::string, ContainerEdits> share_edits(const std::vector<ShareClaim>& claims,
                                                  const std::map<std::string, std::string>& names,
                                                  std::string_view state_folder,
                                                  std::span<const Vendor* const> among) {
  std::map<std::string, ContainerEdits> edits;
  for (const Vendor* vendor : among) {
    std::map<std::string, std::vector<ShareClaim>> shares;  // by container
    for (const ShareClaim& claim : claims) {
      if (vendor_of_resource(claim.resource, among) == vendor) {
        shares[claim.container].push_back(claim);
      }
    }
    for (const auto& [container, own] : shares) {
      ContainerEdits more = vendor->edits(own, names, state_folder);
      ContainerEdits& all = edits[container];
      all.env.insert(all.env.end(), more.env.begin(), more.env.end());
      all.mounts.insert(all.mounts.end(), more.mounts.begin(), more.mounts.end());
    }
  }
  return edits;
}

}  // namespace athanor::das
