// SPDX-License-Identifier: Apache-2.0
// Traces of slice requests: which pod asks for which slices when, and for how long
// (docs/simulate.md). Read from CSV, or made from a standard mix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::whatif {

// One pod. Times in seconds.
struct SliceSubmission {
  double submit = 0;  // after the trace's start
  std::string profile{};
  int count = 1;  // slices of this profile
  double duration = 0;
  std::size_t line = 0;  // its line in the trace; 0: made from a mix
};

// By time of submission.
using SliceTrace = std::vector<SliceSubmission>;

// Parses CSV with a header line: submit, profile, duration, and count where it is not 1. Every
// problem is "NAME:LINE: what is wrong; how to mend it"; the first twenty are reported together.
Result<SliceTrace> parse_slice_trace(std::string_view text, std::string_view name);

// What a mix is made into.
struct MixPlan {
  const das::GpuModel* model = nullptr;
  std::size_t gpus = 0;
  std::int64_t requests = 0;
  double load = 0;  // requested share of all slots
  std::uint64_t seed = 1;
};
// Returns true for the names of standard mixes: uniform, small, no7.
bool is_mix(std::string_view name);
// Makes the same trace from the same seed. Errors: the model lacks profiles of the mix.
Result<SliceTrace> trace_of_mix(std::string_view name, const MixPlan& plan);

}  // namespace athanor::whatif
