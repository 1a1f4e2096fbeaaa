// SPDX-License-Identifier: Apache-2.0
// Filter, prioritize, preempt and reserve over the systems' hooks, and what is pending between them
// (docs/spec/das.md 7.3, 7.4).
#include "extender/decisions.hpp"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "extender/cache_operator.hpp"
#include "extender/pending.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/scheduling/slice_hooks.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"
#include "systems/numa/scheduling/session.hpp"

namespace athanor::extender::decisions_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class DecisionsTest : public testing::Test {
 protected:
  DecisionsTest() {
    das::Settings settings;
    settings.emulated_mode = "enabled";
    world.configure("das", api::encode(settings));
    world.configure("numa", from_yaml("{extenderProfile: zones}"));
    world.put(
        from_yaml("{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: "
                  "{name: cluster, namespace: das-operator}, spec: {}}"));
  }
  Object node(const std::string& name, const std::string& capable = "true") {
    const Object made = world.put(
        from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                  ", labels: {nvidia.com/mig.capable: '" + capable +
                  "', athanor.dev/emulated: 'true'}}, status: {allocatable: {cpu: 32, memory: "
                  "64Gi}}}"));
    world.settle({&das::agent_operator(), &watching.get()});
    return made;
  }
  Object pod(const std::string& name, const std::string& limits, int priority = 0,
             const std::string& scheduler = "other") {
    return world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                               ", namespace: ns}, spec: {schedulerName: " + scheduler +
                               ", priority: " + std::to_string(priority) +
                               ", containers: [{name: c, resources: {requests: {" + limits +
                               "}, limits: {" + limits + "}}}]}}"));
  }
  // One question with what is pending now.
  template <class Ask>
  auto with(const Ask& ask) {
    Reads base_reads;
    const View base(world, base_reads);
    pending.settle(base, world.now);
    const Overlay overlay(base, pending, watching.get().indexes);
    Reads reads;
    const View view(overlay, reads);
    Decisions decisions(view, world.now, hooks, rooms);
    return ask(decisions);
  }
  FilterAnswer filter(const Object& waiting, const std::vector<std::string>& names) {
    return with([&](Decisions& one) { return one.filter({.pod = waiting, .names = names}); });
  }
  // As a bind that is under way: nothing reaches the world yet.
  Result<Plan> promise(const Object& waiting, const std::string& on) {
    auto plan = with([&](Decisions& one) {
      return one.reserve(waiting, world.must(api::kNode, {"", on}));
    });
    if (plan.ok()) {
      for (const Step& step : plan->steps()) {
        if (const auto* create = std::get_if<Create>(&step)) {
          pending.put(*create->target.kind, Object(create->object));
        }
      }
      Value bound = waiting.body();
      bound.set_path({"spec", "nodeName"}, on);
      pending.put(api::kPod, Object(bound));
    }
    return plan;
  }
  // Writes everything, and the binding.
  void place(const Object& waiting, const std::string& on) {
    const auto plan = with([&](Decisions& one) {
      return one.reserve(waiting, world.must(api::kNode, {"", on}));
    });
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_TRUE(world.apply(*plan).ok());
    world.update(api::kPod, waiting.key(), [&](Value& object) {
      object.set_path({"spec", "nodeName"}, on);
    });
  }

  test::FakeWorld world{};
  std::vector<const SchedulingHooks*> hooks{&das::mig_scheduling(), &numa::numa_scheduling()};
  Watching watching{hooks};
  Pending pending{};
  KeptRooms rooms{};
};

TEST_F(DecisionsTest, FilterMarksNodesThatPreemptionCannotHelp) {
  node("n1");
  node("n2", "false");
  const FilterAnswer answer = filter(pod("p", "mig.das.com/1g.5gb: 1"), {"n1", "n2", "gone"});
  EXPECT_EQ(answer.passed, std::vector<std::string>{"n1"});
  EXPECT_EQ(answer.unresolvable.at("n2"), "node not MIG capable");
  EXPECT_EQ(answer.failed.at("gone"), "node not found");
}

