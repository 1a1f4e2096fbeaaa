// SPDX-License-Identifier: Apache-2.0
// What many runs have added up to: what `make sim` prints.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulation/faults.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// Sums over runs.
struct Tally {
  FaultCounts faults{};                               // injected
  std::map<std::string, std::uint64_t> invariants{};  // checks by name
  std::map<std::string, std::uint64_t> properties{};  // checks by name: "P3 crash at any point"
  std::uint64_t runs = 0;                             // worlds played to their end
  std::uint64_t steps = 0;
  std::uint64_t reconciles = 0;
  std::uint64_t writes = 0;

  void add(const Outcome& outcome);
  void merge(const Tally& other);
};

}  // namespace athanor::sim
