// SPDX-License-Identifier: Apache-2.0
// Placement: on which GPU and slot each requested slice goes. One pure function for the scheduler,
// the extender and simulations (docs/spec/das.md 6.3, 6.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systems/das/slices/slots.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Settings placementPolicy and gpuOrder (docs/spec/das.md 6.6).
enum class PlacementPolicy : std::uint8_t { FirstFit, FragMin };
enum class GpuOrder : std::uint8_t { Listed, Emptiest, Fullest };

// One GPU with its taken slots. Refers to the table.
struct GpuSlots {
  const MigTable* table = nullptr;
  Occupancy occupancy{};
  bool open = true;  // false: nothing is placed there
};

// Options of place().
struct PlacementOptions {
  PlacementPolicy policy = PlacementPolicy::FirstFit;
  GpuOrder order = GpuOrder::Listed;  // of FirstFit
  bool same_gpu = false;              // all slices on one GPU
  // Weights of profiles for FragMin; absent: 1/number of profiles, 0 for "+me".
  std::map<std::string, double, std::less<>> weights{};
};

// Place of one slice: index of the GPU, first slot, number of slots.
struct PlacedSlice {
  std::size_t gpu = 0;
  int start = 0;
  int size = 0;
  friend bool operator==(const PlacedSlice&, const PlacedSlice&) = default;
};

// Places all profiles or none, one entry for each request in its order. Complete: when any legal
// arrangement exists, one is found. Deterministic.
std::optional<std::vector<PlacedSlice>> place(std::span<const GpuSlots> gpus,
                                              std::span<const std::string> profiles,
                                              const PlacementOptions& options = {});

// Returns floor(100 x free / total) over the GPUs; 0 without any.
std::int64_t spread_score(std::span<const GpuSlots> gpus);

// The node for a pod where several have room: the one with most free slots, or with fewest.
enum class NodeScoring : std::uint8_t { Spread, Pack };
// Returns the score of a node with the slices in their places, from 0 to 100; the larger is better.
std::int64_t node_score(std::vector<GpuSlots> gpus, std::span<const std::string> profiles,
                        std::span<const PlacedSlice> placed, NodeScoring scoring);

}  // namespace athanor::das
