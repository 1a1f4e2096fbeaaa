// SPDX-License-Identifier: Apache-2.0
// From a pod that asks for slices to the end of its claims: scheduler, agent and claims together
// (docs/spec/das.md 3, 6, 8, 9, 17).
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/operators.hpp"
#include "systems/das/scheduling/slice_hooks.hpp"
#include "systems/das/scheduling/wake.hpp"

namespace athanor::das::life_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class LifeTest : public testing::Test {
 protected:
  LifeTest() {
    Settings settings;
    settings.emulated_mode = "enabled";
    world.configure(kSettingsSection, api::encode(settings));
    world.put(
        from_yaml("{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: "
                  "{name: cluster, namespace: das-operator}, spec: {}}"));
  }
  Object node(const std::string& name, const std::string& annotations = "") {
    const Object made = world.put(
        from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                  ", labels: {nvidia.com/mig.capable: 'true', athanor.dev/emulated: 'true'}, "
                  "annotations: {" +
                  annotations + "}}}"));
    world.settle({&agent_operator()});
    return made;
  }
  Object pod(const std::string& name, const std::string& limits,
             const std::string& annotations = "") {
    return world.put(
        from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                  ", namespace: ns, annotations: {" + annotations +
                  "}}, spec: {schedulerName: das-scheduler, containers: [{name: c, resources: "
                  "{limits: {" +
                  limits + "}}}]}}"));
  }
  // One scheduling cycle for one pod; empty: reserved, else the reason.
  std::string schedule(const Object& waiting, const std::string& on, bool carry_out = true) {
    Reads reads;
    const View view(indexed, reads);
    const auto session = mig_scheduling().begin(view, world.now);
    if (!session->concerns(waiting)) {
      return "not concerned";
    }
    const Object place = world.must(api::kNode, {"", on});
    if (const auto refusal = session->filter(waiting, place, {})) {
      return refusal->reason;
    }
    const Plan plan = session->reserve(waiting, place);
    if (carry_out) {
      EXPECT_TRUE(world.apply(plan).ok());
      world.update(api::kPod, waiting.key(), [&](Value& object) {
        object.set_path({"spec", "nodeName"}, on);
      });
    }
    return {};
  }
  NodeAdmission admit(const std::string& name) {
    const Object bound = world.must(api::kPod, {"ns", name});
    Reads reads;
    return mig_node_hooks().admit(View(indexed, reads), bound,
                                  world.must(api::kNode, {"", bound.spec()["nodeName"].str()}),
                                  world.now);
  }
  std::vector<Claim> claims_of(const Object& owner) {
    Reads reads;
    return claims_for(View(indexed, reads), owner.uid());
  }
  // "gpu index:start" of every claim of a pod, in order of names.
  std::string slots(const Object& owner) {
    std::string text;
    for (const Claim& claim : claims_of(owner)) {
      text += (text.empty() ? "" : " ") + std::to_string(claim.start) + "+" +
              std::to_string(claim.size);
    }
    return text;
  }

  // The world's indexes are those of operators that ran; the hooks' are added here.
  class Indexed final : public Snapshot {
   public:
    explicit Indexed(const test::FakeWorld& world) : world_(world) {}
    [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
      return world_.get(kind, key);
    }
    [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
      if (select.index.empty()) {
        return world_.list(kind, select);
      }
      std::vector<Object> found;
      for (const Object& object : world_.list(kind)) {
        const auto values =
            select.index == kClaimsByNode ? claim_nodes(object) : claim_pods(object);
        if (values.front() == select.index_value) {
          found.push_back(object);
        }
      }
      return found;
    }
    [[nodiscard]] Observed observe(std::string_view query, Duration age) const override {
      return world_.observe(query, age);
    }
    [[nodiscard]] const Value& config(std::string_view section) const override {
      return world_.config(section);
    }

   private:
    const test::FakeWorld& world_;
  };

  test::FakeWorld world{};
  Indexed indexed{world};
};

