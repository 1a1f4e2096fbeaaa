// SPDX-License-Identifier: Apache-2.0
// Traces: who submitted which job when (docs/simulate.md). Read from CSV or YAML, written as CSV.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::whatif {

// One job of a trace.
struct Submission {
  Duration submit{};  // after the trace's start
  std::string owner{};
  std::string gpu_type{};  // empty: a slot of a cluster, no GPU
  std::int64_t gpus = 0;
  Duration duration{};     // of the job's run, queueing not counted
  std::string priority{};  // empty: none
  std::string cluster{};   // pinned to it; empty: any
  bool exclusive = false;  // takes the cluster alone
  std::size_t line = 0;    // its line in the trace
};

// A trace by its file's name.
struct Trace {
  std::string name{};
  std::vector<Submission> jobs{};  // by time of submission
};

// Parses CSV with a header line, or YAML when `name` ends in .yaml, .yml or .json. Each problem is
// a line "NAME:LINE: what is wrong; how to mend it"; the first twenty are reported together.
Result<Trace> parse_trace(std::string_view text, std::string_view name);

// Prints CSV, readable by parse_trace().
std::string to_csv(const Trace& trace);

}  // namespace athanor::whatif
