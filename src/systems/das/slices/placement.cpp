// SPDX-License-Identifier: Apache-2.0
#include "systems/das/slices/placement.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "systems/das/slices/arrange.hpp"

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

// Where one slice would go.
struct Choice {
  std::size_t gpu = 0;
  int profile = 0;
  int start = 0;
};

std::optional<Choice> first_on(const GpuSlots& gpu, std::size_t number, std::string_view profile) {
  const int index = gpu.open ? gpu.table->find(profile) : -1;
  const int start = index < 0 ? -1 : first_start(*gpu.table, gpu.occupancy, index);
  return start < 0 ? std::nullopt
                   : std::optional(Choice{.gpu = number, .profile = index, .start = start});
}

std::optional<Choice> first_fit(std::span<const GpuSlots> gpus, std::string_view profile,
                                GpuOrder order) {
  if (order == GpuOrder::Listed) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (const auto choice = first_on(gpus[i], i, profile)) {
        return choice;
      }
    }
    return std::nullopt;
  }
  for (const std::size_t i : order_of(gpus, order)) {
    if (const auto choice = first_on(gpus[i], i, profile)) {
      return choice;
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

std::optional<Choice> least_loss(std::span<const GpuSlots> gpus, std::string_view profile,
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
  return Choice{.gpu = std::get<2>(*best), .profile = chosen, .start = std::get<3>(*best)};
}

std::optional<Choice> choose(std::span<const GpuSlots> gpus, std::string_view profile,
                             const PlacementOptions& options) {
  return options.policy == PlacementPolicy::FirstFit ? first_fit(gpus, profile, options.order)
                                                     : least_loss(gpus, profile, options);
}

PlacedSlice placed_at(std::span<const GpuSlots> gpus, const Choice& choice) {
  const MigTable& table = *gpus[choice.gpu].table;
  return {.gpu = choice.gpu,
          .start = choice.start,
          .size = table.profiles[static_cast<std::size_t>(choice.profile)].size};
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
  if (profiles.size() == 1) {  // the common case; it has no other arrangement
    const auto choice = choose(gpus, profiles.front(), options);
    return choice ? std::optional(std::vector{placed_at(gpus, *choice)}) : std::nullopt;
  }
  std::vector<GpuSlots> state(gpus.begin(), gpus.end());
  std::vector<PlacedSlice> placed(profiles.size());
  bool complete = true;
  for (const std::size_t i : requests_in_order(gpus, profiles, options.policy)) {
    const auto choice = choose(state, profiles[i], options);
    if (!choice) {
      complete = false;
      break;
    }
    GpuSlots& chosen = state[choice->gpu];
    chosen.occupancy.take(choice->profile, choice->start, *chosen.table);
    placed[i] = placed_at(state, *choice);
  }
  return complete ? std::optional(std::move(placed))
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

std::int64_t node_score(std::vector<GpuSlots> gpus, std::span<const std::string> profiles,
                        std::span<const PlacedSlice> placed, NodeScoring scoring) {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    GpuSlots& gpu = gpus[placed[i].gpu];
    gpu.occupancy.take(gpu.table->find(profiles[i]), placed[i].start, *gpu.table);
  }
  const std::int64_t free = spread_score(gpus);
  return scoring == NodeScoring::Pack ? kPercent - free : free;
}

}  // namespace athanor::das
