// SPDX-License-Identifier: Apache-2.0
// Shares of a GPU: what pods ask for, and the AllocationClaims that hold them
// (docs/spec/das.md 15.2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/sharing/mode.hpp"

namespace athanor::das {

inline constexpr std::string_view kMpsPrefix = "mps.das.com/";
bool is_share_resource(std::string_view resource);

// One share of one container.
struct ShareRequest {
  std::string container{};
  std::string resource{};
  int index = 0;  // within the container's shares
};
// More than kMostSlices are cut off: no node holds as many.
std::vector<ShareRequest> shares_in(const Value& pod_spec);

// A claim whose spec.type is timeslice, mps, partition or vf; it has no placement.
struct ShareClaim {
  Object object{};
  std::string type{};
  std::string resource{};
  std::string gpu{};
  std::string container{};
  std::string pod_uid{};
  int index = 0;  // which of the GPU's shares
  std::string state{};
  std::int64_t memory_mib = 0;
  int thread_percent = 0;
};
bool is_share(const Object& claim);
std::optional<ShareClaim> read_share(const Object& claim);
std::vector<ShareClaim> shares_on(const View& view, std::string_view node);

// A GPU with its mode and what is taken of it.
struct SharedGpu {
  std::string uuid{};
  GpuSharing sharing{};
  int memory_gib = 0;
  std::set<int> used{};  // indices of its shares that are taken
  bool healthy = true;
};
std::vector<SharedGpu> shared_gpus(const Value& node_resources);

// The index of a GPU for each request, the fullest with room first; MPS shares of one container are
// of one GPU. Empty: they do not fit.
std::vector<std::size_t> place_shares(std::vector<SharedGpu> gpus,
                                      const std::vector<ShareRequest>& requests);

// Takes the first free share of a GPU.
int take_share(SharedGpu& gpu);
// The AllocationClaim of one share, the one of `index` on its GPU.
Value make_share(const Object& pod, std::string_view ns, std::string_view node,
                 const ShareRequest& request, const SharedGpu& gpu, int index);

using Variables = std::vector<std::pair<std::string, std::string>>;
// The environment by container. `names`: what GPUs are called, by UUID.
std::map<std::string, Variables> share_environment(const std::vector<ShareClaim>& claims,
                                                   const std::map<std::string, std::string>& names);

}  // namespace athanor::das
