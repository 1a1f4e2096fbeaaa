// SPDX-License-Identifier: Apache-2.0
// Names of MIG profiles, and the names of resources, files and CDI kinds made of them
// (docs/spec/das.md 4.4, 4.5, 5.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::das {

// Prefixes of resource names: NVIDIA's, NVIDIA's MIG resources, and those of DAS
// (docs/spec/das.md 4.5).
inline constexpr std::string_view kNvidiaPrefix = "nvidia.com/";
inline constexpr std::string_view kNvidiaMigPrefix = "nvidia.com/mig-";
inline constexpr std::string_view kResourcePrefix = "mig.das.com/";
// Prefix of shares of a GPU or a slice by MPS.
inline constexpr std::string_view kMpsPrefix = "mps.das.com/";

// The parts of "1g.5gb+me".
struct ProfileName {
  int compute = 0;           // compute slices
  int gigabytes = 0;         // memory
  std::string attributes{};  // "+me", "+me.all", "+gfx", "-me" or empty
  [[nodiscard]] std::string text() const;
};

// Parses a profile as NVIDIA, its device plugin ("1g.5gb.me") or a resource name ("1g.5gb-plus-me")
// spells it; nullopt for anything else.
std::optional<ProfileName> parse_profile(std::string_view text);

// Returns "me" of "1g.5gb+me", "-me" of "1g.24gb-me", empty of "1g.5gb".
std::string attribute_of(const ProfileName& name);

// Replaces every '+' by "-plus-"; decode_profile() is its inverse.
std::string encode_profile(std::string_view profile);
// Replaces every "-plus-" by '+'.
std::string decode_profile(std::string_view encoded);

// Returns "mig.das.com/1g.5gb-plus-me". Devices that are no slices are named by their resource,
// which stays as it is: "mps.das.com/gpu-10gb".
std::string resource_of(std::string_view profile);
// Returns the canonical profile of a resource name "nvidia.com/mig-P" or "mig.das.com/P"; nullopt
// for other resources and for texts that are no profile.
std::optional<std::string> profile_of_resource(std::string_view resource);

// Returns "mig.das.com_1g.5gb.sock".
std::string socket_of(std::string_view profile);
// Returns "c1g.5gb": a CDI class starts with a letter. Of other devices "mps.das.com-gpu-10gb",
// "ts.das.com-c3g.20gb".
std::string cdi_class_of(std::string_view profile);
// Returns "mig.das.com/c1g.5gb"; of others "mps.das.com/gpu-10gb", "ts.das.com/c3g.20gb".
std::string cdi_kind_of(std::string_view profile);
// Returns the resource of such a kind of other devices.
std::string resource_of_kind(std::string_view kind);

// NVML's description of an instance profile.
struct NvmlProfile {
  int compute = 0;                 // compute slices of the GPU instance
  int compute_instance = 0;        // of the compute instance; 0: the same
  std::int64_t memory_mib = 0;     // of the GPU instance
  std::int64_t gpu_total_mib = 0;  // of the GPU
  int gi_profile = 0;              // NVML_GPU_INSTANCE_PROFILE_*
};
// Returns the profile's name as nvidia-smi prints it.
std::string derive_profile(const NvmlProfile& nvml);

}  // namespace athanor::das
