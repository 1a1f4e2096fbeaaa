// SPDX-License-Identifier: Apache-2.0
// Pods that the kubelet served in another order than the agent took it to (docs/spec/das.md N-B13).
#include "systems/das/agent/exchange.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "systems/das/agent/start_up.hpp"
#include "unit/systems/das/agent/memory_world.hpp"

namespace athanor::das::exchange_test {
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
  // The files as an agent reads them.
  std::vector<CdiSpec> written() {
    std::vector<CdiSpec> files;
    for (const auto& [name, file] : world.files) {
      files.push_back(*parse_cdi(print_cdi(file, "/cdi")));
    }
    return files;
  }
  // An agent that starts.
  void restart() { ledger = ledger_of(written(), world.sight); }
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
TEST_F(ExchangeTest, FinishesExchangeAfterRestart) {
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

// Four pods, asked for in another order than they are old, by a kubelet that forgets one answer; an
// agent that ends after any number of steps, and pods that end one after the other.
TEST_F(ExchangeTest, SurvivesEndOfAgentBetweenAnySteps) {
  const std::vector<std::string> order{"d", "c", "a", "b"};
  int died = 0;
  for (int steps = 0; died == steps; ++steps) {
    SCOPED_TRACE(steps);
    world = {};
    ledger = {};
    held.clear();
    add({"a", "b", "c", "d"});
    world.dies_after = steps;
    std::map<std::string, std::string> devices;  // by pod
    int tries = 0;
    const auto live = [&](const auto& act) {
      for (bool done = false; !done;) {
        world.held = held;
        try {
          act();
          done = true;
        } catch (const MemoryWorld::Died&) {
          ++died;
          restart();
        }
      }
    };
    for (const std::string& pod : order) {
      live([&] {
        const std::string id = fmt::format("id-{}", ++tries);
        const auto device =
            allocate(std::vector<DeviceAsk>{{.profile = "1g.5gb", .ids = {id}}}, ledger, world, {});
        ASSERT_TRUE(device.ok()) << device.error().message;
        if (pod == "c" && !devices.contains("d?")) {
          devices["d?"] = "";  // the kubelet ends before it notes the first answer for c
          ledger.doubt();
          const auto again = allocate(
              std::vector<DeviceAsk>{{.profile = "1g.5gb", .ids = {id + "'"}}}, ledger, world, {});
          ASSERT_TRUE(again.ok()) << again.error().message;
          hold(pod, id + "'");
          devices[pod] = again->front();
          return;
        }
        hold(pod, id);
        devices[pod] = device->front();
      });
      if (pod == "c" || pod == "b") {
        live([&] { das::compare(held, ledger, world, {}); });
      }
    }
    devices.erase("d?");
    live([&] { das::compare(held, ledger, world, {}); });
    for (const std::string& ended : order) {
      std::set<std::string> slices;
      for (const auto& [pod, device] : devices) {
        const auto env = file_of(device);
        ASSERT_FALSE(env.empty()) << pod << " has no file";
        const std::string slice = env.front().substr(env.front().find("MIG-") + 4);
        EXPECT_TRUE(slices.insert(slice).second) << slice << " is seen twice";
        EXPECT_EQ(pod_of(slice), pod) << "the claim of " << slice;
        EXPECT_EQ(world.claim(slice).state, kInUse);
      }
      world.sight.pods.erase(ended);
      devices.erase(ended);
      std::erase_if(held, [&](const Holder& one) { return one.pod_uid == ended; });
      live([&] {
        const std::vector<Claim> claims = world.sight.claims;
        for (const Claim& claim : claims) {
          if (claim.pod_uid != ended) {
            continue;
          }
          ASSERT_EQ(end_of(claim, ledger, world, {}), Ending::Destroy);
          drop_grant(claim, written(), ledger, world);
          std::erase_if(world.sight.claims,
                        [&](const Claim& one) { return one.object.uid() == claim.object.uid(); });
        }
      });
    }
    EXPECT_THAT(world.files, IsEmpty());
  }
  EXPECT_GT(died, 20);
}

TEST_F(ExchangeTest, FinishesBegunExchangeBeforeNextAnswer) {
  add({"a", "b"});
  const std::string of_b = ask("b", "x");
  world.gives = 1;
  compare();
  EXPECT_NE(world.exchange, "");
  EXPECT_FALSE(
      allocate(std::vector<DeviceAsk>{{.profile = "1g.5gb", .ids = {"y"}}}, ledger, world, {})
          .ok());
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Wait);
  world.gives.reset();
  const std::string of_a = ask("a", "y");
  EXPECT_EQ(world.exchange, "");
  EXPECT_THAT(file_of(of_a), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-b-0", testing::_));
  EXPECT_THAT(file_of(of_b), ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", testing::_));
}

TEST(Exchange, SurvivesWritingAndRefusesNonsense) {
  const Exchange exchange{.device = "d",
                          .from = {"a", "c"},
                          .to = {"b", "e"},
                          .transfers = {{.claim = {"ns", "claim"},
                                         .claim_uid = "u",
                                         .pod_uid = "b",
                                         .pod = {"default", "pod"},
                                         .container = "e"}},
                          .dropped = {{.profile = "1g.5gb", .id = "i"}}};
  const auto read = parse_exchange(print_exchange(exchange));
  ASSERT_TRUE(read);
  EXPECT_EQ(print_exchange(*read), print_exchange(exchange));
  EXPECT_EQ(read->to, exchange.to);
  EXPECT_FALSE(parse_exchange(""));
  EXPECT_FALSE(parse_exchange("{}"));
}

// The init container's devices are those of the container after it.
TEST_F(ExchangeTest, InitContainersAreExchangedWithTheirPods) {
  for (const char* pod : {"a", "b"}) {
    world.add_pod(pod,
                  "{initContainers: [{name: i, resources: {limits: {mig.das.com/1g.5gb: 1}}}], "
                  "containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}");
    world.add_claim(pod, std::string(pod) + "-0", "1g.5gb", "c", pod[0] - 'a');
  }
  const auto allocate_one = [&](const std::string& id) {
    const auto device =
        allocate(std::vector<DeviceAsk>{{.profile = "1g.5gb", .ids = {id}}}, ledger, world, {});
    EXPECT_TRUE(device.ok()) << device.error().message;
    return device.ok() ? device->front() : "";
  };
  const std::string init_of_b = allocate_one("x");
  const std::string main_of_b = allocate_one("x");
  hold("b", "x");
  compare();
  EXPECT_EQ(pod_of("a-0"), "b");
  EXPECT_EQ(world.claim("a-0").container, "c");
  EXPECT_EQ(world.claim("b-0").container, "c");
  for (const std::string& device : {init_of_b, main_of_b}) {
    EXPECT_THAT(file_of(device),
                ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-a-0", "CUDA_VISIBLE_DEVICES=0"));
  }
  const std::string init_of_a = allocate_one("y");
  const std::string main_of_a = allocate_one("y");
  hold("a", "y");
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
  for (const std::string& device : {init_of_a, main_of_a}) {
    EXPECT_THAT(file_of(device),
                ElementsAre("NVIDIA_VISIBLE_DEVICES=MIG-b-0", "CUDA_VISIBLE_DEVICES=0"));
  }
}

// The kubelet lists a pod that the caches do not show yet.
TEST_F(ExchangeTest, KeepsSliceOfPodNotSeenYet) {
  add({"a", "b"});
  ask("b", "x");
  world.held = {{.container = "c", .profile = "1g.5gb", .ids = {"x"}, .pod = {"ns", "b"}}};
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Unknown);
  world.held = {{.container = "c", .profile = "1g.5gb", .ids = {"x"}, .pod = {"ns", "a"}}};
  EXPECT_EQ(end_of(world.claim("a-0"), ledger, world, {}), Ending::Destroy);
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
TEST_F(ExchangeTest, AcceptsDevicesHandedOutAgain) {
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
TEST_F(ExchangeTest, KeepsDevicesGivenTwiceToOnePod) {
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

TEST_F(ExchangeTest, DistinguishesHolderFromPodOfSameName) {
  add({"a", "b"});
  ask("a", "x");
  world.sight.pods.erase("a");
  world.sight.pods["b"] = object_of("{metadata: {name: a, namespace: ns, uid: b}}");
  held = {{.pod_uid = "b", .container = "c", .profile = "1g.5gb", .ids = {"x"}}};
  compare();
  EXPECT_THAT(world.steps, IsEmpty());
}

TEST_F(ExchangeTest, KeepsSliceWhileAnotherPodUsesIt) {
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
}  // namespace athanor::das::exchange_test
