// SPDX-License-Identifier: Apache-2.0
// "What if" questions about the live fleet: what the simulator is asked, and its answer as data
// (docs/console.md). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "console/model/simulator.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// The change that a question is about.
enum class FleetChange : std::uint8_t { Node, Cluster, Gpus, Unlock, Job };

// A question. Of Job: the job's shape.
struct WhatIfQuestion {
  FleetChange change = FleetChange::Gpus;
  std::string cluster{};  // that gets more, is copied or unlocked, or that the job names
  std::string gpu_type{};
  std::int64_t gpus = 0;
  Duration duration{};
  std::string priority{};
  bool exclusive = false;
  std::int64_t days = 14;  // of the history that comes again
};

// Parameters of a question in a query.
inline constexpr std::string_view kWhatIfParameters[] = {
    "change", "cluster", "gpuType", "gpus", "duration", "priority", "exclusive", "days"};
// A parameter that cannot be used.
struct WrongParameter {
  std::string_view name{};
  std::string message{};
};
// Reads a question; `value` returns a parameter's text, empty where absent. Returns what is wrong;
// empty name: nothing.
WrongParameter read_question(const std::function<std::string(std::string_view)>& value,
                             WhatIfQuestion& question);

// State of the fleet.
struct WhatIfState {
  const Facts& facts;
  std::string ns{};             // of the jobs
  std::vector<Object> ended{};  // jobs of the history
  Instant now{};
};

// A job that runs, waits or locks a cluster now, by its row in the call.
struct LiveRow {
  std::size_t row = 0;
  const Object* job = nullptr;
};

// A question as the simulator takes it.
struct WhatIfCall {
  SimulatorCall call{};  // sides: as it is, and with the change
  std::string text{};    // the question in words
  std::vector<LiveRow> live{};
  std::size_t running = 0, waiting = 0, locks = 0, ended = 0, left_out = 0;
  double days = 0;  // of the history that the call covers
  std::vector<std::string> assumptions{};
};
// Makes the call: the jobs that run and wait now, then those of the history once more, as late
// after now as they were after the start of its days. Errors: 400 a cluster that the queue does not
// have, a cluster without a lock, unknown hardware; no job at all.
Result<WhatIfCall> make_call(const WhatIfQuestion& question, const WhatIfState& state);

// Returns {text, now, days, jobs, assumptions, leftOut, without, with, waiting, job}.
Value answer_of(const WhatIfCall& asked, const Simulated& played, const WhatIfState& state);

}  // namespace athanor::console
