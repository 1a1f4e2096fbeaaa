// SPDX-License-Identifier: Apache-2.0
// Slices and zones on the simulator: what the scenes end with, and that their rules can fail.
#include <gtest/gtest.h>

#include <string>

#include "kube/text/json.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/placement/inventory.hpp"

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