TEST_F(DecisionsTest, PodsWithoutSlicesPassEverywhere) {
  node("n1", "false");
  EXPECT_EQ(filter(pod("p", "cpu: 1"), {"n1", "x"}).passed, (std::vector<std::string>{"n1", "x"}));
  const Points points = with(
      [&](Decisions& one) { return one.prioritize({.pod = pod("q", "cpu: 1"), .names = {"n1"}}); });
  EXPECT_EQ(points, (Points{{"n1", 0}}));
}

// docs/spec/das.md 7.3 X4: floor(10 x free/total).
TEST_F(DecisionsTest, PrioritizeGivesTenths) {
  node("n1");
  node("n2");
  place(pod("big", "mig.das.com/7g.40gb: 1"), "n2");
  const Object waiting = pod("p", "mig.das.com/3g.20gb: 1");
  const Points points = with([&](Decisions& one) {
    return one.prioritize({.pod = waiting, .names = {"n1", "n2", "unknown"}});
  });
  EXPECT_EQ(points, (Points{{"n1", 7}, {"n2", 2}, {"unknown", 0}}));
}

// docs/spec/das.md 7.3 X5: the next pod's filter comes before the previous binding ended.
TEST_F(DecisionsTest, PromisesNoSlotTwiceDuringBindings) {
  node("n1");
  std::set<std::pair<std::string, std::int64_t>> slots;
  for (int i = 0; i < 14; ++i) {
    const Object waiting = pod("p" + std::to_string(i), "mig.das.com/1g.5gb: 1");
    const auto plan = promise(waiting, "n1");
    ASSERT_TRUE(plan.ok()) << i << plan.error().message;
    for (const Step& step : plan->steps()) {
      if (const auto* create = std::get_if<Create>(&step)) {
        const Value& spec = create->object["spec"];
        EXPECT_TRUE(
            slots.emplace(spec["gpuUUID"].str(), spec["migPlacement"]["start"].as_int()).second);
      }
    }
  }
  EXPECT_EQ(slots.size(), 14U);
  const Object late = pod("late", "mig.das.com/1g.5gb: 1");
  EXPECT_EQ(filter(late, {"n1"}).failed.at("n1"), "no GPU available");
  const auto refused = promise(late, "n1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no GPU available");
}

TEST_F(DecisionsTest, ForgetsPendingOnceCachesShowIt) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/7g.40gb: 2");
  const auto plan = promise(waiting, "n1");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(pending.size(), 3U);
  ASSERT_TRUE(world.apply(*plan).ok());
  world.update(api::kPod, waiting.key(), [](Value& object) {
    object.set_path({"spec", "nodeName"}, "n1");
  });
  EXPECT_EQ(filter(pod("q", "mig.das.com/1g.5gb: 1"), {"n1"}).failed.size(), 1U);
  EXPECT_EQ(pending.size(), 3U) << "its writes are under way";
  EXPECT_FALSE(pending.answered());
  for (const Step& step : plan->steps()) {
    if (const auto* create = std::get_if<Create>(&step)) {
      pending.until(*create->target.kind, create->target.key, world.now + kPendingLife);
    }
  }
  pending.until(api::kPod, waiting.key(), world.now + kPendingLife);
  EXPECT_TRUE(pending.answered());
  EXPECT_EQ(filter(pod("r", "mig.das.com/1g.5gb: 1"), {"n1"}).failed.size(), 1U);
  EXPECT_EQ(pending.size(), 0U);
}

