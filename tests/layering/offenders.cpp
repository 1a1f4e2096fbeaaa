// SPDX-License-Identifier: Apache-2.0
#include "layering/offenders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace athanor::layering {

void check_ceiling(const std::vector<Offender>& found, std::size_t ceiling, const char* constant) {
  // ATHANOR_WORDS=all lists every offender, for those who lower a ceiling.
  const bool all = std::getenv("ATHANOR_WORDS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const std::size_t shown = all ? found.size() : std::min(found.size(), std::size_t{20});
  std::string rows;
  for (std::size_t i = 0; i < shown; ++i) {
    rows += "\n  " + found[i].path + ":" + std::to_string(found[i].line) + ": " + found[i].text;
  }
  EXPECT_LE(found.size(), all ? 0 : ceiling)
      << "more offenders than " << constant << " allows; some:" << rows;
  EXPECT_GE(found.size(), ceiling) << "lower " << constant << " to " << found.size();
}

}  // namespace athanor::layering
