// SPDX-License-Identifier: Apache-2.0
#include "systems/das/slices/slots.hpp"

#include <algorithm>
#include <bit>

namespace athanor::das {
namespace {

const MigProfile& profile_at(const MigTable& table, int profile) {
  return table.profiles[static_cast<std::size_t>(profile)];
}

// Returns true if the GPU's instances leave media engines for this profile.
bool has_media(const MigTable& table, const Occupancy& occupancy, Media wanted) {
  if (!table.exclusive || wanted == Media::None) {
    return true;
  }
  for (std::size_t i = 0; i < occupancy.used.size() && i < table.profiles.size(); ++i) {
    const Media other = table.profiles[i].media;
    if (occupancy.used[i] > 0 && other != Media::None &&
        (other == Media::All || wanted == Media::All)) {
      return false;
    }
  }
  return true;
}

}  // namespace

SlotMask mask_of(int start, int size) {
  if (start < 0 || size < 1 || size > kMostSlots || start > kMostSlots - size) {
    return 0;
  }
  return static_cast<SlotMask>(((1U << static_cast<unsigned>(size)) - 1U)
                               << static_cast<unsigned>(start));
}

int Occupancy::used_of(int profile) const {
  const auto index = static_cast<std::size_t>(profile);
  return index < used.size() ? used[index] : 0;
}

void Occupancy::take(int profile, int start, const MigTable& table) {
  const auto index = static_cast<std::size_t>(profile);
  if (used.size() <= index) {
    used.resize(index + 1);
  }
  ++used[index];
  taken = static_cast<SlotMask>(taken | mask_of(start, profile_at(table, profile).size));
}

void Occupancy::release(int profile, int start, const MigTable& table) {
  --used[static_cast<std::size_t>(profile)];
  taken = static_cast<SlotMask>(taken & ~mask_of(start, profile_at(table, profile).size));
}

bool fits_at(const MigTable& table, const Occupancy& occupancy, int profile, int start) {
  const MigProfile& wanted = profile_at(table, profile);
  const SlotMask mask = mask_of(start, wanted.size);
  return mask != 0 && start + wanted.size <= table.slots && (mask & occupancy.taken) == 0 &&
         occupancy.used_of(profile) < wanted.most && has_media(table, occupancy, wanted.media);
}

int first_start(const MigTable& table, const Occupancy& occupancy, int profile) {
  for (const int start : profile_at(table, profile).starts) {
    if (fits_at(table, occupancy, profile, start)) {
      return start;
    }
  }
  return -1;
}

int remaining(const MigTable& table, const Occupancy& occupancy, int profile) {
  const MigProfile& wanted = profile_at(table, profile);
  if (!has_media(table, occupancy, wanted.media)) {
    return 0;
  }
  const int most = wanted.most - occupancy.used_of(profile);
  SlotMask taken = occupancy.taken;
  int count = 0;
  for (const int start : wanted.starts) {
    const SlotMask mask = mask_of(start, wanted.size);
    if (count < most && mask != 0 && (mask & taken) == 0) {
      taken = static_cast<SlotMask>(taken | mask);
      ++count;
    }
  }
  return count;
}

int free_slots(const MigTable& table, const Occupancy& occupancy) {
  const auto all = mask_of(0, table.slots);
  return table.slots - std::popcount(static_cast<unsigned>(all & occupancy.taken));
}

double fragmentation(const MigTable& table, const Occupancy& occupancy) {
  const int free = free_slots(table, occupancy);
  if (free == 0) {
    return 0;
  }
  int largest = 0;
  for (int i = 0; i < static_cast<int>(table.profiles.size()); ++i) {
    if (first_start(table, occupancy, i) >= 0) {
      largest = std::max(largest, profile_at(table, i).size);
    }
  }
  return 1.0 - static_cast<double>(largest) / free;
}

bool is_legal(const MigTable& table, const std::vector<Slice>& slices) {
  Occupancy occupancy;
  return std::ranges::all_of(slices, [&](const Slice& slice) {
    if (slice.profile < 0 || slice.profile >= static_cast<int>(table.profiles.size())) {
      return false;
    }
    const std::vector<int>& starts = profile_at(table, slice.profile).starts;
    if (std::ranges::find(starts, slice.start) == starts.end() ||
        !fits_at(table, occupancy, slice.profile, slice.start)) {
      return false;
    }
    occupancy.take(slice.profile, slice.start, table);
    return true;
  });
}

}  // namespace athanor::das
