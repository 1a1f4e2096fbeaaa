// SPDX-License-Identifier: Apache-2.0
// Shares of a GPU: what pods ask for, and the AllocationClaims that hold them
// (docs/spec/das.md 15.2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/slices/types.hpp"

namespace athanor::das {

// Returns true if the resource counts shares of one of the vendors.
bool is_share_resource(std::string_view resource, std::span<const Vendor* const> among = vendors());

// Returns the shares; cuts off more than kMostSlices: no node holds as many.
std::vector<ShareRequest> shares_in(const Value& pod_spec,
                                    std::span<const Vendor* const> among = vendors());
// A container whose requests cannot hold together, and the refusal of its pod.
struct Conflict {
  std::string container{};
  std::string message{};
};
// Finds the first container that asks for slices and for shares, or for MPS shares and for shares
// of another resource; nullopt: none does.
std::optional<Conflict> conflict_in(const Value& pod_spec);

// Returns true for a claim that has spec.share, and no placement.
bool is_share(const Object& claim);
// Reads a share; nullopt: the claim is no share.
std::optional<ShareClaim> read_share(const Object& claim);
// Returns the shares that claims hold on a node, in order of creation, then name.
std::vector<ShareClaim> shares_on(const View& view, std::string_view node);

// Reads status.nodeResources, in its order; `used` is empty.
std::vector<SharedGpu> shared_gpus(const Value& node_resources);

// Returns the devices that each GPU brings, by resource, in the order of the node's GPUs; none of a
// GPU that DRA hands out.
std::vector<std::map<std::string, int>> devices_of(const Value& node_resources,
                                                   const Vendor& vendor);
// Reads a share as the agent handles it beside slices: the resource as its profile, the index as
// its start, no size.
std::optional<Claim> read_slice_or_share(const Object& claim);
// Returns true if read_slice_or_share() read a share.
inline bool is_share(const Claim& claim) {
  return claim.size == 0;
}

// Returns the slice that the claim shares; nullopt: the claim is no share, or of a whole GPU.
std::optional<Claim> shared_slice(const Claim& claim);

// Takes the first free share of a GPU.
int take_share(SharedGpu& gpu);
// A share that a pod gets on a node; its claim is in namespace `ns`.
struct NewShare {
  const Object& pod;
  std::string_view ns{};
  std::string_view node{};
  ShareRequest request{};
};
// Makes the AllocationClaim of one share, the one of `index` on its GPU.
Value make_share(const NewShare& share, const SharedGpu& gpu, int index, const Vendor& vendor);

// Returns what containers see of their shares, by container. `names`: of GPUs and slices, by
// ShareClaim::part().
std::map<std::string, ContainerEdits> share_edits(const std::vector<ShareClaim>& claims,
                                                  const std::map<std::string, std::string>& names,
                                                  std::string_view state_folder = kStateFolder,
                                                  std::span<const Vendor* const> among = vendors());

}  // namespace athanor::das
