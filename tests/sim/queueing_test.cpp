// SPDX-License-Identifier: Apache-2.0
// Queues on the simulator: many trees of cohorts, and that their rules can fail.
#include <gtest/gtest.h>

#include <string>

#include "api/kueue.hpp"
#include "kube/text/json.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

TEST(Queueing, EveryTreeComesToRestWithinItsQuota) {
  for_each_seed(8, [](std::uint64_t seed) {
    World world(queueing_scene(seed), seed);
    const Outcome outcome = world.run();
    const Value ending = queueing_ending(world);
    EXPECT_EQ(ending["owner"].as_string(), "finished") << json::print(ending);
    EXPECT_EQ(ending["kept-2"].as_string(), "runs") << json::print(ending);
    return outcome.failure;
  });
}

// ATHANOR_SIM_SEEDS=10000 plays as many trees; docs/testing.md has the command for all cores.
TEST(Queueing, TwoEnginesNeverAdmitTwice) {
  std::uint64_t handovers = 0;
  for_each_seed(8, [&](std::uint64_t seed) {
    Scene scene = queueing_scene(seed);
    scene.faults = queueing_handovers();
    World world(std::move(scene), seed);
    const Outcome outcome = world.run();
    handovers += outcome.crashes;
    EXPECT_GT(outcome.invariants.at("no workload is admitted twice"), 0U);
    return outcome.failure;
  });
  EXPECT_GT(handovers, 0U) << "no engine handed over to the other";
}

// docs/decisions/preemption-circles.md: three workloads took each other's quota in turn, one of
// them while borrowing.
TEST(Queueing, ACircleOfThreeEnds) {
  constexpr std::uint64_t kSeed = 1364;
  World world(queueing_scene(kSeed), kSeed);
  EXPECT_EQ(world.run().failure.value_or(""), "");
}

// The scene with a change of somebody's who writes what the engine would not.
std::string failure_with(const std::string& status) {
  Scene scene = queueing_scene(1);
  scene.admission = nullptr;  // which would refuse it
  scene.actors.push_back({.at = std::chrono::seconds(20), .act = [status](World& world) {
                            static_cast<void>(world.patch(api::kueue::kWorkload,
                                                          {"default", "kept-0"}, from_yaml(status),
                                                          "status"));
                          }});
  World world(std::move(scene), 1);
  return world.run().failure.value_or("");
}

std::string holds(int amount) {
  return "{status: {admission: {clusterQueue: kept-queue, podSetAssignments: [{name: main, count: "
         "1, flavors: {gpu: f}, resourceUsage: {gpu: '" +
         std::to_string(amount) + "'}}]}}}";
}

TEST(Queueing, QuotaThatIsExceededIsFound) {
  const std::string failure = failure_with(holds(5));
  EXPECT_NE(failure.find("cq/kept-queue uses 9 of f gpu"), std::string::npos) << failure;
}

TEST(Queueing, FindsWorkloadsWithOtherQuota) {
  const std::string failure = failure_with(holds(1));
  EXPECT_NE(failure.find("other quota"), std::string::npos) << failure;
}

TEST(Queueing, FindsWorkloadsInCircles) {
  const std::string failure = failure_with(
      "{status: {schedulingStats: {evictions: [{reason: Preempted, underlyingCause: '', count: "
      "31}]}}}");
  EXPECT_NE(failure.find("was preempted 31 times"), std::string::npos) << failure;
}

}  // namespace
}  // namespace athanor::sim
