// SPDX-License-Identifier: Apache-2.0
// Plays a trace of slice requests on GPUs of one model, once for each policy of the scheduler:
// which share is accepted, and how much of the GPUs is in use (docs/spec/das.md 16.1).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "simulation/whatif/slice_trace.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::whatif {

// Equal nodes with equal GPUs.
struct SliceFleet {
  const das::GpuModel* model = nullptr;
  std::size_t nodes = 0;
  std::size_t gpus = 0;  // of each node
};

// What a policy makes of a trace. Its names are those of the settings DAS_PLACEMENT_POLICY,
// DAS_GPU_ORDER and DAS_NODE_SCORING_POLICY.
struct SliceOutcome {
  std::string placement{};  // firstfit, fragmin
  std::string gpu_order{};  // of firstfit: listed, emptiest, fullest; else empty
  std::string scoring{};    // spread, pack
  std::size_t requests = 0;
  std::size_t accepted = 0;
  double utilisation = 0;       // share of all slots in use, from the first to the last submission
  std::size_t gpus_in_use = 0;  // most at one time
  std::map<std::string, std::size_t> rejected{};  // by profile
  [[nodiscard]] double acceptance() const;
};

// Checks that every pod fits on an empty node; the error has a line "NAME:LINE: what is wrong; how
// to mend it" for each that does not (twenty at most).
Result<void> check_slices(const SliceTrace& trace, const SliceFleet& fleet, std::string_view name);

// How far a play is: the policy, from 1, and its submissions so far.
struct SliceProgress {
  std::size_t policy = 0;
  std::size_t policies = 0;
  std::size_t played = 0;
};

// Plays the trace with every policy; a pod that fits nowhere when it comes is dropped. Calls
// `progress` after every 1000 submissions, and at the end of each policy.
std::vector<SliceOutcome> play_slices(
    const SliceTrace& trace, const SliceFleet& fleet,
    const std::function<void(const SliceProgress&)>& progress = {});

// Returns JSON: {placementPolicy, gpuOrder, nodeScoringPolicy, requests, accepted, acceptance,
// utilisation, gpusInUse, rejected}.
Value to_value(const SliceOutcome& outcome);

}  // namespace athanor::whatif
