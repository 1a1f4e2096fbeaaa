// SPDX-License-Identifier: Apache-2.0
// The submission that a schedule's pods make.
#pragma once

#include "base/result.hpp"
#include "cli/flags/target.hpp"

namespace athanor::cli {

// Creates the FournosJob of FJOB_JSON (docs/spec/dashboard.md A7), with what a resolver wrote to
// /shared/resolved.env. Returns the exit code: 0 also where an attempt before this one created it.
Result<int> submit_from_environment(const Target& target);

}  // namespace athanor::cli