TEST_F(LifeTest, PodGetsItsSliceAndItsEnvironment) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  EXPECT_EQ(schedule(waiting, "n1"), "");
  ASSERT_EQ(claims_of(waiting).size(), 1U);
  const Claim claim = claims_of(waiting).front();
  EXPECT_EQ(claim.object.name(), std::string(waiting.uid()) + "-n1-c-0");
  EXPECT_EQ(claim.state, "created");
  EXPECT_EQ(slots(waiting), "0+1");
  const NodeAdmission admission = admit("p");
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Ready);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(admission.environment.at("c"),
            (Pairs{{"NVIDIA_VISIBLE_DEVICES", "test"}, {"CUDA_VISIBLE_DEVICES", "0"}}));
  EXPECT_TRUE(world.apply(admission.steps).ok());
  EXPECT_EQ(claims_of(waiting).front().state, "inUse");
  ASSERT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.acts.front().verb, kWriteNodeFile);
  EXPECT_TRUE(world.acts.front().args["path"].str().starts_with("/var/run/cdi/c1g.5gb_"));
  // Asked again after a restart: the same file and environment, no write.
  const NodeAdmission again = admit("p");
  EXPECT_EQ(again.environment, admission.environment);
  EXPECT_EQ(again.steps.steps().size(), 1U);
}

TEST_F(LifeTest, ThreeSlicesInOneContainer) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 3");
  EXPECT_EQ(schedule(waiting, "n1"), "");
  EXPECT_EQ(slots(waiting), "0+1 1+1 2+1");
  const auto environment = admit("p").environment.at("c");
  EXPECT_EQ(environment[0].second, "test,test,test");
  EXPECT_EQ(environment[1].second, "0,1,2");
}

TEST_F(LifeTest, ShowsContainerAllSlicesOfTwoProfiles) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/2g.10gb: 1, mig.das.com/1g.5gb: 1");
  EXPECT_EQ(schedule(waiting, "n1"), "");
  EXPECT_EQ(slots(waiting), "0+1 2+2");
  const NodeAdmission admission = admit("p");
  EXPECT_EQ(admission.environment.at("c")[1].second, "0,1");
  EXPECT_TRUE(world.apply(admission.steps).ok());
  EXPECT_EQ(world.acts.size(), 2U) << "one CDI file for each profile";
}

// docs/spec/das.md S-B2: its claims are those of the app containers.
TEST_F(LifeTest, ShowsInitContainerItsOwnSlicesFirst) {
  node("n1");
  const Object waiting = world.put(from_yaml(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {schedulerName: "
      "das-scheduler, initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 1}}}, "
      "{name: j, resources: {limits: {mig.das.com/1g.5gb: 3, mig.das.com/2g.10gb: 1}}}, {name: k}],"
      " containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 2}}}]}}"));
  EXPECT_EQ(schedule(waiting, "n1"), "");
  ASSERT_EQ(claims_of(waiting).size(), 4U);
  const NodeAdmission admission = admit("p");
  EXPECT_EQ(admission.environment.at("c")[1].second, "0,1");
  ASSERT_TRUE(admission.environment.contains("i"));
  EXPECT_EQ(admission.environment.at("i")[0].second, "test");
  EXPECT_EQ(admission.environment.at("j")[0].second, "test,test,test,test");
  EXPECT_FALSE(admission.environment.contains("k"));
}

TEST_F(LifeTest, NodesThatCannotHoldThePodSayWhy) {
  world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: plain}}"));
  world.put(
      from_yaml("{apiVersion: v1, kind: Node, metadata: {name: bare, labels: "
                "{nvidia.com/mig.capable: 'true'}}}"));
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  const Object waiting = pod("p", "mig.das.com/7g.40gb: 2");
  EXPECT_EQ(schedule(waiting, "plain"), "node not MIG capable");
  EXPECT_EQ(schedule(waiting, "bare"), "nodeaccelerator.inference.redhat.com \"bare\" not found");
  EXPECT_EQ(schedule(waiting, "n1"), "no GPU available");
  EXPECT_EQ(schedule(pod("q", "cpu: 1"), "plain"), "not concerned");
  EXPECT_EQ(schedule(pod("r", "mig.das.com/1g.5gb: 1000000000"), "n1"), "no GPU available");
}

