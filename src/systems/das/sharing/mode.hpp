// SPDX-License-Identifier: Apache-2.0
// GPUs that several pods share without slices: time-slicing and MPS (docs/spec/das.md 15.2), and
// the partitions of other vendors' GPUs (15.3). A GPU is in exactly one mode, and changes it as a
// whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/das/placement/tables.hpp"

namespace athanor::das {

inline constexpr const char* kSharingAnnotation = "das.inference.redhat.com/gpu-sharing";
// Of a GPU in a NodeAccelerator; absent: it is sliced.
inline constexpr const char* kSharingMember = "sharing";

enum class GpuMode : std::uint8_t {
  Mig,
  TimeSlice,
  Mps,
  Partition,  // AMD: compute partitions with a memory mode
  Vf,         // Intel: virtual functions
};

struct GpuSharing {
  GpuMode mode = GpuMode::Mig;
  int replicas = 0;        // of time-slicing; partitions, virtual functions
  std::string interval{};  // of time-slicing: Default, Short, Medium, Long
  int unit_gb = 0;         // of MPS: memory of one share
  std::string layout{};    // of partitions: "cpx-nps4"
  friend bool operator==(const GpuSharing&, const GpuSharing&) = default;
};

// What each of `gpus` GPUs of an accelerator type shall be, as "INDEX=MODE,...". Modes of
// nvidia-mig: mig, timeslice:REPLICAS[:INTERVAL], mps:GB; of amd-mi300: spx, dpx, qpx, cpx, each
// with :nps1 or :nps4; of intel-xe: vf:COUNT. Those that are not named are sliced, one partition,
// one function. Errors name the annotation.
Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               std::string_view type = kNvidiaMig);
// What the GPUs of a NodeAccelerator are, in its order.
std::vector<GpuSharing> sharing_of(const Value& node_resources);
void set_sharing(Value& node_resources, const std::vector<GpuSharing>& sharing);

// How many shares a GPU has; 0: it is sliced.
int shares_of(const GpuSharing& sharing, int memory_gib);
// "ts.das.com/gpu", "mps.das.com/gpu-10gb", "amd.das.com/cpx-nps4", "intel.das.com/vf"; empty: it
// is sliced.
std::string resource_of_share(const GpuSharing& sharing);
// Shares of all GPUs by resource.
std::map<std::string, int> share_capacity(const std::vector<GpuSharing>& sharing, int memory_gib);

}  // namespace athanor::das
