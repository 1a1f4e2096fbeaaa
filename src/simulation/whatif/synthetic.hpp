// SPDX-License-Identifier: Apache-2.0
// Synthetic traces (their distributions: docs/simulate.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulation/whatif/trace.hpp"

namespace athanor::whatif {

// What a synthetic trace is made of.
struct Synthetic {
  std::int64_t jobs = 1000;
  std::int64_t days = 7;
  std::uint64_t seed = 1;
  std::map<std::string, double> gpu_types{};  // weights; empty: a100 2, h200 1
  std::vector<std::string> owners{};          // the busiest first; empty: eight teams
  std::int64_t most_gpus = 8;                 // of one job
  std::vector<std::string> clusters{};        // one job in ten is pinned to one of them
};

// Makes the same numbers on every machine: whole arithmetic and own sampling.
Trace synthetic_trace(const Synthetic& wanted);

}  // namespace athanor::whatif