TEST_F(LifeTest, AnUnknownTypeConcernsItsNodeAlone) {
  node("n1");
  node("n2");
  world.update(kNodeAccelerator, {"das-operator", "n1"}, [](Value& object) {
    object.set_path({"spec", "acceleratorType"}, "other-gpu");
  });
  EXPECT_EQ(schedule(pod("p", "mig.das.com/1g.5gb: 1"), "n1"),
            "unsupported acceleratorType other-gpu");
  EXPECT_EQ(schedule(pod("q", "mig.das.com/1g.5gb: 1"), "n2"), "");
}

TEST_F(LifeTest, FilterWritesNothing) {
  node("n1");
  EXPECT_EQ(schedule(pod("p", "mig.das.com/1g.5gb: 1"), "n1", false), "");
  EXPECT_EQ(world.count(kAllocationClaim), 0U);
}

// docs/spec/das.md F5: other than a node without room.
TEST_F(LifeTest, ResourcesThatCannotBeDecodedAreNamed) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  const auto write = [&](const std::string& resources) {
    world.update(kNodeAccelerator, {"das-operator", "n1"}, [&](Value& object) {
      object.set_path({"status", "nodeResources"}, from_yaml(resources));
    });
    return schedule(waiting, "n1");
  };
  const std::string failed = "failed to decode nodeResources of nodeaccelerator \"n1\": ";
  EXPECT_EQ(write("{nodeGpus: none}"), failed + "nodeGpus is no list");
  EXPECT_EQ(write("{migPlacement: [], nodeGpus: []}"), failed + "migPlacement is no object");
  EXPECT_EQ(write("{nodeGpus: [{gpuUuid: a}, 7]}"), failed + "nodeGpus[1].gpuUuid is no string");
  EXPECT_EQ(write("{nodeGpus: [{gpuUuid: a, migPlacement: x}]}"),
            failed + "nodeGpus[0].migPlacement is no object");
  EXPECT_EQ(write("{nodeGpus: []}"), "no GPU available");
}

TEST_F(LifeTest, PodsOfOneCycleNeverShareASlot) {
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  std::vector<Object> pods;
  for (int i = 0; i < 8; ++i) {
    pods.push_back(pod("p" + std::to_string(i), "mig.das.com/1g.5gb: 1"));
  }
  Reads reads;
  const View view(indexed, reads);
  const auto session = mig_scheduling().begin(view, world.now);
  const Object place = world.must(api::kNode, {"", "n1"});
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto refusal = session->filter(pods[i], place, {});
    EXPECT_EQ(refusal.has_value(), i == 7) << i;
    if (!refusal) {
      const Plan plan = session->reserve(pods[i], place);
      const auto& create = std::get<Create>(plan.steps().front());
      EXPECT_TRUE(starts.insert(create.object["spec"]["migPlacement"]["start"].as_int()).second);
    }
  }
  EXPECT_EQ(starts.size(), 7U);
}

// A crash after any step of the reservation: the next cycle ends with the same claims, and another
// pod never gets a slot of a claim that stands.
TEST_F(LifeTest, CrashBetweenClaimAndBindingLosesNoSlot) {
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  for (std::size_t after = 0; after <= 6; ++after) {
    const Object first = pod("first" + std::to_string(after), "mig.das.com/2g.10gb: 3");
    Reads reads;
    const View view(indexed, reads);
    const Plan plan =
        mig_scheduling().begin(view, world.now)->reserve(first, world.must(api::kNode, {"", "n1"}));
    ASSERT_EQ(plan.steps().size(), 9U);  // 3 claims, their states, 3 events
    Plan part;
    for (std::size_t i = 0; i < after; ++i) {
      part.then(plan.steps()[i]);
    }
    ASSERT_TRUE(world.apply(part).ok());
    const Object other = pod("other" + std::to_string(after), "mig.das.com/1g.5gb: 1");
    EXPECT_EQ(schedule(other, "n1", false), "");
    EXPECT_EQ(schedule(first, "n1"), "") << after;
    EXPECT_EQ(slots(first), "0+2 2+2 4+2");
    for (const Claim& claim : claims_of(first)) {
      EXPECT_EQ(claim.state, "created");
    }
    world.remove(api::kPod, first.key());
    world.settle({&claim_operator()});
    EXPECT_EQ(world.count(kAllocationClaim), 0U);
  }
}

