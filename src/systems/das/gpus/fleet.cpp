// SPDX-License-Identifier: Apache-2.0
#include "systems/das/gpus/fleet.hpp"

#include <algorithm>
#include <utility>

#include "systems/das/slices/slots.hpp"

namespace athanor::das {
namespace {

std::size_t gpu_of(const FleetNode& node, std::string_view uuid) {
  const auto found = std::ranges::find(node.inventory.gpus, uuid, &NodeGpu::uuid);
  return static_cast<std::size_t>(found - node.inventory.gpus.begin());
}

// The claim's profile on this GPU, or -1 where the GPU knows it not, or of another size.
int profile_on(const GpuSlots& gpu, const Claim& claim) {
  const int profile = gpu.table->find(claim.profile);
  const bool same =
      profile >= 0 && gpu.table->profiles[static_cast<std::size_t>(profile)].size == claim.size;
  return same ? profile : -1;
}

void occupy(GpuSlots& gpu, const Claim& claim) {
  gpu.occupancy.taken = static_cast<SlotMask>(gpu.occupancy.taken | claim.mask());
  if (const int profile = profile_on(gpu, claim); profile >= 0) {
    gpu.occupancy.take(profile, claim.start, *gpu.table);
  }
}

void vacate(GpuSlots& gpu, const Claim& claim) {
  gpu.occupancy.taken = static_cast<SlotMask>(gpu.occupancy.taken & ~claim.mask());
  if (const int profile = profile_on(gpu, claim); profile >= 0) {
    gpu.occupancy.release(profile, claim.start, *gpu.table);
  }
}

// Computes the slots anew from the claims; the tables' addresses change with the node's.
void count(FleetNode& node) {
  node.gpus.clear();
  for (const NodeGpu& gpu : node.inventory.gpus) {
    node.gpus.push_back(
        {.table = &node.inventory.tables[gpu.table], .open = gpu.healthy && !gpu.shared});
    node.gpus.back().occupancy.taken = gpu.foreign;
  }
  for (const Claim& claim : node.claims) {
    occupy(node.gpus[gpu_of(node, claim.gpu)], claim);
  }
}

std::vector<FleetNode> copy_of(std::span<const FleetNode> fleet) {
  std::vector<FleetNode> copy(fleet.begin(), fleet.end());
  std::ranges::for_each(copy, count);
  return copy;
}

void take_spot(FleetNode& node, const Spot& spot) {
  GpuSlots& gpu = node.gpus[spot.gpu];
  gpu.occupancy.take(gpu.table->find(spot.profile), spot.place.start, *gpu.table);
}

// Takes the pod's claims out of the fleet and returns where they were.
std::vector<Spot> lift(std::vector<FleetNode>& fleet, const Key& pod) {
  std::vector<Spot> from;
  for (FleetNode& node : fleet) {
    for (const Claim& claim : node.claims) {
      if (claim.pod == pod) {
        const std::size_t gpu = gpu_of(node, claim.gpu);
        from.push_back({node.name,
                        gpu,
                        claim.profile,
                        {gpu, claim.start, claim.size},
                        node.inventory.gpus[gpu].index});
        vacate(node.gpus[gpu], claim);
      }
    }
    std::erase_if(node.claims, [&](const Claim& claim) { return claim.pod == pod; });
  }
  return from;
}

std::vector<std::string> profiles_of(const std::vector<Spot>& spots) {
  std::vector<std::string> profiles;
  profiles.reserve(spots.size());
  for (const Spot& spot : spots) {
    profiles.push_back(spot.profile);
  }
  return profiles;
}

// Puts all slices of a pod on one node; GPUs for which `closed` holds are left out.
template <class Closed>
std::optional<std::vector<Spot>> put(std::vector<FleetNode>& fleet,
                                     const std::vector<std::string>& profiles,
                                     const PlacementOptions& options, const Closed& closed) {
  for (FleetNode& node : fleet) {
    std::vector<GpuSlots> gpus = node.gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].open = gpus[i].open && !closed(node, i);
    }
    const auto placed = place(gpus, profiles, options);
    if (!placed) {
      continue;
    }
    std::vector<Spot> spots = spots_of(node, profiles, *placed);
    for (const Spot& spot : spots) {
      take_spot(node, spot);
    }
    return spots;
  }
  return std::nullopt;
}