// The claim of a pod that ended at once may never be seen in a cache.
TEST_F(DecisionsTest, ForgetsUnseenPendingInTime) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/7g.40gb: 2");
  const auto plan = promise(waiting, "n1");
  ASSERT_TRUE(plan.ok());
  for (const Step& step : plan->steps()) {
    if (const auto* create = std::get_if<Create>(&step)) {
      pending.until(*create->target.kind, create->target.key, world.now + kPendingLife);
    }
  }
  pending.until(api::kPod, waiting.key(), world.now + kPendingLife);
  const Object other = pod("q", "mig.das.com/1g.5gb: 1");
  EXPECT_EQ(filter(other, {"n1"}).failed.size(), 1U);
  world.advance(kPendingLife);
  EXPECT_EQ(filter(other, {"n1"}).passed.size(), 1U);
}

// A crash between claims and binding: the same pod's claims are kept, and its next attempt writes
// nothing anew (docs/spec/das.md 7.4).
TEST_F(DecisionsTest, AnAttemptAfterACrashFindsItsClaims) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/2g.10gb: 1");
  const auto first = with([&](Decisions& one) {
    return one.reserve(waiting, world.must(api::kNode, {"", "n1"}));
  });
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(world.apply(*first).ok());
  const auto second = with([&](Decisions& one) {
    return one.reserve(waiting, world.must(api::kNode, {"", "n1"}));
  });
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->steps().empty()) << second->to_value()["steps"].size();
  EXPECT_EQ(world.count(das::kAllocationClaim), 1U);
}

TEST_F(DecisionsTest, PreemptAddsTheVictimsThatFreeSlots) {
  node("n1");
  const Object low = pod("low", "mig.das.com/7g.40gb: 1", 1);
  const Object lower = pod("lower", "mig.das.com/7g.40gb: 1", 0);
  const Object plain = pod("plain", "cpu: 1", 0);
  place(low, "n1");
  place(lower, "n1");
  place(plain, "n1");
  const Object high = pod("high", "mig.das.com/3g.20gb: 1", 10);
  const auto ask = [&](const Object& waiting, const std::vector<std::string>& given) {
    return with([&](Decisions& one) {
      return one.preempt({.pod = waiting, .nodes = {{"n1", {.uids = given}}}});
    });
  };
  // The scheduler's own choice frees no slot: the least important pod with slices is added.
  const auto answer = ask(high, {std::string(plain.uid())});
  ASSERT_TRUE(answer.contains("n1"));
  EXPECT_EQ(answer.at("n1").uids,
            (std::vector<std::string>{std::string(plain.uid()), std::string(lower.uid())}));
  // A choice that suffices stays as it is.
  EXPECT_EQ(ask(high, {std::string(low.uid())}).at("n1").uids,
            std::vector<std::string>{std::string(low.uid())});
  // Nobody of lower priority is there: the node is left out (docs/spec/das.md 7.3 X9).
  EXPECT_TRUE(ask(pod("same", "mig.das.com/3g.20gb: 1", 0), {std::string(plain.uid())}).empty());
}