TEST_F(LifeTest, ClaimsOfAnAttemptElsewhereAreDropped) {
  node("a");
  node("b");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  Reads reads;
  ASSERT_TRUE(world
                  .apply(mig_scheduling()
                             .begin(View(indexed, reads), world.now)
                             ->reserve(waiting, world.must(api::kNode, {"", "a"})))
                  .ok());
  EXPECT_EQ(schedule(waiting, "b"), "");
  ASSERT_EQ(claims_of(waiting).size(), 1U);
  EXPECT_EQ(claims_of(waiting).front().node, "b");
}

// docs/spec/das.md 16.5: slots for the next pod of an evicted pod's controller.
TEST_F(LifeTest, KeepsReservedSlotsForNextPodOfController) {
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  const Object target = node("n2", "das.inference.redhat.com/emulated-gpu-count: '1'");
  const auto controlled = [&](const std::string& name, const std::string& owner,
                              const std::string& limits) {
    return world.update(api::kPod, pod(name, limits).key(), [&](Value& object) {
      object.set_path({"metadata", "ownerReferences"},
                      from_yaml("[{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: " + owner +
                                ", controller: true}]"));
    });
  };
  const Object evicted = controlled("old", "set-1", "mig.das.com/3g.20gb: 1");
  world.put(make_reservation(
      evicted, "das-operator",
      {.node = "n2", .gpu = emulated_uuid("n2", 0), .profile = "3g.20gb", .start = 4, .size = 4},
      0));
  world.remove(api::kPod, evicted.key());
  world.settle({&claim_operator()});
  ASSERT_EQ(world.count(kAllocationClaim), 1U) << "it names no pod that could be gone";

  EXPECT_EQ(schedule(pod("p", "mig.das.com/7g.40gb: 1"), "n2"), "no GPU available");
  EXPECT_EQ(schedule(controlled("other", "set-2", "mig.das.com/7g.40gb: 1"), "n2"),
            "no GPU available");
  const Object small = controlled("small", "set-1", "mig.das.com/1g.5gb: 1");
  EXPECT_EQ(schedule(small, "n1"), "") << "it asks for other slices";

  const Object next = controlled("new", "set-1", "mig.das.com/3g.20gb: 1");
  EXPECT_EQ(schedule(next, "n1"), "slots are reserved for the pod on node n2");
  Reads reads;
  EXPECT_EQ(mig_scheduling().begin(View(indexed, reads), world.now)->score(next, target), 100);
  EXPECT_EQ(schedule(next, "n2"), "");
  EXPECT_EQ(slots(next), "4+4") << "first fit alone would start at 0";
  EXPECT_EQ(world.count(kAllocationClaim), 2U) << "the reservation gave way";
  EXPECT_EQ(schedule(controlled("more", "set-1", "mig.das.com/3g.20gb: 1"), "n1"), "");
}

TEST_F(LifeTest, FreesUntakenReservedSlotsAfterFiveMinutes) {
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  world.put(make_reservation(
      pod("old", "mig.das.com/3g.20gb: 1"), "das-operator",
      {.node = "n1", .gpu = emulated_uuid("n1", 0), .profile = "3g.20gb", .start = 0, .size = 4},
      0));
  world.settle_for({&claim_operator()}, std::chrono::minutes(4));
  EXPECT_EQ(world.count(kAllocationClaim), 1U);
  world.settle_for({&claim_operator()}, std::chrono::minutes(2));
  EXPECT_EQ(world.count(kAllocationClaim), 0U);
}

