// SPDX-License-Identifier: Apache-2.0
// The flag --phase of lists that systems bring.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor {

inline constexpr std::string_view kPhaseFlag = "phase";

// Reads "Active,Inactive" of the flag; empty: it is not given. Errors (wrong usage): an unknown
// phase.
Result<std::vector<std::string>> asked_phases(const std::optional<std::string>& flag,
                                              const std::vector<std::string>& known);
// Returns true if these phases are none, or contain this one.
bool takes_phase(const std::vector<std::string>& phases, std::string_view phase);

}  // namespace athanor
