// SPDX-License-Identifier: Apache-2.0
// Plays a trace on a fleet in virtual time: the real API server over memory, the real controllers
// (Fournos, queueing, pipelines, scheduler, kubelet), pods that take their time and do nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/system.hpp"
#include "simulation/whatif/trace.hpp"

namespace athanor::whatif {

// One stretch of a run: from an admission to its end or to an eviction.
struct Hold {
  Instant from{};
  std::optional<Instant> until{};  // nullopt: lasts
  bool operator==(const Hold&) const = default;
};

// What happened to one submission.
struct Run {
  std::size_t job = 0;        // place in Trace::jobs
  std::vector<Hold> holds{};  // in time's order; each but the first follows an eviction
  std::optional<Instant> ended{};
  bool succeeded = false;
  std::string cluster{};
  std::string message{};  // what its status says in the end
};

// What came of a trace.
struct Played {
  std::vector<Run> runs{};  // as many as jobs
  Instant start{};          // when the trace begins
  Instant end{};            // when the last job ended
  std::uint64_t steps = 0;
  std::uint64_t writes = 0;
  std::uint64_t reconciles = 0;
  // By controller.
  std::map<std::string_view, std::uint64_t> reconciles_of{};
  std::map<std::string_view, std::uint64_t> writes_of{};
};

// How a trace is played.
struct PlayOptions {
  Systems systems{};                         // their kinds and webhooks are served
  std::vector<const Operator*> operators{};  // of the systems; the embedded ones come by themselves
  std::map<std::string, Value, std::less<>> config{};
  std::uint64_t seed = 1;
  // Also what the controllers write, as a cluster would: the same comes of it, later.
  bool judges_writes = false;
  // Called after each hundredth of the jobs, at least every 20 jobs, and at the end: virtual time
  // passed, jobs ended. May be empty.
  std::function<void(Duration passed, std::size_t ended)> progress{};
  // Asked at least once an hour of virtual time; true ends the play with error 504. May be empty.
  std::function<bool()> is_over_time{};
};

// Returns a fleet's numbers of GPUs, by type.
std::map<std::string, std::int64_t> gpus_of(const lab::Lab& fleet);

// Returns what keeps one job from ever running on the fleet, and how to mend it; empty: nothing.
std::string misfit(const Submission& job, const lab::Lab& fleet, std::string_view fleet_name);

// Checks that every job of the trace can ever run on the fleet; the error has a line
// "TRACE:LINE: what is wrong; how to mend it" for each that cannot (twenty at most).
Result<void> check_fit(const Trace& trace, const lab::Lab& fleet, std::string_view fleet_name);

// Plays without the fleet file's nodes and manifests: the trace says what a job costs. Errors: 504
// when PlayOptions::is_over_time; the API server refuses a job; the play does not come to an end.
Result<Played> play(const Trace& trace, const lab::Lab& fleet, const PlayOptions& options);

}  // namespace athanor::whatif
