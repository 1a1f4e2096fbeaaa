// SPDX-License-Identifier: Apache-2.0
// Allocate against a world of claims, slices and files in memory (docs/spec/das.md 8.5, N-B10 to
// N-B14, N-B19).
#include "systems/das/agent/allocate.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/systems/das/agent/memory_world.hpp"

namespace athanor::das::allocate_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

class AllocateTest : public testing::Test {
 protected:
  Result<Words> ask(const std::string& profile, const Words& ids) {
    return allocate(std::vector<DeviceAsk>{{.profile = profile, .ids = ids}}, ledger, world, {});
  }
  const CdiSpec& file_of(const std::string& device) {
    const std::string id = device.substr(device.find('=') + 1);
    for (const auto& [name, spec] : world.files) {
      if (spec.id == id) {
        return spec;
      }
    }
    ADD_FAILURE() << "no file for " << device;
    static const CdiSpec kNone;
    return kNone;
  }
  static std::string wants(const std::string& limits) {
    return "{containers: [{name: c, resources: {limits: " + limits + "}}]}";
  }

  MemoryWorld world;
  Ledger ledger;
};

TEST_F(AllocateTest, TakesAClaimIntoUse) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  const auto devices = ask("1g.5gb", {"1g.5gb-3"});
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->front(), "mig.das.com/c1g.5gb=" + cdi_id_of("a", "c", "1g.5gb"));
  EXPECT_THAT(world.steps, ElementsAre("a-0 processing", "a-0 inUse"));
  EXPECT_THAT(file_of(devices->front()).env,
              ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", "CUDA_VISIBLE_DEVICES=0"));
  EXPECT_EQ(file_of(devices->front()).claims.size(), 1U);
}

// The agent before this one ended between the claim's state and its slice.
TEST_F(AllocateTest, AClaimLeftInProcessingGetsItsSlice) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0, kProcessing);
  const auto devices = ask("1g.5gb", {"1g.5gb-3"});
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  EXPECT_THAT(world.slices, ElementsAre("a-0"));
  EXPECT_EQ(world.claim("a-0").state, kInUse);
}

// The agent before this one ended between destroying the slice of a failed call and the claim's
// state.
TEST_F(AllocateTest, MakesMissingSliceOfClaimInUse) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0, kInUse);
  world.missing = {"a-0"};
  const auto devices = ask("1g.5gb", {"1g.5gb-3"});
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  EXPECT_THAT(world.slices, ElementsAre("a-0"));
  EXPECT_EQ(file_of(devices->front()).env.front(), "NVIDIA_VISIBLE_DEVICES=MIG-a-0");
}

TEST_F(AllocateTest, WritesOneFileForThreeClaims) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 3}"));
  for (int i = 0; i < 3; ++i) {
    world.add_claim("a", fmt::format("a-{}", i), "1g.5gb", "c", i);
  }
  const auto devices = ask("1g.5gb", {"1g.5gb-0", "1g.5gb-1", "1g.5gb-2"});
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(world.files.size(), 1U);
  EXPECT_THAT(
      file_of(devices->front()).env,
      ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0,MIG-a-1,MIG-a-2", "CUDA_VISIBLE_DEVICES=0,1,2"));
}

TEST_F(AllocateTest, RefusesWithoutEnoughClaims) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 2}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  const auto devices = ask("1g.5gb", {"1g.5gb-0", "1g.5gb-1"});
  ASSERT_FALSE(devices.ok());
  EXPECT_EQ(devices.error().code, 412);
  EXPECT_EQ(devices.error().message, "requested 2 allocations but only found 1");
  EXPECT_THAT(world.waited, ElementsAre(100, 200, 400, 800, 1600));
  EXPECT_THAT(world.steps, IsEmpty());
  EXPECT_THAT(world.files, IsEmpty());
}

TEST_F(AllocateTest, WaitsForAClaimThatComesLate) {
  world.add_pod("late", wants("{mig.das.com/1g.5gb: 1}"));
  world.appears_at = 3;
  EXPECT_TRUE(ask("1g.5gb", {"1g.5gb-0"}).ok());
  EXPECT_THAT(world.waited, ElementsAre(100, 200));
}

TEST_F(AllocateTest, TheOldestPodIsServedFirst) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-0"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
  EXPECT_EQ(world.claim("a-0").state, kCreated);
}

