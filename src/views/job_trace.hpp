// SPDX-License-Identifier: Apache-2.0
// One's own jobs as a trace for `athanor simulate`. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::views {

// One job of a trace.
struct TraceRow {
  Instant submit{};
  std::string owner{};
  std::string gpu_type{};
  std::int64_t gpus = 0;
  Duration duration{};
  std::string priority{};
  std::string cluster{};  // that the job names; empty: any
  bool exclusive = false;
};

// Returns the row of a job that ended; nullopt: it has not ended, never ran, or asks for neither
// GPUs nor a cluster.
std::optional<TraceRow> trace_row(const Object& job);
// Returns what a job requests, as of now: without its duration. nullopt: neither GPUs nor a
// cluster.
std::optional<TraceRow> requested_row(const Object& job);
// Prints rows as CSV (docs/simulate.md), in the given order: row i is line i + 2.
std::string trace_text(const std::vector<TraceRow>& rows);

// A trace in CSV in order of submission, and how many jobs it leaves out: those without a row.
struct JobTrace {
  std::string csv{};
  std::size_t left_out = 0;
};
JobTrace trace_of(const std::vector<Object>& jobs);

}  // namespace athanor::views
