// SPDX-License-Identifier: Apache-2.0
// Systems with hooks, as `athanor up` runs them: their operators, and the scheduler and the nodes
// of the lab with their hooks.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "embedded/lab/control_plane.hpp"

namespace athanor::cli {

// Adds operators, kinds, webhooks, objects and settings. `variables`: the environment over the lab
// file's settings. Errors name the variable.
Result<void> add_hooked_systems(const std::map<std::string, std::string>& variables,
                                lab::ControlPlaneOptions& options);

}  // namespace athanor::cli