// Its kubelet starts no pod that is being deleted: the question is for another one.
TEST_F(AllocateTest, ServesPodInDeletionLast) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.mark_deleted("b");
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-0"}).ok());
  EXPECT_EQ(world.claim("a-0").state, kInUse);
  EXPECT_EQ(world.claim("b-0").state, kCreated);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-1"}).ok()) << "it is the only one left";
  EXPECT_EQ(world.claim("b-0").state, kInUse);
}

TEST_F(AllocateTest, PicksPodThatAsksForSameNumber) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 2}"));
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.add_claim("a", "a-1", "1g.5gb", "c", 1);
  world.add_claim("b", "b-0", "1g.5gb", "c", 2);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-0"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
  EXPECT_EQ(world.claim("a-0").state, kCreated);
}

TEST_F(AllocateTest, TheSameQuestionHasTheSameAnswer) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  const auto first = ask("1g.5gb", {"1g.5gb-3"});
  const auto again = ask("1g.5gb", {"1g.5gb-3"});
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(world.steps.size(), 2U);
  EXPECT_FALSE(ask("1g.5gb", {"1g.5gb-4"}).ok()) << "other devices are another question";
}

TEST_F(AllocateTest, ReusesDevicesOfEndedPod) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-3"}).ok());
  Value ended = world.sight.pods["a"].body();
  ended.set("status", Value::object({{"phase", "Succeeded"}}));
  world.sight.pods["a"] = Object(ended);
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-3"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
}

