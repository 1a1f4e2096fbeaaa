// SPDX-License-Identifier: Apache-2.0
// The properties that every controller has, checked without knowing it (stack.md 9.4).
// Each function returns what is wrong, or nothing. P2 (rest) is part of every run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "embedded/simulation/world.hpp"
#include "kube/value.hpp"

namespace athanor::sim {

// Makes the scene of one run: what outside worlds keep (pods, answers) must be each run's own.
using SceneMaker = std::function<Scene()>;
// What must be equal at the end of runs that differ in faults and order; by default
// World::final_state().
using Projection = std::function<Value(const World&)>;

// P1: the same seed gives the same requests in the same order. (Each reconcile is also run twice,
// always.)
std::optional<std::string> check_determinism(const SceneMaker& make, std::uint64_t seed);
// P3: for each write of a run without faults (every `stride`th of them): a run whose engine dies
// right after it ends the same.
std::optional<std::string> check_crashes(const SceneMaker& make, std::uint64_t seed,
                                         std::uint64_t stride, const Projection& projection);
// P4 to P7: with `faults` the world ends as it does without.
std::optional<std::string> check_faults(const SceneMaker& make, std::uint64_t seed,
                                        const Faults& faults, const Projection& projection);

}  // namespace athanor::sim
