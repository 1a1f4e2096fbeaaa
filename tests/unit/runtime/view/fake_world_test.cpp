// SPDX-License-Identifier: Apache-2.0
// The test double's own behaviour: what controllers' tests rely on.
#include "support/fake_world.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"

namespace athanor::test::fake_world_test {
namespace {

using api::kConfigMap;
using api::kPod;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok());
  return value.value_or({});
}

Value config_map(std::string_view name, std::string_view extra = "{}") {
  Value object = parsed(extra);
  object.set("apiVersion", "v1");
  object.set("kind", "ConfigMap");
  object.set_path({"metadata", "name"}, name);
  object.set_path({"metadata", "namespace"}, "a");
  return object;
}

// Makes a pod "NAME-pod" for each ConfigMap with data.pods "yes", and counts its runs in nothing.
Plan make_pods(const View& view, const Key& key, Instant now) {
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return Plan::done();
  }
  Plan plan;
  if (map->body()["data"]["wait"].as_string() == "yes") {
    plan.wake_at(now + std::chrono::seconds(60));
  }
  const Key pod{key.ns, key.name + "-pod"};
  if (map->body()["data"]["pods"].as_string() == "yes" && !view.get(kPod, pod)) {
    Value object = parsed(R"({"spec": {"containers": []}})");
    object.set_path({"metadata", "ownerReferences"},
                    Value::list({OwnerReference{.api_version = "v1",
                                                .kind = "ConfigMap",
                                                .name = key.name,
                                                .uid = std::string(map->uid()),
                                                .controller = true}
                                     .to_value()}));
    plan.then(Create{.target = {&kPod, pod}, .object = object});
  }
  return plan;
}

constexpr const Kind* kReads[] = {&kConfigMap, &kPod};
constexpr const Kind* kWrites[] = {&kPod};
const Operator kMaker{.name = "maker",
                      .primary = &kConfigMap,
                      .reads = kReads,
                      .writes = kWrites,
                      .reconcile = make_pods};

TEST(FakeWorld, SettlesToFixedPointAndRestoresDeletedObjects) {
  FakeWorld world;
  world.put(config_map("m", R"({"data": {"pods": "yes"}})"));
  EXPECT_EQ(world.settle({&kMaker}), 1);
  EXPECT_TRUE(world.has(kPod, {"a", "m-pod"}));
  EXPECT_EQ(world.settle({&kMaker}), 0);
  world.remove(kPod, {"a", "m-pod"});
  EXPECT_EQ(world.settle({&kMaker}), 1) << "absence is a tracked read";
  EXPECT_TRUE(world.has(kPod, {"a", "m-pod"}));
}

TEST(FakeWorld, DeletingAnOwnerTakesItsDependents) {
  FakeWorld world;
  world.put(config_map("m", R"({"data": {"pods": "yes"}})"));
  world.settle({&kMaker});
  world.remove(kConfigMap, {"a", "m"});
  EXPECT_FALSE(world.has(kPod, {"a", "m-pod"}));
}

TEST(FakeWorld, AnOrphanKeepsLivingWithoutTheReference) {
  FakeWorld world;
  world.put(config_map("m", R"({"data": {"pods": "yes"}})"));
  world.settle({&kMaker});
  world.remove(kConfigMap, {"a", "m"}, Propagation::Orphan);
  EXPECT_TRUE(world.must(kPod, {"a", "m-pod"}).owners().empty());
}

TEST(FakeWorld, FinalizersKeepAnObjectDeleting) {
  FakeWorld world;
  world.put(config_map("m", R"({"metadata": {"finalizers": ["x/y"]}})"));
  world.remove(kConfigMap, {"a", "m"});
  EXPECT_TRUE(world.must(kConfigMap, {"a", "m"}).deleting());
  Plan plan;
  plan.then(Patch{.target = {&kConfigMap, {"a", "m"}},
                  .merge = parsed(R"({"metadata": {"finalizers": null}})")});
  EXPECT_TRUE(world.apply(plan).ok());
  EXPECT_FALSE(world.has(kConfigMap, {"a", "m"}));
}

