// SPDX-License-Identifier: Apache-2.0
// GPUs of a node that are shared without slices (docs/spec/das.md 15.2, 15.3): what the node's
// annotation wants, and what its NodeAccelerator says. A GPU is in exactly one mode, and changes it
// as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/types.hpp"

namespace athanor::das {

// Annotation of a node: the mode of each GPU, see wanted_sharing().
inline constexpr const char* kSharingAnnotation = "das.inference.redhat.com/gpu-sharing";
// Field of a GPU in a NodeAccelerator; absent: it is sliced.
inline constexpr const char* kSharingMember = "sharing";

// Returns the wanted mode of each of `gpus` GPUs, from "INDEX=MODE,..." with the vendor's modes.
// GPUs that are not named have its default. Errors name the annotation.
Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               const Vendor& vendor);
// Returns the modes for an accelerator type; an unknown one is an error.
Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               std::string_view type = kNvidiaMig);
// Returns the modes of a NodeAccelerator's GPUs, in its order.
std::vector<GpuSharing> sharing_of(const Value& node_resources);

// Modes that a GPU allows.
enum class Divisible : std::uint8_t {
  Any,
  Slices,  // MIG mode is enabled: sliced, and slices may be shared
  Whole,   // MIG mode is disabled: shared as a whole, or left out
};
// Inputs of assign_sharing().
struct SharingRequest {
  std::string_view annotation{};
  const Vendor* vendor = nullptr;
  const Value* before = nullptr;                     // status.nodeResources as published
  const std::set<std::string, std::less<>>* used{};  // UUIDs of GPUs that hold claims
  std::vector<Divisible> allows{};                   // of each GPU of `resources`
};
// Writes what each GPU of `resources` is from now on: what is wanted, but those that hold claims
// stay what they were. Whole GPUs that are not shared are removed. Returns what cannot be had, a
// sentence each; after a bad annotation all GPUs stay what they were.
std::vector<std::string> assign_sharing(Value& resources, const SharingRequest& request);

}  // namespace athanor::das
