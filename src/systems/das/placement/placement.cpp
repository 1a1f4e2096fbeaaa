// SPDX-License-Identifier: Apache-2.0
#include "systems/das/placement/placement.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "systems/das/placement/arrange.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kPercent = 100;

int taken_slots(const GpuSlots& gpu) {
  return gpu.table->slots - free_slots(*gpu.table, gpu.occupancy);
}

std::vector<std::size_t> order_of(std::span<const GpuSlots> gpus, GpuOrder order) {
  std::vector<std::size_t> indexes(gpus.size());
  std::iota(indexes.begin(), indexes.end(), std::size_t{0});
  if (order != GpuOrder::Listed) {
    std::ranges::stable_sort(indexes, [&](std::size_t a, std::size_t b) {
      return order == GpuOrder::Emptiest ? taken_slots(gpus[a]) < taken_slots(gpus[b])
                                         : taken_slots(gpus[a]) > taken_slots(gpus[b]);
    });
  }
  return indexes;
}

PlacedSlice take(std::vector<GpuSlots>& gpus, std::size_t gpu, int profile, int start) {
  GpuSlots& chosen = gpus[gpu];
  chosen.occupancy.take(profile, start, *chosen.table);
  return {.gpu = gpu,
          .start = start,
          .size = chosen.table->profiles[static_cast<std::size_t>(profile)].size};
}

std::optional<PlacedSlice> first_fit(std::vector<GpuSlots>& gpus, std::string_view profile,
                                     GpuOrder order) {
  for (const std::size_t i : order_of(gpus, order)) {
    const int index = gpus[i].open ? gpus[i].table->find(profile) : -1;
    const int start = index < 0 ? -1 : first_start(*gpus[i].table, gpus[i].occupancy, index);
    if (start >= 0) {
      return take(gpus, i, index, start);
    }
  }
  return std::nullopt;
}

double weight_of(const MigTable& table, const MigProfile& profile,
                 const PlacementOptions& options) {
  const auto given = options.weights.find(profile.name);
  if (given != options.weights.end()) {
    return given->second;
  }
  return profile.name.ends_with("+me") ? 0.0 : 1.0 / static_cast<double>(table.profiles.size());
}

// How much less of all profiles fits after one slice was taken (docs/spec/das.md 6.6).
double loss_of(const MigTable& table, const Occupancy& before, const Occupancy& after,
               const PlacementOptions& options) {
  double loss = 0;
  for (std::size_t q = 0; q < table.profiles.size(); ++q) {
    const int profile = static_cast<int>(q);
    loss += weight_of(table, table.profiles[q], options) * table.profiles[q].size *
            (remaining(table, before, profile) - remaining(table, after, profile));
  }
  return loss;
}

std::optional<PlacedSlice> least_loss(std::vector<GpuSlots>& gpus, std::string_view profile,
                                      const PlacementOptions& options) {
  using Rank = std::tuple<double, int, std::size_t, int>;
  std::optional<Rank> best;
  int chosen = -1;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const GpuSlots& gpu = gpus[i];
    const int index = gpu.open ? gpu.table->find(profile) : -1;
    if (index < 0) {
      continue;
    }
    for (const int start : gpu.table->profiles[static_cast<std::size_t>(index)].starts) {
      if (!fits_at(*gpu.table, gpu.occupancy, index, start)) {
        continue;
      }
      Occupancy after = gpu.occupancy;
      after.take(index, start, *gpu.table);
      const Rank rank{loss_of(*gpu.table, gpu.occupancy, after, options), -taken_slots(gpu), i,
                      start};
      if (!best || rank < *best) {
        best = rank;
        chosen = index;
      }
    }
  }
  if (!best) {
    return std::nullopt;
  }
  return take(gpus, std::get<2>(*best), chosen, std::get<3>(*best));
}

// The size and compute slices of a profile on the first GPU that knows it.
std::pair<int, int> weight_in_slots(std::span<const GpuSlots> gpus, std::string_view profile) {
  for (const GpuSlots& gpu : gpus) {
    if (const int index = gpu.table->find(profile); index >= 0) {
      const MigProfile& found = gpu.table->profiles[static_cast<std::size_t>(index)];
      return {found.size, found.compute};
    }
  }
  return {0, 0};
}

// The order in which slices are placed: as requested, or the large ones first.
std::vector<std::size_t> requests_in_order(std::span<const GpuSlots> gpus,
                                           std::span<const std::string> profiles,
                                           PlacementPolicy policy) {
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (policy == PlacementPolicy::FragMin) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return weight_in_slots(gpus, profiles[a]) > weight_in_slots(gpus, profiles[b]);
    });
  }
  return order;
}

std::optional<std::vector<PlacedSlice>> place_on(std::span<const GpuSlots> gpus,
                                                 std::span<const std::string> profiles,
                                                 const PlacementOptions& options) {
  std::vector<GpuSlots> state(gpus.begin(), gpus.end());
  std::vector<PlacedSlice> placed(profiles.size());
  bool complete = true;
  for (const std::size_t i : requests_in_order(gpus, profiles, options.policy)) {
    const auto slice = options.policy == PlacementPolicy::FirstFit
                           ? first_fit(state, profiles[i], options.order)
                           : least_loss(state, profiles[i], options);
    if (!slice) {
      complete = false;
      break;
    }
    placed[i] = *slice;
  }
  if (complete) {
    return placed;
  }
  // One slice alone has no other arrangement.
  return profiles.size() < 2 ? std::nullopt
                             : arrange(gpus, profiles, order_of(gpus, options.order));
}

}  // namespace

std::optional<std::vector<PlacedSlice>> place(std::span<const GpuSlots> gpus,
                                              std::span<const std::string> profiles,
                                              const PlacementOptions& options) {
  if (!options.same_gpu) {
    return place_on(gpus, profiles, options);
  }
  std::vector<GpuSlots> one(gpus.begin(), gpus.end());
  for (GpuSlots& gpu : one) {
    gpu.open = false;
  }
  for (const std::size_t i : order_of(gpus, options.order)) {
    one[i].open = gpus[i].open;
    if (auto placed = place_on(one, profiles, options)) {
      return placed;
    }
    one[i].open = false;
  }
  return std::nullopt;
}

std::int64_t spread_score(std::span<const GpuSlots> gpus) {
  std::int64_t free = 0;
  std::int64_t total = 0;
  for (const GpuSlots& gpu : gpus) {
    free += free_slots(*gpu.table, gpu.occupancy);
    total += gpu.table->slots;
  }
  return total == 0 ? 0 : kPercent * free / total;
}

}  // namespace athanor::das