TEST_F(LifeTest, ReturnsClaimsOfPodThatFitsNowhere) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 2");
  Reads reads;
  const View view(indexed, reads);
  ASSERT_TRUE(world
                  .apply(mig_scheduling()
                             .begin(view, world.now)
                             ->reserve(waiting, world.must(api::kNode, {"", "n1"})))
                  .ok());
  ASSERT_EQ(world.count(kAllocationClaim), 2U);
  ASSERT_TRUE(world.apply(mig_scheduling().begin(view, world.now)->release(waiting)).ok());
  EXPECT_EQ(world.count(kAllocationClaim), 0U);
}

// Between the scheduler's look and its write an agent gave the slice to another pod.
TEST_F(LifeTest, KeepsClaimThatMovedToAnotherPod) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  Reads reads;
  const View view(indexed, reads);
  const auto hooks = [&] { return mig_scheduling().begin(view, world.now); };
  ASSERT_TRUE(world.apply(hooks()->reserve(waiting, world.must(api::kNode, {"", "n1"}))).ok());
  const Plan late = hooks()->release(waiting);
  ASSERT_EQ(late.steps().size(), 1U);
  world.update(kAllocationClaim, world.list(kAllocationClaim).front().key(), [](Value& object) {
    object.set_path({"spec", "podRef", "uid"}, "other");
  });
  EXPECT_FALSE(world.apply(late).ok());
  EXPECT_EQ(world.count(kAllocationClaim), 1U);
}

// Its agent did not see the claim of the pod that it was asked for, and used this one.
TEST_F(LifeTest, LeavesClaimWithSliceToItsAgent) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  Reads reads;
  const View view(indexed, reads);
  const auto hooks = [&] { return mig_scheduling().begin(view, world.now); };
  const Object place = world.must(api::kNode, {"", "n1"});
  ASSERT_TRUE(world.apply(hooks()->reserve(waiting, place)).ok());
  world.update(kAllocationClaim, world.list(kAllocationClaim).front().key(), [](Value& object) {
    object.set_path({"status", "state"}, kInUse);
  });
  EXPECT_TRUE(hooks()->release(waiting).steps().empty());
  EXPECT_TRUE(hooks()->reserve(waiting, place).steps().empty());
}

TEST_F(LifeTest, ClaimsEndWithTheirPod) {
  node("n1");
  const Object done = pod("done", "mig.das.com/1g.5gb: 1");
  const Object gone = pod("gone", "mig.das.com/1g.5gb: 1");
  const Object stays = pod("stays", "mig.das.com/1g.5gb: 1");
  for (const Object& one : {done, gone, stays}) {
    EXPECT_EQ(schedule(one, "n1"), "");
    EXPECT_TRUE(world.apply(admit(std::string(one.name())).steps).ok());
  }
  world.settle({&claim_operator()});
  EXPECT_EQ(world.count(kAllocationClaim), 3U);
  world.update(api::kPod, done.key(), [](Value& object) {
    object.set_path({"status", "phase"}, "Failed");
  });
  world.remove(api::kPod, gone.key());
  world.settle({&claim_operator()});
  EXPECT_EQ(slots(stays), "2+1");
  EXPECT_EQ(world.count(kAllocationClaim), 1U);
  std::size_t removed = 0;
  for (const Act& act : world.acts) {
    removed += act.verb == kRemoveNodeFile ? 1 : 0;
  }
  EXPECT_EQ(removed, 2U);
}