TEST_F(AllocateTest, APodThatRunsAsksNoMore) {
  // After a restart of the agent it may be unknown what its init container was given.
  world.add_pod("a",
                "{initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 1}}}], "
                "containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
  Value runs = world.sight.pods["a"].body();
  runs.set("status", Value::object({{"phase", "Running"}, {"startTime", "2026-01-01T00:00:00Z"}}));
  world.sight.pods["a"] = Object(runs);
  world.add_claim("a", "a-0", "1g.5gb", "c", 0, kInUse);
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  ASSERT_TRUE(ask("1g.5gb", {"1g.5gb-1"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
}

TEST_F(AllocateTest, GivesInitContainerSlicesOfLaterContainers) {
  world.add_pod("a",
                "{initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 1}}}], "
                "containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 2}}}]}");
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.add_claim("a", "a-1", "1g.5gb", "c", 1);
  const auto init = ask("1g.5gb", {"1g.5gb-0"});
  ASSERT_TRUE(init.ok());
  EXPECT_THAT(world.slices, UnorderedElementsAre("a-0"));
  const auto main = ask("1g.5gb", {"1g.5gb-0", "1g.5gb-1"});
  ASSERT_TRUE(main.ok()) << main.error().message;
  EXPECT_NE(*init, *main);
  EXPECT_THAT(world.slices, UnorderedElementsAre("a-0", "a-1"));
  EXPECT_EQ(file_of(main->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-a-0,MIG-a-1");
  EXPECT_EQ(world.steps.size(), 4U) << "a-0 was in use already";
}

TEST_F(AllocateTest, TwoProfilesOfAContainerShareTheirVariables) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1, mig.das.com/2g.10gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.add_claim("a", "a-1", "2g.10gb", "c", 2);
  const auto second = ask("2g.10gb", {"2g.10gb-0"});
  const auto first = ask("1g.5gb", {"1g.5gb-0"});
  ASSERT_TRUE(first.ok() && second.ok());
  for (const auto& device : {first->front(), second->front()}) {
    EXPECT_THAT(file_of(device).env,
                ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0,MIG-a-1", "CUDA_VISIBLE_DEVICES=0,1"));
    EXPECT_EQ(file_of(device).claims.size(), 1U);
  }
}

TEST_F(AllocateTest, RemovesFileWithContainerOfNeverRestartedPods) {
  world.add_pod("a",
                "{restartPolicy: Never, containers: [{name: c, resources: {limits: "
                "{mig.das.com/1g.5gb: 1}}}]}");
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  EXPECT_TRUE(file_of(ask("1g.5gb", {"1g.5gb-0"})->front()).poststop);
  world.add_pod("b",
                "{restartPolicy: OnFailure, containers: [{name: c, resources: {limits: "
                "{mig.das.com/1g.5gb: 1}}}]}");
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  EXPECT_FALSE(file_of(ask("1g.5gb", {"1g.5gb-1"})->front()).poststop);
}

class AllocateFailureTest : public AllocateTest, public testing::WithParamInterface<const char*> {};

TEST_P(AllocateFailureTest, LeavesNothingAndSucceedsAtTheNextTry) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 2}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.add_claim("a", "a-1", "1g.5gb", "c", 1);
  world.fail = GetParam();
  ASSERT_FALSE(ask("1g.5gb", {"1g.5gb-0", "1g.5gb-1"}).ok());
  EXPECT_THAT(world.slices, IsEmpty());
  EXPECT_THAT(world.files, IsEmpty());
  EXPECT_EQ(world.claim("a-0").state, kCreated);
  EXPECT_EQ(world.claim("a-1").state, kCreated);
  EXPECT_TRUE(ledger.grants().empty());
  world.fail.clear();
  EXPECT_TRUE(ask("1g.5gb", {"1g.5gb-0", "1g.5gb-1"}).ok());
}
INSTANTIATE_TEST_SUITE_P(Steps, AllocateFailureTest,
                         testing::Values("processing", "slices", "inUse", "file"));

TEST_F(AllocateTest, UndoesFirstContainerWhenSecondFails) {
  world.add_pod("a",
                "{containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}, {name: d, "
                "resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  const auto devices =
      allocate(std::vector<DeviceAsk>{{"1g.5gb", {"1g.5gb-0"}}, {"1g.5gb", {"1g.5gb-1"}}}, ledger,
               world, {});
  ASSERT_FALSE(devices.ok());
  EXPECT_EQ(world.claim("a-0").state, kCreated);
  EXPECT_THAT(world.slices, IsEmpty());
  EXPECT_THAT(world.files, IsEmpty());
}

TEST_F(AllocateTest, SlotsThatAnotherHoldsOrphanTheClaim) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.fail = "slices";
  world.reason = "InsufficientResources";
  ASSERT_FALSE(ask("1g.5gb", {"1g.5gb-0"}).ok());
  EXPECT_EQ(world.claim("a-0").state, kOrphaned);
}

// Its kubelet ended before it noted the answer: the next one asks for the same pod again.
TEST_F(AllocateTest, ALostAnswerIsGivenAgain) {
  for (const char* pod : {"a", "b"}) {
    world.add_pod(pod, wants("{mig.das.com/1g.5gb: 1}"));
    world.add_claim(pod, fmt::format("{}-0", pod), "1g.5gb", "c", pod[0] - 'a');
  }
  const auto first = ask("1g.5gb", {"x"});
  ASSERT_TRUE(first.ok());
  ledger.doubt();
  world.held.emplace();
  const auto again = ask("1g.5gb", {"y"});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(world.claim("b-0").state, kCreated);
  ASSERT_EQ(ledger.grants().size(), 1U);
  EXPECT_THAT(ledger.grants()[0].ids, ElementsAre("y"));
  ASSERT_TRUE(ask("1g.5gb", {"z"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
}

// It does not say what it noted, but hands out no device that a pod holds.
TEST_F(AllocateTest, GivesSameDevicesToUnadmittedPod) {
  for (const char* pod : {"a", "b"}) {
    world.add_pod(pod, wants("{mig.das.com/1g.5gb: 1}"));
    world.add_claim(pod, fmt::format("{}-0", pod), "1g.5gb", "c", pod[0] - 'a');
  }
  const auto first = ask("1g.5gb", {"x"});
  ledger.doubt();
  const auto again = ask("1g.5gb", {"x"});
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(world.claim("b-0").state, kCreated);
}

TEST_F(AllocateTest, WritesFreedDevicesToOneFile) {
  for (const char* pod : {"a", "b"}) {
    world.add_pod(pod, wants("{mig.das.com/1g.5gb: 1}"));
    world.add_claim(pod, fmt::format("{}-0", pod), "1g.5gb", "c", pod[0] - 'a');
  }
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  world.set_status("a", "{phase: Running, startTime: '2026-01-01T00:00:00Z'}");
  const auto second = ask("1g.5gb", {"x"});
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(world.files.size(), 1U);
  EXPECT_EQ(file_of(second->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-b-0");
  ASSERT_EQ(ledger.grants().size(), 1U);
  EXPECT_EQ(ledger.grants()[0].pod_uid, "b");
}

// It says so late: before a question is refused it is asked once more.
TEST_F(AllocateTest, RepeatsLostAnswerOnceKubeletReportsIt) {
  world.add_pod("a", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  const auto first = ask("1g.5gb", {"x"});
  ledger.doubt();
  world.held.emplace();
  world.answers_at = world.lists + 2;
  const auto again = ask("1g.5gb", {"y"});
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*again, *first);
}

TEST_F(AllocateTest, SettlesNothingWithoutCaches) {
  world.held.emplace();
  world.sight.seen = false;
  EXPECT_FALSE(ask("1g.5gb", {"x"}).ok());
  EXPECT_TRUE(ledger.unsure());
  world.sight.seen = true;
  EXPECT_FALSE(ask("1g.5gb", {"x"}).ok());
  EXPECT_FALSE(ledger.unsure());
}

// What it noted is not asked for again.
TEST_F(AllocateTest, AnAnswerThatIsHeldStays) {
  for (const char* pod : {"a", "b"}) {
    world.add_pod(pod, wants("{mig.das.com/1g.5gb: 1}"));
    world.add_claim(pod, fmt::format("{}-0", pod), "1g.5gb", "c", pod[0] - 'a');
  }
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  ledger.doubt();
  world.held = {{{.pod_uid = "a", .container = "c", .profile = "1g.5gb", .ids = {"x"}}}};
  ASSERT_TRUE(ask("1g.5gb", {"y"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
}

// Devices of init containers are not listed: they are not lost.
TEST_F(AllocateTest, AnInitContainersAnswerIsNeverLost) {
  world.add_pod("a",
                "{initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 1}}}], "
                "containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  ledger.doubt();
  world.held.emplace();
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  ASSERT_EQ(ledger.grants().size(), 2U);
  EXPECT_EQ(ledger.grants()[1].container, "c");
}

TEST_F(AllocateTest, IgnoresUnboundPods) {
  world.add_pod("b", wants("{mig.das.com/1g.5gb: 1}"));
  world.add_claim("a", "a-0", "1g.5gb", "c", 0);
  world.add_claim("b", "b-0", "1g.5gb", "c", 1);
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  EXPECT_EQ(world.claim("b-0").state, kInUse);
  EXPECT_EQ(world.claim("a-0").state, kCreated);
  EXPECT_FALSE(ask("1g.5gb", {"y"}).ok());
}

// Each container has one slice of the profile, and none has another's: whatever the containers are
// called, and whenever the caches show the pod.
struct Containers {
  const char* name;
  const char* spec;
  std::vector<std::string> order;  // in which the kubelet asks
};
class TwoContainersTest : public AllocateTest, public testing::WithParamInterface<Containers> {};

TEST_P(TwoContainersTest, SeeSlicesOfTheirOwn) {
  for (int shown = 0; shown <= 3; ++shown) {  // before this question
    SCOPED_TRACE(shown);
    world = {};
    ledger = {};
    world.add_pod("p", GetParam().spec);
    std::vector<std::string> sorted = GetParam().order;
    std::ranges::sort(sorted);  // claims of one second are in order of their names
    int start = 0;
    for (const std::string& container : sorted) {
      world.add_claim("p", "p-" + container, "1g.5gb", container, start++);
    }
    world.hide_pod("p");
    int asked = 0;
    for (const std::string& container : GetParam().order) {
      if (asked++ == shown) {
        world.sight.pods.insert(world.unseen.extract("p"));
      }
      const auto device = ask("1g.5gb", {"id-" + container});
      ASSERT_TRUE(device.ok()) << device.error().message;
      EXPECT_EQ(device->front(), "mig.das.com/c1g.5gb=" + cdi_id_of("p", container, "1g.5gb"));
      EXPECT_EQ(file_of(device->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-p-" + container);
    }
    for (const Claim& claim : world.sight.claims) {
      EXPECT_EQ(claim.state, kInUse) << claim.object.name();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Pods, TwoContainersTest,
    testing::Values(
        Containers{"OutOfOrder",
                   "{containers: [{name: z, resources: {limits: {mig.das.com/1g.5gb: 1}}}, {name: "
                   "b, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}",
                   {"z", "b"}},
        Containers{"Sidecar",
                   "{initContainers: [{name: s, restartPolicy: Always, resources: {limits: "
                   "{mig.das.com/1g.5gb: 1}}}], containers: [{name: c, resources: {limits: "
                   "{mig.das.com/1g.5gb: 1}}}]}",
                   {"s", "c"}},
        Containers{"SidecarAndTwo",
                   "{initContainers: [{name: m, restartPolicy: Always, resources: {limits: "
                   "{mig.das.com/1g.5gb: 1}}}], containers: [{name: z, resources: {limits: "
                   "{mig.das.com/1g.5gb: 1}}}, {name: a, resources: {limits: "
                   "{mig.das.com/1g.5gb: 1}}}]}",
                   {"m", "z", "a"}}),
    [](const auto& one) { return std::string(one.param.name); });

// The init container runs beside the sidecar that was started before it.
TEST_F(AllocateTest, AnInitContainerLeavesTheSidecarsSlice) {
  world.add_pod("p",
                "{initContainers: [{name: a, restartPolicy: Always, resources: {limits: "
                "{mig.das.com/1g.5gb: 1}}}, {name: i, resources: {limits: {mig.das.com/1g.5gb: "
                "1}}}], containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
  world.add_claim("p", "p-a", "1g.5gb", "a", 0);
  world.add_claim("p", "p-c", "1g.5gb", "c", 1);
  const auto sidecar = ask("1g.5gb", {"x"});
  const auto init = ask("1g.5gb", {"y"});
  const auto main = ask("1g.5gb", {"y"});
  ASSERT_TRUE(sidecar.ok() && init.ok() && main.ok());
  EXPECT_EQ(file_of(sidecar->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-p-a");
  EXPECT_EQ(file_of(init->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-p-c");
  EXPECT_EQ(file_of(main->front()).env[0], "NVIDIA_VISIBLE_DEVICES=MIG-p-c");
}

// Its claim is about to be released.
TEST_F(AllocateTest, KeepsClaimInUseOfMissingPod) {
  world.add_claim("a", "a-0", "1g.5gb", "c", 0, kInUse);
  EXPECT_FALSE(ask("1g.5gb", {"x"}).ok());
}

// A pod that neither the caches nor the API server show: what its containers are called is unknown.
class UnknownPodTest : public AllocateTest {
 protected:
  UnknownPodTest() {
    for (int i = 0; i < 9; ++i) {
      const std::string pod = fmt::format("p{}", i);
      world.add_claim(pod, pod + "-z", "1g.5gb", "z", i % 7);
      world.add_claim(pod, pod + "-a", "1g.5gb", "a", i % 7);
    }
    world.add_pod("other", wants("{mig.das.com/1g.5gb: 1}"));
    world.set_status("other", "{phase: Running, startTime: '2026-01-01T00:00:00Z'}");
    world.add_claim("other", "other-0", "1g.5gb", "c", 6, kInUse);
  }
  void expect_nothing_taken() {
    const auto devices = ask("1g.5gb", {"x"});
    ASSERT_FALSE(devices.ok());
    EXPECT_EQ(devices.error().message, "requested 1 allocations but only found 0");
    EXPECT_THAT(world.waited, ElementsAre(100, 200, 400, 800, 1600)) << "3.1 s";
    EXPECT_THAT(world.steps, IsEmpty()) << "no claim is written";
    EXPECT_THAT(world.slices, IsEmpty());
    EXPECT_THAT(ledger.grants(), IsEmpty());
  }
};

TEST_F(UnknownPodTest, WaitsAndTakesNoOtherClaim) {
  expect_nothing_taken();
  EXPECT_EQ(world.reads, 6 * 8) << "some ms each";
}

// Each read takes a second then, and a kubelet waits 10 s.
TEST_F(UnknownPodTest, AsksSilentServerThreeTimes) {
  world.answers = false;
  expect_nothing_taken();
  EXPECT_EQ(world.reads, 3);
}

TEST_F(UnknownPodTest, IsServedOnceServerAnswers) {
  world.answers = false;
  world.answers_read = 3;
  world.unseen["p0"] = object_of(
      "{metadata: {name: p0, namespace: ns, uid: p0}, spec: {containers: [{name: z, resources: "
      "{limits: {mig.das.com/1g.5gb: 1}}}, {name: a, resources: {limits: {mig.das.com/1g.5gb: "
      "1}}}]}}");
  ASSERT_TRUE(ask("1g.5gb", {"x"}).ok());
  EXPECT_EQ(world.claim("p0-z").state, kInUse);
  EXPECT_EQ(world.claim("p0-a").state, kCreated);
}

TEST(Ledger, LearnsIdsAfterARestart) {
  Ledger ledger;
  ledger.add({.profile = "1g.5gb", .pod_uid = "a", .container = "c", .cdi_id = "1"});
  const std::vector<Holder> holders{{"a", "c", "1g.5gb", {"x"}}};
  ledger.learn(holders);
  EXPECT_THAT(ledger.grants()[0].ids, ElementsAre("x"));
}

}  // namespace
}  // namespace athanor::das::allocate_test
