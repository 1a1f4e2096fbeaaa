// SPDX-License-Identifier: Apache-2.0
// A trace on a fleet as `athanor simulate` and the console play it: with the product's systems, and
// without reports that have no reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "simulation/whatif/trace.hpp"
#include "simulation/whatif/trace_run.hpp"

namespace athanor::cli {

// How a trace is played: see whatif::PlayOptions.
struct FleetPlay {
  std::uint64_t seed = 1;
  std::function<void(Duration passed, std::size_t ended)> progress{};
  std::function<bool()> is_over_time{};
};

// Plays a trace whose jobs fit the fleet. Errors: those of whatif::play; settings of the fleet that
// Fournos refuses.
Result<whatif::Played> play_trace(const whatif::Trace& trace, const lab::Lab& fleet,
                                  FleetPlay options);

}  // namespace athanor::cli
