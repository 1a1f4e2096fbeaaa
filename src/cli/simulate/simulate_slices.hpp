// SPDX-License-Identifier: Apache-2.0
// athanor simulate --slices: requests for GPU slices, played with every placement policy.
#pragma once

#include "base/result.hpp"
#include "cli/flags/options.hpp"

namespace athanor::cli {

// Returns what is wrong with the flags; empty: nothing.
const char* misuse_of_slices(const SimulateOptions& options);
// Prints the report. Errors: a file or a model that cannot be used.
Result<void> simulate_slices(const SimulateOptions& options);

}  // namespace athanor::cli
