// SPDX-License-Identifier: Apache-2.0
// Playing a range of seeds; a failing one says how to replay it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace athanor::sim {

// Runs `check` with `count` seeds from 1 on (ATHANOR_SIM_SEEDS: more; ATHANOR_SIM_SEED: only that
// one); a text it returns fails the running test and ends the range.
void for_each_seed(std::uint64_t count,
                   const std::function<std::optional<std::string>(std::uint64_t seed)>& check);

}  // namespace athanor::sim