std::vector<Key> pods_on(const FleetNode& node, std::size_t gpu) {
  std::vector<Key> pods;
  for (const Claim& claim : node.claims) {
    if (gpu_of(node, claim.gpu) == gpu && std::ranges::find(pods, claim.pod) == pods.end()) {
      pods.push_back(claim.pod);
    }
  }
  return pods;
}

bool is_movable(std::span<const Key> movable, const Key& pod) {
  return std::ranges::find(movable, pod) != movable.end();
}

// Moves that empty this GPU onto GPUs in use; nullopt: not all of its pods can go.
std::optional<std::vector<Move>> emptied(std::vector<FleetNode>& fleet, const std::string& name,
                                         std::size_t gpu, std::span<const Key> pods,
                                         const PlacementOptions& options) {
  std::vector<Move> moves;
  for (const Key& pod : pods) {
    Move move{.pod = pod, .from = lift(fleet, pod)};
    const auto closed = [&](const FleetNode& node, std::size_t i) {
      return node.gpus[i].occupancy.taken == 0 || (node.name == name && i == gpu);
    };
    auto to = put(fleet, profiles_of(move.from), options, closed);
    if (!to) {
      return std::nullopt;
    }
    move.to = *std::move(to);
    moves.push_back(std::move(move));
  }
  return moves;
}

std::vector<Move> empty_gpus(std::span<const FleetNode> fleet, std::span<const Key> movable,
                             std::size_t most, const PlacementOptions& options) {
  std::vector<FleetNode> state = copy_of(fleet);
  // The GPUs with the least in use go first.
  std::vector<std::pair<int, std::pair<std::size_t, std::size_t>>> order;
  for (std::size_t n = 0; n < state.size(); ++n) {
    for (std::size_t g = 0; g < state[n].gpus.size(); ++g) {
      const GpuSlots& gpu = state[n].gpus[g];
      if (gpu.occupancy.taken != 0) {
        order.push_back({gpu.table->slots - free_slots(*gpu.table, gpu.occupancy), {n, g}});
      }
    }
  }
  std::ranges::sort(order);
  std::vector<Move> moves;
  for (const auto& [used, at] : order) {
    const FleetNode& node = state[at.first];
    const std::vector<Key> pods = pods_on(node, at.second);
    const bool all =
        std::ranges::all_of(pods, [&](const Key& pod) { return is_movable(movable, pod); });
    const bool receives = std::ranges::any_of(moves, [&](const Move& move) {
      return std::ranges::any_of(move.to, [&](const Spot& spot) {
        return spot.node == node.name && spot.gpu == at.second;
      });
    });
    if (pods.empty() || !all || receives || moves.size() + pods.size() > most) {
      continue;
    }
    std::vector<FleetNode> attempt = copy_of(state);
    // Placements of earlier moves are no claims yet.
    for (const Move& move : moves) {
      for (const Spot& spot : move.to) {
        take_spot(*std::ranges::find(attempt, spot.node, &FleetNode::name), spot);
      }
    }
    if (auto more = emptied(attempt, node.name, at.second, pods, options)) {
      for (const Move& move : *more) {
        lift(state, move.pod);
      }
      moves.insert(moves.end(), std::make_move_iterator(more->begin()),
                   std::make_move_iterator(more->end()));
    }
  }
  return moves;
}

