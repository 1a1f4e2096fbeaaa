// SPDX-License-Identifier: Apache-2.0
// Simulator: the interface to `athanor simulate`. The program hands the function in, because a
// console needs no simulator to serve pages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "views/job_trace.hpp"

namespace athanor::console {

// One fleet, and jobs that are submitted to it alone.
struct SimulatedSide {
  std::string name{};
  Value fleet{};  // a lab file (docs/lab.md)
  std::vector<views::TraceRow> jobs{};
};

// One trace on several fleets.
struct SimulatorCall {
  std::vector<views::TraceRow> jobs{};  // of all sides
  std::vector<SimulatedSide> sides{};
  Duration patience{};  // real time for all of it
};

// The result of one of the two simulations.
struct SimulatedResult {
  Value report{};  // as `athanor simulate -o json` prints it
  // Seconds until each job's first admission: jobs of all sides, then the side's own. nullopt: it
  // was left out, or never admitted.
  std::vector<std::optional<double>> waits{};
};

// The results of a call.
struct Simulated {
  std::vector<SimulatedResult> sides{};
  std::vector<std::string> left_out{};  // why each job that fits not on every fleet is left out
};

// Plays a call. Errors: 400 if a side's own job cannot run there; 504 after the patience.
using Simulator = std::function<Result<Simulated>(const SimulatorCall& call)>;

}  // namespace athanor::console
