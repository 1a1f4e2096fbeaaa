// SPDX-License-Identifier: Apache-2.0
// AppWrappers on the simulator: what becomes of each, and that the rules can fail.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "api/kueue.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "sim/properties/properties.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/appwrapper/model/kinds.hpp"

namespace athanor::sim {
namespace {

using appwrapper::kAppWrapper;

// What the rules say once `act` has happened, 35 s after the start.
std::string failure_after(std::function<void(World&)> act) {
  Scene scene = appwrapper_scene();
  scene.actors.push_back({.at = std::chrono::seconds(35), .act = std::move(act)});
  World world(std::move(scene), 1);
  return world.run().failure.value_or("");
}

TEST(AppWrapperSim, EachEndsAsItShould) {
  World world(appwrapper_scene(), 1);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure.value_or(""), "");
  const Value seen = appwrappers_as_seen(world);
  EXPECT_EQ(
      json::print(seen["apps"]),
      R"({"batch":"Succeeded 0","flaky":"Failed 1","gang":"Succeeded 0","late":"Succeeded 0",)"
      R"("named":"Succeeded 0","scarce":"Failed 1","service":"Running 0","urgent":"Succeeded 0"})");
  EXPECT_EQ(json::print(seen["objects"]), R"({"Job":4,"Deployment":1,"ConfigMap":1,"PodGroup":1})");
  EXPECT_GT(outcome.invariants.at("quota of an AppWrapper is held while its objects may exist"),
            100U);
}

TEST(AppWrapperSim, MeetsEachKindOfTrouble) {
  std::set<std::string> seen;
  Scene scene = appwrapper_scene();
  scene.watch = [&](const World& world, std::span<const store::EventPtr>) {
    for (const Object& app : world.list(kAppWrapper)) {
      const Value& conditions = app.status()["conditions"];
      if (const Value& unhealthy = find_condition(conditions, "Unhealthy");
          unhealthy["status"].as_string() == "True") {
        seen.insert(fmt::format("{} {}", app.name(), unhealthy["reason"].as_string()));
      }
      seen.insert(fmt::format("{} {}", app.name(), app.status()["phase"].as_string()));
    }
  };
  World world(std::move(scene), 1);
  EXPECT_EQ(world.run().failure.value_or(""), "");
  for (const char* wanted : {"flaky FailedComponent", "scarce InsufficientPodsReady",
                             "scarce Resetting", "brief Succeeded", "doomed Terminating"}) {
    EXPECT_TRUE(seen.contains(wanted)) << wanted;
  }
  EXPECT_TRUE(std::ranges::any_of(seen, [](const std::string& one) {
    return one.ends_with("AutopilotNoExecute");
  })) << "pods leave a marked node";
}

TEST(AppWrapperSim, SurvivesEveryCrash) {
  EXPECT_EQ(check_crashes(appwrapper_reset_scene, 5, 5, appwrappers_as_seen).value_or(""), "");
}

TEST(AppWrapperSim, AnObjectThatIsThereTwiceIsFound) {
  const std::string found = failure_after([](World& world) {
    const auto app = world.get(kAppWrapper, {"default", "batch"});
    ASSERT_TRUE(app.has_value());
    Value second = from_yaml(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: default, "
        "ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: "
        "batch, controller: true}]}}");
    second.member("metadata").member("ownerReferences").item(0).set("uid", app->uid());
    ASSERT_TRUE(world.create(std::move(second)).ok());
  });
  EXPECT_NE(found.find("batch wraps 1 of kind ConfigMap, and there are 2"), std::string::npos)
      << found;
}

TEST(AppWrapperSim, TooManyResetsAreFound) {
  const std::string found = failure_after([](World& world) {
    ASSERT_TRUE(world
                    .patch(kAppWrapper, {"default", "batch"},
                           from_yaml("{status: {resettingCount: 4}}"), "status")
                    .ok());
  });
  EXPECT_NE(found.find("batch was reset 4 times of 3"), std::string::npos) << found;
}

// What is found if someone else starts the failed "flaky" again at this time.
std::string failure_after_a_restart(Duration at) {
  Scene scene = appwrapper_scene();
  scene.actors.push_back({.at = at, .act = [](World& world) {
                            const auto app = world.get(kAppWrapper, {"default", "flaky"});
                            ASSERT_TRUE(app.has_value());
                            ASSERT_EQ(app->status()["phase"].as_string(), "Failed");
                            ASSERT_TRUE(world
                                            .patch(kAppWrapper, {"default", "flaky"},
                                                   from_yaml("{status: {phase: Suspended}}"),
                                                   "status")
                                            .ok());
                          }});
  World world(std::move(scene), 1);
  return world.run().failure.value_or("");
}

TEST(AppWrapperSim, OneThatRunsAgainIsFound) {
  // Before the user's wish to try it again.
  EXPECT_THAT(failure_after_a_restart(std::chrono::seconds(290)),
              testing::HasSubstr("flaky was Failed, and is Suspended"));
}

TEST(AppWrapperSim, FindsComponentRetriedTwiceForOneWish) {
  // Behind the end of the second try.
  EXPECT_THAT(failure_after_a_restart(std::chrono::minutes(15)),
              testing::HasSubstr("flaky was Failed, and is Suspended"));
}

TEST(AppWrapperSim, ObjectsWithoutQuotaAreFound) {
  const std::string found = failure_after([](World& world) {
    // The quota is handed on while pods run.
    for (const Object& workload : world.list(api::kueue::kWorkload, "default")) {
      if (workload.controller()->name == "batch") {
        ASSERT_TRUE(world
                        .patch(api::kueue::kWorkload, workload.key(),
                               from_yaml("{status: {conditions: [{type: QuotaReserved, status: "
                                         "'False', reason: Pending, message: '', "
                                         "lastTransitionTime: '2026-01-05T00:00:00Z'}]}}"),
                               "status")
                        .ok());
      }
    }
  });
  EXPECT_NE(found.find("of batch is there without quota"), std::string::npos) << found;
}

}  // namespace
}  // namespace athanor::sim