// Where the hooks alone refuse a pod kube-scheduler finds no victims and asks for none.
TEST_F(DecisionsTest, MakesRoomWhereTheLeastIsLost) {
  node("n1");
  node("n2");
  const auto fill = [&](const std::string& name, const std::string& on, int priority) {
    Object one = pod(name, "mig.das.com/4g.20gb: 1", priority);
    place(one, on);
    return one;
  };
  const Object dear = fill("dear", "n1", 5);
  fill("cheap", "n1", 1);
  const Object other = fill("other", "n2", 2);
  fill("last", "n2", 2);
  place(pod("plain", "cpu: 1"), "n1");
  const std::vector<std::string> nodes{"n1", "n2"};
  const auto ask = [&](const Object& waiting) {
    return with([&](Decisions& one) { return one.make_room(waiting, nodes); });
  };
  const auto names = [](const Room& room) {
    std::set<std::string> all;
    for (const Object& victim : room.victims) {
      all.emplace(victim.name());
    }
    return all;
  };
  const auto one = ask(pod("urgent", "mig.das.com/7g.40gb: 1", 10));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->node, "n1");
  EXPECT_EQ(names(*one), std::set<std::string>{"cheap"});
  // Both GPUs of a node: the most important victim decides, not the sum.
  const Object two = pod("two", "mig.das.com/7g.40gb: 2", 10);
  const auto both = ask(two);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->node, "n2");
  EXPECT_EQ(names(*both), (std::set<std::string>{"last", "other"}));
  EXPECT_FALSE(ask(pod("equal", "mig.das.com/7g.40gb: 1", 1)));
  EXPECT_FALSE(ask(pod("plain-2", "cpu: 1", 10)));
  const Object polite = pod("polite", "mig.das.com/7g.40gb: 1", 10);
  world.update(api::kPod, polite.key(), [](Value& object) {
    object.set_path({"spec", "preemptionPolicy"}, "Never");
  });
  EXPECT_FALSE(ask(world.must(api::kPod, polite.key())));
  // What leaves is not preempted again, and while it makes room nothing else is.
  world.update(api::kPod, other.key(), [](Value& object) {
    object.set_path({"metadata", "deletionTimestamp"}, "2026-01-01T00:00:00Z");
  });
  EXPECT_FALSE(ask(pod("next", "mig.das.com/7g.40gb: 1", 10)));
  const auto rest = ask(two);
  ASSERT_TRUE(rest);
  EXPECT_EQ(names(*rest), std::set<std::string>{"last"});
}

// docs/spec/numa.md 11.8: the victims free one zone.
TEST_F(DecisionsTest, MakesRoomInOneZone) {
  node("n1");
  std::vector<Key> counted;
  std::vector<numa::PlacedContainer> placed;
  for (const auto& [name, zone] : {std::pair{"left", 0}, {"right", 1}, {"small", 1}}) {
    const Object one =
        pod(name, name == std::string("small") ? "cpu: 1, memory: 1Gi" : "cpu: 4, memory: 1Gi", 0,
            "zones");
    world.update(api::kPod, one.key(), [](Value& object) {
      object.set_path({"spec", "nodeName"}, "n1");
    });
    counted.push_back(one.key());
    placed.push_back({{"ns", name, "c"}, zone});
  }
  const numa::PackedPlacement packed = numa::pack_placement(placed, 2);
  Value topology = from_yaml(R"({apiVersion: topology.node.k8s.io/v1alpha2,
    kind: NodeResourceTopology, metadata: {name: n1}, attributes: [
      {name: topologyManagerPolicy, value: single-numa-node},
      {name: nodeTopologyPodsFingerprintMethod, value: with-exclusive-resources}], zones: [
    {name: node-0, type: Node, resources: [
      {name: cpu, capacity: 8, allocatable: 8, available: 4},
      {name: memory, capacity: 8Gi, allocatable: 8Gi, available: 7Gi}]},
    {name: node-1, type: Node, resources: [
      {name: cpu, capacity: 8, allocatable: 8, available: 3},
      {name: memory, capacity: 8Gi, allocatable: 8Gi, available: 6Gi}]}]})");
  const auto attribute = [](const char* name, const std::string& value) {
    return Value::object({{"name", name}, {"value", value}});
  };
  topology.member("attributes")
      .push_back(attribute("nodeTopologyPodsFingerprint",
                           numa::fingerprint_of(std::span<const Key>(counted))));
  topology.member("attributes")
      .push_back(attribute("topology.node.k8s.io/numaplacement-metadata", packed.metadata));
  for (const auto& [zone, vector] : packed.vectors) {
    topology.member("zones")
        .item(static_cast<std::size_t>(zone))
        .set("attributes",
             Value::list({attribute("topology.node.k8s.io/numaplacement-vector", vector)}));
  }
  world.put(topology);
  const Object urgent = pod("urgent", "cpu: 7, memory: 1Gi", 10, "zones");
  const std::vector<std::string> nodes{"n1"};
  EXPECT_EQ(filter(urgent, nodes).failed.at("n1"), "cannot align container");
  const auto victims = [&](const char* preemption) {
    world.configure("numa", from_yaml(std::string("{extenderProfile: zones, extenderPreemption: ") +
                                      preemption + "}"));
    const auto room = with([&](Decisions& one) { return one.make_room(urgent, nodes); });
    std::string names;
    for (const Object& victim : room ? room->victims : std::vector<Object>()) {
      names += std::string(victim.name()) + " ";
    }
    return names;
  };
  EXPECT_EQ(victims("true").find("small"), std::string::npos) << victims("true");
  EXPECT_EQ(victims("true").size(), 5U) << victims("true");
  EXPECT_EQ(victims("false"), "");
}

