// SPDX-License-Identifier: Apache-2.0
// MIG profiles of GPU products as data (docs/spec/das.md 4): which profiles there are, where an
// instance may start, and how many one GPU holds. Real nodes publish what NVML returns; these
// tables serve emulated nodes and tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::das {

// How much of a GPU's media engines an instance takes: "+me.all" takes all of them and leaves room
// for "-me" alone (docs/spec/das.md 4.3).
enum class Media : std::uint8_t { Some, All, None };
Media media_of(std::string_view profile);

// One profile of one GPU model.
struct MigProfile {
  std::string name{};           // "1g.5gb+me"
  int compute = 0;              // compute slices
  int size = 0;                 // memory slots
  std::vector<int> starts{};    // legal first slots, in the order in which they are tried
  int most = 0;                 // instances on one GPU
  int gi_profile = 0;           // published as giProfileId
  int ci_profile = 0;           // the compute-instance profile of one full-width instance
  std::int64_t memory_mib = 0;  // 0: read from NVML
  int smi_id = -1;              // the profile's number in nvidia-smi; -1: unknown
  Media media = Media::Some;
};

// All profiles of one GPU, in the order in which they are published.
struct MigTable {
  int slots = 8;
  std::vector<MigProfile> profiles{};
  bool exclusive = false;  // a profile takes all media engines
  // Appends a profile, whose media engines follow from its name.
  void add(MigProfile profile);
  // Returns the index into `profiles`, or -1.
  [[nodiscard]] int find(std::string_view profile) const;
};

// Accelerator types: which driver serves a node (docs/spec/das.md 15.3).
inline constexpr std::string_view kNvidiaMig = "nvidia-mig";
inline constexpr std::string_view kAmdMi300 = "amd-mi300";
inline constexpr std::string_view kIntelXe = "intel-xe";

// A GPU product with its profiles.
struct GpuModel {
  std::string_view key{};  // "A100-PCIE-40GB": what lab files and EMULATED_GPU_MODEL name
  int memory_gib = 0;
  MigTable table{};
  std::string_view architecture{};        // "Ampere"
  std::string_view compute_capability{};  // "8.0.0"
  std::string_view type = kNvidiaMig;
  std::string_view maker = "NVIDIA";
  [[nodiscard]] std::string product() const { return std::string(maker).append(" ").append(key); }
};

// Model of emulated nodes that name none.
inline constexpr std::string_view kDefaultModel = "A100-PCIE-40GB";

// Returns the models that can be sliced.
std::span<const GpuModel> gpu_models();

}  // namespace athanor::das
