// SPDX-License-Identifier: Apache-2.0
// Slots of one GPU as bits: legality, remaining capacity, fragmentation (docs/spec/das.md 4.1).
#pragma once

#include <cstdint>
#include <vector>

#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Bit i is set for slot i.
using SlotMask = std::uint16_t;
// Slots of the largest GPU.
inline constexpr int kMostSlots = 8;

// Returns the bits of a placement; 0 when it does not lie within kMostSlots.
SlotMask mask_of(int start, int size);

// The taken part of one GPU.
struct Occupancy {
  SlotMask taken = 0;
  std::vector<int> used{};  // instances by profile index; shorter: none of the rest
  [[nodiscard]] int used_of(int profile) const;
  void take(int profile, int start, const MigTable& table);
  void release(int profile, int start, const MigTable& table);
  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

// Returns true if an instance of the profile may start there now.
bool fits_at(const MigTable& table, const Occupancy& occupancy, int profile, int start);
// Returns the first legal free start in the table's order, or -1.
int first_start(const MigTable& table, const Occupancy& occupancy, int profile);
// Returns how many further instances of one profile fit.
int remaining(const MigTable& table, const Occupancy& occupancy, int profile);
// Counts free slots of the GPU.
int free_slots(const MigTable& table, const Occupancy& occupancy);
// Returns 1 - largest placeable size / free slots; 0 if all are used (das_fragmentation_ratio).
double fragmentation(const MigTable& table, const Occupancy& occupancy);

// An instance: its profile's index in the table and its first slot.
struct Slice {
  int profile = 0;
  int start = 0;
};
// Returns true if every slice lies on a legal start, none overlap, no profile exceeds its maximum,
// and media engines suffice.
bool is_legal(const MigTable& table, const std::vector<Slice>& slices);

}  // namespace athanor::das
