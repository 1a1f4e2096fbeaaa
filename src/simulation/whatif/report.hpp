// SPDX-License-Identifier: Apache-2.0
// What a play comes to: waiting times, utilisation, the queue over time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "simulation/whatif/trace_run.hpp"

namespace athanor::whatif {

// Seconds that jobs waited: from submission to admission, and from each eviction to the next
// admission.
struct Waiting {
  std::size_t jobs = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, most = 0;
};

// Use of one GPU type.
struct Usage {
  std::int64_t capacity = 0;  // GPUs
  double mean = 0;            // share of the capacity in use, 0 to 1, from the start to the end
  double most = 0;
};

// Averages over one stretch of the time from the start to the end.
struct Stretch {
  double hours = 0;                      // its middle, after the start
  double queued = 0;                     // jobs that wait
  std::map<std::string, double> busy{};  // share of each GPU type, 0 to 1
};

// The figures of one fleet. `usage` is by GPU type.
struct Report {
  std::string fleet{};
  std::size_t jobs = 0, succeeded = 0, failed = 0, unfinished = 0;
  std::size_t evictions = 0;  // stretches of runs that ended before the job did
  double hours = 0;           // from the start to the end of the last job
  Waiting all{};
  std::map<std::string, Waiting> by_owner{};
  std::map<std::string, Waiting> by_gpu{};  // "none" for jobs without
  std::map<std::string, Usage> usage{};
  std::vector<Stretch> over_time{};
  std::map<std::string, std::size_t> failures{};  // by message
  // What the controllers had to do, by their names.
  std::map<std::string_view, std::uint64_t> reconciles{};
  std::map<std::string_view, std::uint64_t> writes{};
};

// Makes a report with `stretches` points in over_time.
Report make_report(const Trace& trace, const lab::Lab& fleet, const Played& played,
                   std::string fleet_name, std::size_t stretches = 240);

// Returns JSON: {fleet, jobs, ..., waiting: {all, byOwner, byGpuType}, utilisation, overTime,
// work}.
Value to_value(const Report& report);

// Returns "0s", "45s", "12m", "3h20m", "2d4h".
std::string short_time(double seconds);

}  // namespace athanor::whatif
