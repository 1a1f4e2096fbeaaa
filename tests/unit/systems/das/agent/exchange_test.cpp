// SPDX-License-Identifier: Apache-2.0
// Pods that the kubelet served in another order than the agent took it to (docs/spec/das.md N-B13).
#include "systems/das/agent/exchange.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systems/das/agent/start_up.hpp"
#include "unit/systems/das/agent/memory_world.hpp"

namespace athanor::das {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ExchangeTest : public testing::Test {
 protected:
  // Pods whose claims are as old as their order.
  void add(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) {
      world.add_pod(pod, "{containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
      world.add_claim(pod, pod + "-0", "1g.5gb", "c", pod[0] - 'a');
    }
  }
  // The kubelet asks for a pod; the agent takes it for the oldest.
  std::string ask(const std::string& pod, const std::string& device) {
    const auto devices =
        allocate(std::vector<DeviceAsk>{{.profile = "1g.5gb", .ids = {device}}}, ledger, world, {});
    EXPECT_TRUE(devices.ok()) << devices.error().message;
    hold(pod, device);
    return devices.ok() ? devices->front() : "";
  }
  void hold(const std::string& pod, const std::string& device) {
    held.push_back({.pod_uid = pod, .container = "c", .profile = "1g.5gb", .ids = {device}});
  }
  void compare() {
    world.steps.clear();
    das::compare(held, ledger, world, {});
  }
  std::string pod_of(const std::string& claim) { return world.claim(claim).pod_uid; }
  // An agent that starts.
  void restart() {
    std::vector<CdiSpec> files;
    for (const auto& [name, file] : world.files) {
      files.push_back(*parse_cdi(print_cdi(file, "/cdi")));
    }
    ledger = ledger_of(files, world.sight);
  }
  std::vector<std::string> file_of(const std::string& device) {
    for (const auto& [name, file] : world.files) {
      if (file.device() == device) {
        return file.env;
      }
    }
    return {};
  }

