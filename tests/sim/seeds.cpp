// SPDX-License-Identifier: Apache-2.0
// Which seeds, and the line that replays one.
#include "sim/seeds.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace athanor::sim {

namespace {

std::uint64_t number_of(const char* variable) {
  const char* text =
      std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

void for_each_seed(std::uint64_t count,
                   const std::function<std::optional<std::string>(std::uint64_t seed)>& check) {
  const std::uint64_t only = number_of("ATHANOR_SIM_SEED");
  const std::uint64_t wanted = number_of("ATHANOR_SIM_SEEDS");
  const std::uint64_t first = only > 0 ? only : 1;
  const std::uint64_t last = only > 0 ? only : (wanted > 0 ? wanted : count);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    if (const auto wrong = check(seed)) {
      const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
      ADD_FAILURE() << "seed " << seed << ": " << *wrong << "\nreplay: ATHANOR_SIM_SEED=" << seed
                    << " build/dev/tests/sim/test_sim --gtest_filter=" << test->test_suite_name()
                    << "." << test->name();
      return;
    }
  }
}

}  // namespace athanor::sim
