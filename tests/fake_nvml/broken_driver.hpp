// SPDX-License-Identifier: Apache-2.0
// A life of the agent's GPU driver over a library that answers wrongly, and what must hold of it.
#pragma once

#include <string>
#include <string_view>

#include "agent/nvml/gpu_driver.hpp"

namespace athanor::fake_nvml {

// Decides how the loaded fake library answers from now on; empty: rightly. `library`: its path.
void answer_by(const char* library, std::string_view bytes);

// Returns what is wrong with what a driver found: names, sizes and places out of bounds; empty:
// nothing.
std::string flaw_of(const das::Discovery& found);

// Opens the library, finds GPUs, makes and destroys slices, all with answers by `bytes`, and looks
// again with right ones. Returns the first flaw; empty: none.
std::string live_with(const char* library, std::string_view bytes);

}  // namespace athanor::fake_nvml