// docs/spec/numa.md 11.6: a pod whose binding is under way, by the cache of --zones-cache.
TEST_F(DecisionsTest, ThreeCachesOfZones) {
  node("n1");
  world.put(from_yaml(R"({apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology,
    metadata: {name: n1}, attributes: [{name: topologyManagerPolicy, value: single-numa-node}],
    zones: [{name: node-0, type: Node, resources: [
      {name: cpu, capacity: 8, allocatable: 8, available: 8},
      {name: memory, capacity: 8Gi, allocatable: 8Gi, available: 8Gi}]}]})"));
  const Object first = pod("first", "cpu: 6, memory: 1Gi", 0, "zones");
  world.update(api::kPod, first.key(), [](Value& object) {
    object.set_path({"spec", "nodeName"}, "n1");
    object.set_path({"status", "phase"}, "Pending");
  });
  const Object second = pod("second", "cpu: 6, memory: 1Gi", 0, "zones");
  const auto verdict = [&](const std::string& cache) {
    world.configure("numa", from_yaml("{extenderProfile: zones, extenderCache: " + cache + "}"));
    const FilterAnswer answer = filter(second, {"n1"});
    return answer.passed.empty() ? answer.failed.at("n1") : "passes";
  };
  EXPECT_EQ(verdict("over-reserve"), "cannot align container");
  EXPECT_EQ(verdict("passthrough"), "passes");
  EXPECT_EQ(verdict("discard-reserved"), "invalid node topology data");
  world.update(api::kPod, first.key(), [](Value& object) {
    object.set_path({"status", "conditions"}, from_yaml("[{type: PodScheduled, status: 'True'}]"));
  });
  EXPECT_EQ(verdict("discard-reserved"), "passes") << "bound, and not in the object yet";
}

// A pod that waits as well may be tried before the preemptor once the victims are gone.
TEST_F(DecisionsTest, RoomIsKeptForThePreemptor) {
  node("n1");
  place(pod("low", "mig.das.com/7g.40gb: 1", 0), "n1");
  place(pod("lower", "mig.das.com/7g.40gb: 1", 0), "n1");
  const Object urgent = pod("urgent", "mig.das.com/7g.40gb: 1", 10);
  const std::vector<std::string> nodes{"n1"};
  const auto room = with([&](Decisions& one) { return one.make_room(urgent, nodes); });
  ASSERT_TRUE(room);
  for (const Object& victim : room->victims) {
    for (const Step& step : eviction_steps(victim, urgent, "n1", world.now)) {
      Plan plan;
      plan.then(step);
      ASSERT_TRUE(world.apply(plan).ok());
    }
  }
  for (const Object& claim : world.list(das::kAllocationClaim, {})) {
    if (claim.spec()["podRef"]["uid"].as_string() == room->victims.front().uid()) {
      Plan plan;
      plan.then(Delete{.target = {&das::kAllocationClaim, claim.key()}});
      ASSERT_TRUE(world.apply(plan).ok());
    }
  }
  const auto passes = [&](const Object& waiting) {
    return with([&](Decisions& one) {
             return one.filter({.pod = waiting, .names = nodes}).passed;
           }) == nodes;
  };
  const Object other = pod("other", "mig.das.com/1g.5gb: 1", 0);
  EXPECT_TRUE(filter(other, nodes).passed == nodes) << "the slots are free";
  rooms.keep(urgent, *room, world.now);
  EXPECT_FALSE(passes(other));
  EXPECT_FALSE(passes(pod("equal", "mig.das.com/1g.5gb: 1", 10)));
  EXPECT_TRUE(passes(pod("higher", "mig.das.com/1g.5gb: 1", 11)));
  EXPECT_TRUE(passes(pod("plain", "cpu: 1", 0)));
  EXPECT_TRUE(passes(urgent));
  const auto reserved = with([&](Decisions& one) {
    return one.reserve(other, world.must(api::kNode, {"", "n1"}));
  });
  ASSERT_FALSE(reserved.ok());
  EXPECT_EQ(reserved.error().message, "pods were preempted here for pod \"ns/urgent\"");

  const auto settle = [&](Instant now) {
    Reads reads;
    rooms.settle(View(world, reads), now);
  };
  settle(world.now + std::chrono::seconds(44));
  EXPECT_FALSE(passes(other)) << "30 s until the victims are gone, 15 s to be bound";
  KeptRooms until_bound = rooms;
  settle(world.now + std::chrono::seconds(45));
  EXPECT_TRUE(passes(other));
  rooms = until_bound;
  place(urgent, "n1");
  settle(world.now);
  EXPECT_FALSE(rooms.kept_from(other, "n1"));
}

