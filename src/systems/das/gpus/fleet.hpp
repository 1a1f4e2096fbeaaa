// SPDX-License-Identifier: Apache-2.0
// The slots of all nodes together, for questions of people: what would fit, and which pods would
// have to move so that more does (docs/spec/das.md 16.5).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::das {

// GPUs and claims of one node.
struct FleetNode {
  std::string name{};
  NodeGpus inventory{};
  std::vector<GpuSlots> gpus{};  // as `inventory.gpus`; tables point into `inventory`
  std::vector<Claim> claims{};
};
// Reads the fleet, sorted by name. Leaves out claims on unknown nodes or GPUs.
std::vector<FleetNode> read_fleet(std::span<const Object> accelerators,
                                  std::span<const Object> claims);

// Where one slice would be.
struct Spot {
  std::string node{};
  std::size_t gpu = 0;  // index into FleetNode::gpus
  std::string profile{};
  PlacedSlice place{};
  int number = 0;  // of the GPU, as its node counts
};

// Returns the spots of slices that place() put on the node.
std::vector<Spot> spots_of(const FleetNode& node, std::span<const std::string> profiles,
                           const std::vector<PlacedSlice>& placed);

// Places that many pods of one slice each, one after the other, on the node with the best score, of
// equal ones the first by name; stops at the first that fits nowhere.
std::vector<Spot> place_each(std::vector<FleetNode>& fleet, std::span<const std::string> profiles,
                             const PlacementOptions& options,
                             NodeScoring scoring = NodeScoring::Spread);

// A pod that would move: all its slices, from a node and GPUs to others.
struct Move {
  Key pod{};
  std::vector<Spot> from{};
  std::vector<Spot> to{};
};

// Returns moves of movable pods, at most `most`. With `wanted` (the slices of one waiting pod) they
// make room for it on one node; else they empty GPUs. Empty: no moves help. `movable` holds the
// pods that may be moved.
std::vector<Move> propose_moves(std::span<const FleetNode> fleet, std::span<const Key> movable,
                                std::span<const std::string> wanted, std::size_t most,
                                const PlacementOptions& options);

}  // namespace athanor::das
