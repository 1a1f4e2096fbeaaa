// SPDX-License-Identifier: Apache-2.0
// Runs compared with undisturbed runs.
#include "embedded/simulation/properties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/json.hpp"
#include "kube/patch.hpp"

namespace athanor::sim {

namespace {

struct Run {
  Outcome outcome{};
  Value end{};
};

Run run_once(Scene scene, std::uint64_t seed, const Projection& projection) {
  World world(std::move(scene), seed);
  Run run{.outcome = world.run()};
  if (!run.outcome.failure) {
    run.end = projection ? projection(world) : world.final_state();
  }
  return run;
}

std::optional<std::string> difference(const Value& expected, const Value& actual) {
  if (expected == actual) {
    return std::nullopt;
  }
  return "ends otherwise than without faults; the difference as a merge patch: " +
         json::print(make_merge_patch(expected, actual), json::Style::Pretty);
}

}  // namespace

std::optional<std::string> check_determinism(const SceneMaker& make, std::uint64_t seed) {
  Scene scene = make();
  Scene again = make();
  scene.record = true;
  again.record = true;
  World first(std::move(scene), seed);
  World second(std::move(again), seed);
  static_cast<void>(first.run());
  static_cast<void>(second.run());
  const auto& a = first.trace();
  const auto& b = second.trace();
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() && other == b.end()) {
    return std::nullopt;
  }
  return fmt::format("the same seed gave other requests: \"{}\" and \"{}\"",
                     at == a.end() ? "(end)" : *at, other == b.end() ? "(end)" : *other);
}

std::optional<std::string> check_crashes(const SceneMaker& make, std::uint64_t seed,
                                         std::uint64_t stride, const Projection& projection) {
  Scene calm = make();
  calm.faults = {};
  const Run base = run_once(std::move(calm), seed, projection);
  if (base.outcome.failure) {
    return "without faults: " + *base.outcome.failure;
  }
  for (std::uint64_t write = 1; write <= base.outcome.writes; write += stride) {
    Scene crashing = make();
    crashing.faults = {};
    crashing.faults.crash_after = {write};
    const Run run = run_once(std::move(crashing), seed, projection);
    auto wrong = run.outcome.failure;
    if (!wrong) {
      wrong = difference(base.end, run.end);
    }
    if (wrong) {
      return fmt::format("crash after write {} of {}: {}", write, base.outcome.writes, *wrong);
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_faults(const SceneMaker& make, std::uint64_t seed,
                                        const Faults& faults, const Projection& projection) {
  Scene calm = make();
  calm.faults = {};
  const Run base = run_once(std::move(calm), seed, projection);
  if (base.outcome.failure) {
    return "without faults: " + *base.outcome.failure;
  }
  Scene disturbed = make();
  disturbed.faults = faults;
  const Run run = run_once(std::move(disturbed), seed, projection);
  if (run.outcome.failure) {
    return run.outcome.failure;
  }
  return difference(base.end, run.end);
}

}  // namespace athanor::sim
