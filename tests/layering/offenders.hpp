// SPDX-License-Identifier: Apache-2.0
// Offenders against a rule, and the ceiling on their number.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace athanor::layering {

struct Offender {
  std::string path{};
  std::size_t line = 0;
  std::string text{};
};

// Expects as many offenders as the ceiling says: more are refused, and so is a ceiling that was not
// lowered. `constant`: the name of the ceiling.
void check_ceiling(const std::vector<Offender>& found, std::size_t ceiling, const char* constant);

}  // namespace athanor::layering
