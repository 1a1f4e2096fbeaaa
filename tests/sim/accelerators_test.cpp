// SPDX-License-Identifier: Apache-2.0
// Slices and zones on the simulator: what the scenes end with, and that their rules can fail.
#include <gtest/gtest.h>

#include <string>

#include "kube/text/json.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/slice_agents.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"

namespace athanor::sim {
namespace {

TEST(Slices, TheLastPodsHoldTheWholeGpus) {
  World world(slices_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  EXPECT_EQ(json::print(slices_as_seen(world)),
            R"({"pods":{"whole Running":2},"claims":{"7g.40gb inUse":2}})");
}

TEST(Slices, ASlotThatIsPromisedTwiceIsFound) {
  Scene scene = slices_scene();
  scene.actors.push_back({.at = std::chrono::minutes(1), .act = [](World& world) {
                            Value claim = from_yaml(
                                "{apiVersion: inference.redhat.com/v1alpha1, kind: "
                                "AllocationClaim, metadata: {name: twice, namespace: "
                                "das-operator}, spec: {profile: 1g.5gb, nodename: gpu-1, "
                                "migPlacement: {start: 0, size: 1}, podRef: {kind: Pod, name: x, "
                                "namespace: default, uid: somebody-else}}}");
                            claim.set_path({"spec", "gpuUUID"}, das::emulated_uuid("gpu-1", 0));
                            static_cast<void>(world.create(std::move(claim)));
                          }});
  World world(std::move(scene), 1);
  EXPECT_NE(world.run().failure.value_or("").find("promised twice"), std::string::npos);
}

TEST(SliceAgents, TheLastPodsHoldTheirSlices) {
  World world(slice_agents_scene(Mistake::None), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  const Value seen = slices_as_seen(world);
  EXPECT_EQ(json::print(seen["pods"]), R"({"small Running":3,"whole Running":1})");
  EXPECT_EQ(seen["claims"]["1g.5gb inUse"].as_int(), 3);
  EXPECT_EQ(seen["claims"]["7g.40gb inUse"].as_int(), 1);
  EXPECT_GT(outcome.occasions.at(static_cast<std::size_t>(Fault::AgentCrash)), 100U);
}

TEST(SliceExchange, HappensInTheScene) {
  World world(slice_exchange_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  EXPECT_EQ(json::print(slices_as_seen(world)),
            R"({"pods":{"small Running":2},"claims":{"1g.5gb inUse":2}})");
  int moved = 0;
  for (const Object& object : world.list(das::kAllocationClaim)) {
    // Claims are named for the pod that they were made for.
    const auto claim = das::read_claim(object);
    ASSERT_TRUE(claim.has_value());
    moved += object.name().find(claim->pod_uid) == std::string_view::npos ? 1 : 0;
  }
  EXPECT_GT(moved, 0) << "claims that went to another pod";
}

// Twelve of the agent's first steps, in shares that run side by side: `make sim` takes all of them,
// and a run costs some seconds.
class SliceExchangeCrashes : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kCrashShares = 4;
constexpr std::uint64_t kCrashesOfAShare = 3;
constexpr std::uint64_t kStepsApart = 5;

TEST_P(SliceExchangeCrashes, LoseNothing) {
  Tally tally;
  const Play& play = *play_named("slices-exchange");
  ASSERT_EQ(play.stride, 1U) << "no step is left out in the end";
  Comparison comparison(
      {.make = play.make, .seed = 1, .projection = play.projection, .tally = &tally}, play.storm);
  for (std::uint64_t i = 0; i < kCrashesOfAShare; ++i) {
    const std::uint64_t step = 1 + kStepsApart * (GetParam() + kCrashShares * i);
    SCOPED_TRACE(step);
    const auto finding = comparison.with({{.kind = Fault::AgentCrash, .occasion = step}});
    EXPECT_EQ(finding ? finding->text : "", "");
  }
  EXPECT_EQ(tally.faults.at(static_cast<std::size_t>(Fault::AgentCrash)), kCrashesOfAShare);
}

INSTANTIATE_TEST_SUITE_P(Shares, SliceExchangeCrashes,
                         testing::Range<std::uint64_t>(0, kCrashShares));

// Each mistake of an agent breaks its rule: in some run where agents die at their steps.
struct Broken {
  const char* name;
  Mistake mistake;
  const char* rule;
};
class MistakenAgent : public testing::TestWithParam<Broken> {};

TEST_P(MistakenAgent, IsFound) {
  std::string found;
  for (std::uint64_t seed = 1; seed <= 20 && found.empty(); ++seed) {
    Scene scene = slice_agents_scene(GetParam().mistake);
    scene.faults.agent_crash = 0.1;
    World world(std::move(scene), seed);
    found = world.run().failure.value_or("");
  }
  EXPECT_NE(found.find(GetParam().rule), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, MistakenAgent,
    testing::Values(
        Broken{"NoRecord", Mistake::NoRecord, "no slice stays without a claim"},
        Broken{"DestroysAll", Mistake::DestroysAll, "a running pod keeps its slices"},
        Broken{"FalseReboot", Mistake::FalseReboot, "is deleted at a start of its agent"},
        Broken{"FailsPods", Mistake::FailsPods, "no restart of ours ends a pod"},
        Broken{"Overstates", Mistake::Overstates, "published capacity exists"},
        Broken{"TrustsNames", Mistake::TrustsNames, "no slice stays without a claim"},
        Broken{"SkipsComparison", Mistake::SkipsComparison, "a running pod keeps its slices"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Zones, EveryZoneServesOneOfTheWidePods) {
  World world(zones_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  const Value seen = zones_as_seen(world);
  EXPECT_EQ(seen["pods"]["wide Running"].as_int(), 4) << json::print(seen);
  EXPECT_EQ(seen["topologies"].as_int(), 2);
}

TEST(Zones, LateExportersStallNothing) {
  World world(zones_late_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  EXPECT_EQ(zones_late_as_seen(world)["running"].as_int(), 4);  // 2 of 7 cpus, 2 of 3
}

}  // namespace
}  // namespace athanor::sim