TEST_F(LifeTest, ClaimsWrittenByHandBreakNothing) {
  node("n1", "das.inference.redhat.com/emulated-gpu-count: '1'");
  const auto hand = [&](const std::string& name, const std::string& spec) {
    world.put(
        from_yaml("{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, "
                  "metadata: {name: " +
                  name + ", namespace: das-operator}, spec: " + spec + "}"));
  };
  hand("outside", "{migPlacement: {start: 7, size: 4}, nodename: n1}");
  hand("negative", "{migPlacement: {start: -1, size: 4}, nodename: n1}");
  hand("text", "{migPlacement: {start: a, size: 4}, nodename: n1}");
  hand("empty", "{}");
  world.settle({&claim_operator()});
  for (const char* name : {"outside", "negative", "text", "empty"}) {
    const Value valid = world.condition(kAllocationClaim, {"das-operator", name}, "Valid");
    EXPECT_EQ(valid["reason"].str(), "InvalidPlacement") << name;
  }
  EXPECT_EQ(schedule(pod("p", "mig.das.com/7g.40gb: 1"), "n1"), "");
  // Nobody's claims go after five minutes.
  world.settle_for({&claim_operator()}, std::chrono::minutes(6));
  EXPECT_EQ(world.count(kAllocationClaim), 1U);
  EXPECT_EQ(world.event_count("ClaimGarbageCollected"), 4);
}

// docs/spec/das.md E-B4.
TEST_F(LifeTest, EmulatedSlicesTakeTheirTime) {
  Settings settings;
  settings.emulated_mode = "enabled";
  settings.slice_create_ms = 300;
  settings.slice_destroy_ms = 200;
  world.configure(kSettingsSection, api::encode(settings));
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 2");
  EXPECT_EQ(schedule(waiting, "n1"), "");
  const NodeAdmission first = admit("p");
  EXPECT_EQ(first.answer, NodeAdmission::Answer::Wait);
  ASSERT_TRUE(first.steps.wake().has_value());
  EXPECT_EQ(first.steps.wake().value_or(world.now), world.now + std::chrono::milliseconds(300));
  ASSERT_TRUE(world.apply(first.steps).ok());
  EXPECT_EQ(claims_of(waiting).front().state, "processing");
  world.advance(std::chrono::milliseconds(299));
  const NodeAdmission early = admit("p");
  EXPECT_EQ(early.answer, NodeAdmission::Answer::Wait);
  EXPECT_TRUE(early.steps.steps().empty());
  world.advance(std::chrono::milliseconds(1));
  const NodeAdmission ready = admit("p");
  EXPECT_EQ(ready.answer, NodeAdmission::Answer::Ready);
  ASSERT_TRUE(world.apply(ready.steps).ok());
  EXPECT_EQ(claims_of(waiting).front().state, "inUse");
  EXPECT_EQ(admit("p").answer, NodeAdmission::Answer::Ready) << "after a restart";
  // The slots are taken until the slices are gone.
  world.remove(api::kPod, waiting.key());
  world.settle({&claim_operator()});
  EXPECT_EQ(world.count(kAllocationClaim), 2U);
  world.settle_for({&claim_operator()}, std::chrono::milliseconds(199));
  EXPECT_EQ(world.count(kAllocationClaim), 2U);
  world.settle_for({&claim_operator()}, std::chrono::milliseconds(1));
  EXPECT_EQ(world.count(kAllocationClaim), 0U);
}

TEST_F(LifeTest, EmulatedSlicesFailAsOftenAsAsked) {
  Settings settings;
  settings.emulated_mode = "enabled";
  settings.gpu_count = 16;
  settings.fail_per_million = 250'000;
  world.configure(kSettingsSection, api::encode(settings));
  node("n1");
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "p" + std::to_string(i);
    EXPECT_EQ(schedule(pod(name, "mig.das.com/1g.5gb: 1"), "n1"), "");
    const NodeAdmission admission = admit(name);
    EXPECT_EQ(admission.answer, admit(name).answer) << "the same slice always fails";
    if (admission.answer == NodeAdmission::Answer::Refuse) {
      ++failed;
      EXPECT_TRUE(admission.message.starts_with("emulated fault: slice 1g.5gb of GPU-"));
    }
  }
  EXPECT_GT(failed, 10);
  EXPECT_LT(failed, 45);
}

