// SPDX-License-Identifier: Apache-2.0
// GPUs that several pods share without slices: time-slicing and MPS (docs/spec/das.md 15.2). A GPU
// is in exactly one mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::das {

inline constexpr const char* kSharingAnnotation = "das.inference.redhat.com/gpu-sharing";
// Of a GPU in a NodeAccelerator; absent: it is sliced.
inline constexpr const char* kSharingMember = "sharing";

enum class GpuMode : std::uint8_t { Mig, TimeSlice, Mps };

struct GpuSharing {
  GpuMode mode = GpuMode::Mig;
  int replicas = 0;        // of time-slicing
  std::string interval{};  // of time-slicing: Default, Short, Medium, Long
  int unit_gb = 0;         // of MPS: memory of one share
  friend bool operator==(const GpuSharing&, const GpuSharing&) = default;
};

// What each of `gpus` GPUs shall be: "INDEX=mig", "INDEX=timeslice:REPLICAS[:INTERVAL]" or
// "INDEX=mps:GB", separated by commas; those that are not named are sliced. Errors name the
// annotation.
Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus);
// What the GPUs of a NodeAccelerator are, in its order.
std::vector<GpuSharing> sharing_of(const Value& node_resources);
void set_sharing(Value& node_resources, const std::vector<GpuSharing>& sharing);

// How many shares a GPU has; 0: it is sliced.
int shares_of(const GpuSharing& sharing, int memory_gib);
// "ts.das.com/gpu", "mps.das.com/gpu-10gb"; empty: it is sliced.
std::string resource_of_share(const GpuSharing& sharing);
// Shares of all GPUs by resource.
std::map<std::string, int> share_capacity(const std::vector<GpuSharing>& sharing, int memory_gib);

}  // namespace athanor::das