// Lifts movable pods of one node, smallest first, until the wanted slices fit there.
std::optional<std::vector<Move>> room_on(std::span<const FleetNode> fleet, const std::string& name,
                                         std::span<const Key> movable,
                                         const std::vector<std::string>& wanted, std::size_t most,
                                         const PlacementOptions& options) {
  std::vector<FleetNode> state = copy_of(fleet);
  const auto node_of = [&]() -> FleetNode& {
    return *std::ranges::find(state, name, &FleetNode::name);
  };
  std::vector<std::pair<int, Key>> pods;
  for (const Claim& claim : node_of().claims) {
    const auto known = std::ranges::find(pods, claim.pod, &std::pair<int, Key>::second);
    if (known != pods.end()) {
      known->first += claim.size;
    } else if (is_movable(movable, claim.pod)) {
      pods.emplace_back(claim.size, claim.pod);
    }
  }
  std::ranges::sort(pods, {}, [](const auto& pod) { return pod.first; });
  std::vector<Move> moves;
  for (const auto& [size, pod] : pods) {
    if (moves.size() == most) {
      return std::nullopt;
    }
    moves.push_back({.pod = pod, .from = lift(state, pod)});
    const auto placed = place(node_of().gpus, wanted, options);
    if (!placed) {
      continue;
    }
    for (const Spot& spot : spots_of(node_of(), wanted, *placed)) {
      take_spot(node_of(), spot);
    }
    for (Move& move : moves) {
      auto to = put(state, profiles_of(move.from), options,
                    [](const FleetNode&, std::size_t) { return false; });
      if (!to) {
        return std::nullopt;
      }
      move.to = *std::move(to);
    }
    return moves;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FleetNode> read_fleet(std::span<const Object> accelerators,
                                  std::span<const Object> claims) {
  std::vector<FleetNode> fleet;
  for (const Object& accelerator : accelerators) {
    FleetNode node{.name = std::string(accelerator.name()),
                   .inventory = read_resources(accelerator.status()["nodeResources"])};
    for (const Object& object : claims) {
      auto claim = read_claim(object);
      if (claim && claim->node == node.name &&
          gpu_of(node, claim->gpu) < node.inventory.gpus.size()) {
        node.claims.push_back(*std::move(claim));
      }
    }
    fleet.push_back(std::move(node));
  }
  std::ranges::sort(fleet, {}, &FleetNode::name);
  std::ranges::for_each(fleet, count);
  return fleet;
}

std::vector<Spot> spots_of(const FleetNode& node, std::span<const std::string> profiles,
                           const std::vector<PlacedSlice>& placed) {
  std::vector<Spot> spots;
  spots.reserve(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    spots.push_back({node.name, placed[i].gpu, profiles[i], placed[i],
                     node.inventory.gpus[placed[i].gpu].index});
  }
  return spots;
}

std::vector<Spot> place_each(std::vector<FleetNode>& fleet, std::span<const std::string> profiles,
                             const PlacementOptions& options, NodeScoring scoring) {
  std::vector<Spot> spots;
  for (const std::string& profile : profiles) {
    const std::span<const std::string> wanted(&profile, 1);
    FleetNode* best = nullptr;
    Spot chosen;
    std::int64_t most = 0;
    for (FleetNode& node : fleet) {
      const auto placed = place(node.gpus, wanted, options);
      if (!placed) {
        continue;
      }
      const std::int64_t score = node_score(node.gpus, wanted, *placed, scoring);
      if (best == nullptr || score > most) {
        best = &node;
        most = score;
        chosen = spots_of(node, wanted, *placed).front();
      }
    }
    if (best == nullptr) {
      break;
    }
    take_spot(*best, chosen);
    spots.push_back(std::move(chosen));
  }
  return spots;
}

std::vector<Move> propose_moves(std::span<const FleetNode> fleet, std::span<const Key> movable,
                                std::span<const std::string> wanted, std::size_t most,
                                const PlacementOptions& options) {
  if (wanted.empty()) {
    return empty_gpus(fleet, movable, most, options);
  }
  const std::vector<std::string> profiles(wanted.begin(), wanted.end());
  std::optional<std::vector<Move>> best;
  for (const FleetNode& node : fleet) {
    auto moves = room_on(fleet, node.name, movable, profiles, most, options);
    if (moves && (!best || moves->size() < best->size())) {
      best = std::move(moves);
    }
  }
  return best.value_or(std::vector<Move>());
}

}  // namespace athanor::das