TEST_F(DecisionsTest, VictimsAreMarkedDeletedAndReported) {
  const Object victim = pod("low", "mig.das.com/7g.40gb: 1", 1);
  const Object urgent = pod("urgent", "mig.das.com/7g.40gb: 1", 10);
  for (const Step& step : eviction_steps(victim, urgent, "n1", world.now)) {
    Plan plan;
    plan.then(step);
    ASSERT_TRUE(world.apply(plan).ok());
    if (std::holds_alternative<Status>(step)) {
      const Value& conditions = world.must(api::kPod, victim.key()).status()["conditions"];
      EXPECT_EQ(find_condition(conditions, "DisruptionTarget")["reason"].str(),
                "PreemptionByScheduler");
    }
  }
  EXPECT_FALSE(world.get(api::kPod, victim.key()));
  const std::vector<Object> events = world.list(api::kEvent, {});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].body()["message"].str(),
            "Preempted by pod " + std::string(urgent.uid()) + " on node n1");
  EXPECT_EQ(events[0].body()["involvedObject"]["uid"].str(), victim.uid());
}

// One process serves slices and zones.
TEST_F(DecisionsTest, ZonesAreJudgedForTheirProfile) {
  node("n1");
  world.put(from_yaml(R"({apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology,
    metadata: {name: n1},
    attributes: [{name: topologyManagerPolicy, value: single-numa-node},
                 {name: topologyManagerScope, value: container}],
    zones: [{name: node-0, type: Node, resources: [
        {name: cpu, capacity: '8', allocatable: '8', available: '8'},
        {name: memory, capacity: 16Gi, allocatable: 16Gi, available: 16Gi}]},
      {name: node-1, type: Node, resources: [
        {name: cpu, capacity: '8', allocatable: '8', available: '8'},
        {name: memory, capacity: 16Gi, allocatable: 16Gi, available: 16Gi}]}]})"));
  const Object wide = pod("wide", "cpu: 12, memory: 1Gi", 0, "zones");
  EXPECT_EQ(filter(wide, {"n1"}).failed.at("n1"), "cannot align container");
  const Object narrow = pod("narrow", "cpu: 6, memory: 1Gi", 0, "zones");
  EXPECT_EQ(filter(narrow, {"n1"}).passed.size(), 1U);
  EXPECT_EQ(filter(pod("foreign", "cpu: 12, memory: 1Gi", 0, "another"), {"n1"}).passed.size(), 1U);
}

}  // namespace
}  // namespace athanor::extender::decisions_test