TEST_F(LifeTest, SettingsOfFaultsAreChecked) {
  const auto parsed = parse_settings({{"EMULATED_SLICE_CREATE_MS", "1500"},
                                      {"EMULATED_SLICE_DESTROY_MS", "0"},
                                      {"EMULATED_FAIL_RATE", "0.25"},
                                      {"EMULATE_CLUSTER_POLICY", "true"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->slice_create_ms, 1500);
  EXPECT_EQ(parsed->fail_per_million, 250'000);
  EXPECT_TRUE(parsed->cluster_policy);
  for (const char* bad : {"-1", "x", "2", "nan", "0.5x"}) {
    const auto refused = parse_settings({{"EMULATED_FAIL_RATE", bad}});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(refused.error().message.find("must be a number from 0 to 1"), std::string::npos);
  }
  EXPECT_FALSE(parse_settings({{"EMULATE_CLUSTER_POLICY", "yes"}}).ok());
}

// docs/spec/das.md 7.3 X8: a scheduler that sees no claims hears of the node.
TEST_F(LifeTest, TouchesNodeWhenClaimGoesWhilePodsWait) {
  node("n1");
  const auto digest = [&] {
    world.settle({&wake_operator(), &claim_operator()});
    return std::string(world.must(api::kNode, {"", "n1"}).annotation(kClaimsAnnotation));
  };
  const Object holder = pod("holder", "mig.das.com/7g.40gb: 1");
  EXPECT_EQ(schedule(holder, "n1"), "");
  EXPECT_EQ(digest(), "") << "nobody waits";
  const Object waits = pod("waits", "mig.das.com/7g.40gb: 2");
  world.update(api::kPod, waits.key(), [](Value& object) {
    object.set_path({"status", "conditions"},
                    Value::list({Value::object({{"type", "PodScheduled"}, {"status", "False"}})}));
  });
  const std::string before = digest();
  EXPECT_NE(before, "");
  world.remove(api::kPod, holder.key());
  EXPECT_NE(digest(), before);
  EXPECT_EQ(digest(), digest());
}

TEST_F(LifeTest, PodWithoutItsClaimsFailsAdmission) {
  node("n1");
  pod("p", "mig.das.com/1g.5gb: 2");
  world.update(api::kPod, {"ns", "p"}, [](Value& object) {
    object.set_path({"spec", "nodeName"}, "n1");
  });
  const NodeAdmission admission = admit("p");
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(admission.message, "requested 2 allocations but only found 0");
}

TEST_F(LifeTest, SameGpuAndGivenGpu) {
  const Object place = node("n1");
  const Value accelerator = world.must(kNodeAccelerator, {"das-operator", "n1"}).status();
  const std::string second = accelerator["nodeResources"]["nodeGpus"][1]["gpuUuid"].str();
  const Object waiting =
      pod("p", "mig.das.com/1g.5gb: 1", "das.inference.redhat.com/gpu-uuid: " + second);
  EXPECT_EQ(schedule(waiting, "n1"), "");
  EXPECT_EQ(claims_of(waiting).front().gpu, second);
  const Object too_large =
      pod("q", "mig.das.com/4g.20gb: 2", "das.inference.redhat.com/same-gpu: 'true'");
  EXPECT_EQ(schedule(too_large, "n1"), "no GPU available");
  const Object elsewhere =
      pod("r", "mig.das.com/1g.5gb: 1", "das.inference.redhat.com/gpu-uuid: GPU-x");
  EXPECT_EQ(schedule(elsewhere, "n1"), "the node has no GPU GPU-x");
}

// Its agent deletes no pods (docs/spec/das.md 8.4).
TEST_F(LifeTest, DeletesPodWhoseSliceDidNotOutliveRestart) {
  node("n1");
  const Object waiting = pod("p", "mig.das.com/1g.5gb: 1");
  ASSERT_EQ(schedule(waiting, "n1"), "");
  const Claim claim = claims_of(waiting).front();
  world.update(kAllocationClaim, claim.object.key(), [](Value& object) {
    object.set_path({"status", "state"}, kOrphaned);
    object.set_path({"status", "conditions"},
                    from_yaml("[{type: NodeRestarted, status: 'True', reason: SliceLost}]"));
  });
  world.settle({&claim_operator()});
  EXPECT_FALSE(world.has(api::kPod, {"ns", "p"}));
  EXPECT_EQ(world.event_count("SliceLost"), 1);
}

TEST_F(LifeTest, NodeAcceleratorOfAnEmulatedNode) {
  const Object place = node("n1");
  const Object made = world.must(kNodeAccelerator, {"das-operator", "n1"});
  EXPECT_EQ(made.spec()["acceleratorType"].str(), "nvidia-mig");
  EXPECT_TRUE(made.owned_by(place.uid()));
  const Value& resources = made.status()["nodeResources"];
  ASSERT_EQ(resources["nodeGpus"].size(), 2U);
  EXPECT_EQ(resources["nodeGpus"][0]["gpuName"].str(), "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(resources["nodeGpus"][0]["gpuMemory"].str(), "40Gi");
  EXPECT_NE(resources["nodeGpus"][0]["gpuUuid"], resources["nodeGpus"][1]["gpuUuid"]);
  EXPECT_EQ(resources["migPlacement"]["1g.10gb"]["giProfileId"].as_int(), 9);
  EXPECT_EQ(resources["migPlacement"]["1g.10gb"]["placements"].size(), 4U);
  EXPECT_EQ(world.condition(kNodeAccelerator, {"das-operator", "n1"}, "Ready")["reason"].str(),
            "GPUsAccessible");
  EXPECT_EQ(world.settle({&agent_operator()}), 0) << "at rest nothing is written";
}

TEST_F(LifeTest, ReportsUnknownModelOnNode) {
  node("n1", "das.inference.redhat.com/emulated-gpu-model: K80");
  EXPECT_FALSE(world.has(kNodeAccelerator, {"das-operator", "n1"}));
  EXPECT_EQ(world.event_count("InvalidGPUModel", "n1"), 1);
}

TEST(Requests, OrderAndInitContainers) {
  const auto texts = [](const std::string& spec) {
    std::string text;
    for (const SliceRequest& slice : slices_of(from_yaml(spec)).slices) {
      text += (text.empty() ? "" : " ") + slice.container + "/" + std::to_string(slice.index) +
              "=" + slice.profile;
    }
    return text;
  };
  EXPECT_EQ(texts("{containers: [{name: a, resources: {limits: {mig.das.com/2g.10gb: 1, "
                  "mig.das.com/1g.5gb-plus-me: 1, mig.das.com/1g.5gb: 2, cpu: 3}}}]}"),
            "a/0=1g.5gb a/1=1g.5gb a/2=1g.5gb+me a/3=2g.10gb");
  EXPECT_EQ(texts("{initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 2}}}], "
                  "containers: [{name: a, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}"),
            "a/0=1g.5gb i/0=1g.5gb");
  EXPECT_EQ(texts("{containers: [{name: a, resources: {limits: {mig.das.com/1g.5gb: 0}}}]}"), "");
  EXPECT_EQ(texts("{containers: [{name: a, resources: {limits: {mig.das.com/gpu: 1}}}]}"), "");
  EXPECT_TRUE(slices_of(from_yaml("{containers: [{name: a, resources: {limits: "
                                  "{mig.das.com/1g.5gb: 9223372036854775807}}}]}"))
                  .too_many);
}

TEST(DasSettings, BadValuesAreNamed) {
  EXPECT_EQ(parse_settings({{"EMULATED_MODE", "on"}}).error().message,
            "invalid EMULATED_MODE \"on\": must be \"enabled\" or \"disabled\"");
  EXPECT_TRUE(parse_settings({{"EMULATED_MODE", ""}}).ok());
  EXPECT_TRUE(
      parse_settings({{"EMULATED_GPU_MODEL", "K80"}})
          .error()
          .message.starts_with("unknown emulated GPU model \"K80\"; known: A100-PCIE-40GB"));
  EXPECT_FALSE(parse_settings({{"EMULATED_GPU_COUNT", "17"}}).ok());
}

}  // namespace
}  // namespace athanor::das::life_test