  MemoryWorld world;
  Ledger ledger;
  std::vector<Holder> held{};
};

TEST_F(ExchangeTest, ClaimsOfTwoPodsChangeTheirPods) {
  add({"a", "b"});
  const std::string of_b = ask("b", "x");
  const std::string of_a = ask("a", "y");
  const auto seen = file_of(of_b);
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(pod_of("b-0"), "a");
  EXPECT_EQ(file_of(of_b), seen) << "the container keeps its slice";
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
}

// The other pod may never be asked for: its end must not cost this one its slice.
TEST_F(ExchangeTest, AClaimThatNothingUsesGoesBack) {
  add({"a", "b"});
  const std::string of_b = ask("b", "x");
  compare();
  EXPECT_THAT(world.steps, ElementsAre("b-0 to a", "a-0 to b"));
  const std::string of_a = ask("a", "y");
  EXPECT_NE(of_a, of_b) << "a device of its own";
  EXPECT_THAT(file_of(of_b), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", testing::_));
  EXPECT_THAT(file_of(of_a), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-b-0", testing::_));
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
}

TEST_F(ExchangeTest, ACircleOfThreeIsUndone) {
  add({"a", "b", "c"});
  ask("b", "x");
  ask("c", "y");
  ask("a", "z");
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(pod_of("b-0"), "c");
  EXPECT_EQ(pod_of("c-0"), "a");
}

// The agent ends after any of the writes.
TEST_F(ExchangeTest, ARestartFinishesWhatBegan) {
  for (int writes = 0; writes <= 4; ++writes) {
    SCOPED_TRACE(writes);
    world = {};
    ledger = {};
    held.clear();
    add({"a", "b", "c"});
    ask("c", "x");
    ask("a", "y");  // b is yet to be asked for
    world.gives = writes;
    compare();
    EXPECT_EQ(world.steps.size(), static_cast<std::size_t>(writes));
    world.gives.reset();
    restart();
    compare();
    EXPECT_EQ(pod_of("a-0"), "c");
    EXPECT_EQ(pod_of("b-0"), "a");
    EXPECT_EQ(pod_of("c-0"), "b");
  }
}

// A write that fails in the middle leaves no container with the slices of two.
TEST_F(ExchangeTest, NoFileListsSlicesOfTwoPods) {
  add({"a", "b", "c"});
  ask("b", "x");
  ask("c", "y");
  const std::string of_a = ask("a", "z");
  world.gives = 2;
  compare();
  EXPECT_EQ(pod_of("c-0"), "c") << "the last one is not written";
  EXPECT_THAT(file_of(of_a), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-c-0", testing::_));
}

TEST_F(ExchangeTest, AWriteWithoutAnAnswerMayBeDone) {
  add({"a", "b"});
  const std::string of_b = ask("b", "x");
  world.unanswered_at = 2;
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(pod_of("b-0"), "a");
  const std::string of_a = ask("a", "y");
  EXPECT_THAT(file_of(of_a), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-b-0", testing::_));
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
  EXPECT_THAT(file_of(of_b), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", testing::_));
}

// The caches do not answer once the claims are written.
TEST_F(ExchangeTest, FilesKeepTheirSlicesWhenNothingIsSeen) {
  add({"a", "b"});
  const std::string of_b = ask("b", "x");
  world.unseen_at = world.looks + 2;
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_THAT(file_of(of_b), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", testing::_));
}

TEST_F(ExchangeTest, AnAnswerUnderWayIsWaitedFor) {
  add({"a", "b"});
  ask("b", "x");
  ask("a", "y");
  const Holder of_a = held.back();
  held.pop_back();  // not noted yet
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
  held.push_back(of_a);
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
}

// A kubelet ended before it noted that b has b-0, and the next one's question for b was taken for
// a's.
TEST_F(ExchangeTest, ALostGrantGoesWithItsClaim) {
  add({"b", "c"});
  ask("b", "x");
  held.clear();
  add({"a"});
  std::ranges::rotate(world.sight.claims, world.sight.claims.end() - 1);  // the oldest
  ledger.doubt();
  world.held.emplace();
  const std::string device = ask("b", "y");
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(pod_of("b-0"), "a");
  EXPECT_EQ(world.files.size(), 1U);
  EXPECT_THAT(file_of(device), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", testing::_));
}

// The kubelet frees devices of a pod that has ended before its claim goes.
TEST_F(ExchangeTest, DevicesThatAreHandedOutAgainAreNoMistake) {
  add({"a", "b"});
  ask("a", "x");
  world.set_status("a", "{phase: Running, startTime: '2026-01-01T00:00:00Z'}");
  held.clear();
  ask("b", "x");
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Destroy);
  EXPECT_EQ(pod_of("a-0"), "a");
}

// A kubelet ended before it noted that a has a-0. The next one, which does not say so, asks for a
// once more although it is being deleted: it is taken for b.
TEST_F(ExchangeTest, DevicesThatWereGivenToOnePodTwiceAreItsOwn) {
  add({"a", "b"});
  ask("a", "x");
  held.clear();
  world.mark_deleted("a");
  const std::string device = ask("a", "x");
  compare();
  EXPECT_EQ(pod_of("b-0"), "a");
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_THAT(file_of(device), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-b-0", testing::_));
}

TEST_F(ExchangeTest, APodOfTheSameNameIsNotTakenForTheHolder) {
  add({"a", "b"});
  ask("a", "x");
  world.sight.pods.erase("a");
  world.sight.pods["b"] = object_of("{metadata: {name: a, namespace: ns, uid: b}}");
  held = {{.pod_uid = "b", .container = "c", .profile = "1g.5gb", .ids = {"x"}}};
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
}

TEST_F(ExchangeTest, ASliceThatAnotherPodUsesOutlivesThePodOfItsClaim) {
  add({"a", "b"});
  ask("b", "x");
  const Claim before = world.claim("a-0");
  EXPECT_EQ(end_of(before, ledger, world, {}), Ending::Unknown) << "the kubelet does not answer";
  world.held = held;
  world.gives = 0;
  EXPECT_EQ(end_of(before, ledger, world, {}), Ending::Wait);
  world.gives.reset();
  EXPECT_EQ(end_of(before, ledger, world, {}), Ending::Another);
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Destroy);
}

TEST_F(ExchangeTest, AClaimThatWasNeverHandedOutEnds) {
  add({"a"});
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Destroy);
}

}  // namespace
}  // namespace athanor::das