TEST(FakeWorld, MergesAppliedFieldsAndDropsFormerOnes) {
  FakeWorld world;
  world.put(config_map("m", R"({"data": {"foreign": "1"}})"));
  Plan first;
  first.then(Apply{.target = {&kConfigMap, {"a", "m"}},
                   .fields = parsed(R"({"data": {"a": "1", "b": "2"}})")});
  Plan second;
  second.then(
      Apply{.target = {&kConfigMap, {"a", "m"}}, .fields = parsed(R"({"data": {"a": "1"}})")});
  ASSERT_TRUE(world.apply(first).ok());
  ASSERT_TRUE(world.apply(second).ok());
  EXPECT_EQ(world.must(kConfigMap, {"a", "m"}).body()["data"],
            parsed(R"({"foreign": "1", "a": "1"})"));
  const auto written = world.writes.size();
  ASSERT_TRUE(world.apply(second).ok());
  EXPECT_EQ(world.writes.size(), written) << "a no-op is no write";
}

TEST(FakeWorld, RaisesGenerationWithSpecNotWithStatus) {
  FakeWorld world;
  world.put(
      parsed(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
                       "spec": {"nodeName": ""}})"));
  Plan status;
  status.then(Status{.target = {&kPod, {"a", "p"}}, .status = parsed(R"({"phase": "Running"})")});
  ASSERT_TRUE(world.apply(status).ok());
  EXPECT_EQ(world.must(kPod, {"a", "p"}).generation(), 1);
  world.update(kPod, {"a", "p"}, [](Value& pod) { pod.set_path({"spec", "priority"}, 5); });
  EXPECT_EQ(world.must(kPod, {"a", "p"}).generation(), 2);
}

TEST(FakeWorld, AGuardRefusesAnotherUid) {
  FakeWorld world;
  world.put(config_map("m"));
  Plan plan;
  plan.then(Delete{.target = {&kConfigMap, {"a", "m"}}, .guard = {.uid = "other"}});
  const auto applied = world.apply(plan);
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().code, 409);
  EXPECT_TRUE(world.has(kConfigMap, {"a", "m"}));
}

TEST(FakeWorld, TimePassesFromWakeToWake) {
  FakeWorld world;
  world.put(config_map("m", R"({"data": {"wait": "yes"}})"));
  const Instant start = world.now;
  world.settle({&kMaker});
  ASSERT_TRUE(world.next_wake().has_value());
  EXPECT_EQ(*world.next_wake(), start + std::chrono::seconds(60));
  world.settle_for({&kMaker}, std::chrono::seconds(90));
  EXPECT_EQ(world.now, start + std::chrono::seconds(90));
  EXPECT_EQ(*world.next_wake(), start + std::chrono::seconds(120));
}

TEST(FakeWorld, GracefulPodsWaitForTheirKubelet) {
  FakeWorld world;
  world.graceful_pods = true;
  world.put(
      parsed(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
                       "spec": {"nodeName": "n"}, "status": {"phase": "Running"}})"));
  world.remove(kPod, {"a", "p"});
  EXPECT_TRUE(world.must(kPod, {"a", "p"}).deleting());
  Plan plan;
  plan.then(Delete{.target = {&kPod, {"a", "p"}}, .grace_seconds = 0});
  ASSERT_TRUE(world.apply(plan).ok());
  EXPECT_FALSE(world.has(kPod, {"a", "p"}));
}

TEST(FakeWorld, RunsActOnceAndObservesItsAnswer) {
  FakeWorld world;
  world.executors["start"] = [](FakeWorld&, const Act& act) -> Result<Value> { return act.args; };
  Plan plan;
  plan.then(Act{.id = "1", .verb = "start", .args = 7});
  ASSERT_TRUE(world.apply(plan).ok());
  ASSERT_TRUE(world.apply(plan).ok());
  EXPECT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.observe("start:1", {}).value, Value(7));
}

}  // namespace
}  // namespace athanor::test::fake_world_test
