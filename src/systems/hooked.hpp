// SPDX-License-Identifier: Apache-2.0
// The scheduler and the nodes of a lab with the hooks of all systems.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "runtime/view/operator.hpp"

namespace athanor {

// Each takes the place of the lab's operator of the same name.
std::span<const Operator* const> hooked_operators();

// Checks the model of emulated GPUs that a lab file names. The error lists the known ones.
Result<void> check_gpu_model(std::string_view model);

}  // namespace athanor
