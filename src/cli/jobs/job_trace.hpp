// SPDX-License-Identifier: Apache-2.0
// One's own history as a trace for `athanor simulate`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::cli {

// A trace in CSV (docs/simulate.md), and how many jobs it leaves out: those that have not ended, or
// never ran, or ask for neither GPUs nor a cluster.
struct JobTrace {
  std::string csv{};
  std::size_t left_out = 0;
};
JobTrace trace_of(const std::vector<Object>& jobs);

}  // namespace athanor::cli
