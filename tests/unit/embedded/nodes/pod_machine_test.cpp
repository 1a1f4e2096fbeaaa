// SPDX-License-Identifier: Apache-2.0
// The order, restarts and ends of a pod's containers.
#include "embedded/nodes/pod_machine.hpp"

#include <gtest/gtest.h>

#include <string>

#include "embedded/nodes/pod_status.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::pod_machine_test {
namespace {

using std::chrono::seconds;

class PodMachineTest : public testing::Test {
 protected:
  PodMachine make(const std::string& spec) {
    return PodMachine(yaml::parse("{uid: u, ns: ns, name: p, " + spec + "}").value());
  }
  // "run 0, kill 1".
  std::string advance(PodMachine& machine) {
    std::vector<Order> orders;
    machine.advance(now, orders);
    std::string text;
    for (const Order& order : orders) {
      const char* verb = order.type == Order::Type::Run         ? "run "
                         : order.type == Order::Type::Terminate ? "terminate "
                         : order.type == Order::Type::Skip      ? "skip "
                                                                : "kill ";
      text += (text.empty() ? "" : ", ") + std::string(verb) + std::to_string(order.container);
    }
    return text;
  }

  Instant now{seconds(1'800'000'000)};
};

TEST_F(PodMachineTest, ContainersStartTogetherInitContainersOneByOne) {
  PodMachine machine = make("init: [{name: i}, {name: j}], containers: [{name: a}, {name: b}]");
  EXPECT_EQ(advance(machine), "run 0");
  EXPECT_EQ(advance(machine), "");
  machine.exited(0, 0, "", now);
  EXPECT_EQ(advance(machine), "run 1");
  machine.exited(1, 0, "", now);
  EXPECT_EQ(advance(machine), "run 2, run 3");
  machine.exited(2, 0, "", now);
  EXPECT_FALSE(machine.over());
  machine.exited(3, 0, "", now);
  EXPECT_TRUE(machine.over());
  EXPECT_TRUE(all_ended(machine.state()));
}

TEST_F(PodMachineTest, RetriesUnmadeContainerAfterBackOff) {
  PodMachine machine = make("restartPolicy: Never, containers: [{name: a}, {name: b}]");
  EXPECT_EQ(advance(machine), "run 0, run 1");
  machine.not_made(0, "no device", now);
  EXPECT_EQ(advance(machine), "");
  const Value waits = machine.state()["containers"][0];
  EXPECT_EQ(waits["state"], Value("waiting"));
  EXPECT_EQ(waits["reason"], Value("CreateContainerError"));
  EXPECT_EQ(waits["message"], Value("no device"));
  EXPECT_EQ(waits["restarts"], Value(0));
  EXPECT_EQ(machine.next_due(), now + seconds(10));
  now += seconds(10);
  EXPECT_EQ(advance(machine), "run 0");
  machine.not_made(0, "no device", now);
  EXPECT_EQ(machine.next_due(), now + seconds(20));
  now += seconds(20);
  EXPECT_EQ(advance(machine), "run 0");
  EXPECT_EQ(machine.state()["containers"][0]["state"], Value("running"));
  machine.exited(0, 0, "", now);
  machine.exited(1, 0, "", now);
  EXPECT_TRUE(machine.over());
}

TEST_F(PodMachineTest, SkipsStepWithFailedGuardsAndContinues) {
  PodMachine machine = make(
      "sequential: true, containers: [{name: step-a}, {name: step-b, when: [{input: "
      "'$(steps.a.results.go)', operator: in, values: ['yes']}]}, {name: step-c, when: [{input: "
      "'$(steps.a.results.go)', operator: notin, values: ['yes']}], command: [echo, "
      "'$(steps.a.results.go)']}]");
  EXPECT_EQ(advance(machine), "run 0");
  machine.exited(0, 0, R"([{"key":"go","value":"no","type":4}])", now);
  EXPECT_EQ(advance(machine), "skip 1, run 2");
  EXPECT_EQ(machine.container(2)["command"][1], Value("no"));
  machine.exited(2, 0, "", now);
  EXPECT_EQ(advance(machine), "");
  EXPECT_TRUE(machine.over());
  const Value skipped = machine.state()["containers"][1];
  EXPECT_EQ(skipped["exitCode"].as_int(-1), 0);
  EXPECT_EQ(skipped["message"], Value(R"([{"key":"Reason","value":"Skipped","type":3}])"));
}

TEST_F(PodMachineTest, FailsStepWhoseTextsGrowTooLarge) {
  std::string word;
  for (int i = 0; i < 5; ++i) {
    word += "$(steps.a.results.big)";
  }
  PodMachine machine =
      make("sequential: true, containers: [{name: step-a}, {name: step-b, command: ['" + word +
           "']}, {name: step-c}]");
  EXPECT_EQ(advance(machine), "run 0");
  machine.exited(0, 0, R"([{"key":"big","value":")" + std::string(1 << 20, 'x') + R"(","type":4}])",
                 now);
  EXPECT_EQ(advance(machine), "");
  EXPECT_TRUE(machine.over());
  const Value failed = machine.state()["containers"][1];
  EXPECT_EQ(failed["exitCode"].as_int(-1), 1);
  EXPECT_EQ(failed["message"],
            Value("$(steps.a.results.big) makes the texts of the step larger than 4 MiB"));
  EXPECT_EQ(machine.state()["containers"][2]["reason"], Value("Skipped"));
}

TEST_F(PodMachineTest, RunsSidecarsFromFirstStepToLast) {
  PodMachine machine = make(
      "restartPolicy: Never, grace: 5, sequential: true, containers: [{name: step-a}, {name: "
      "step-b}, {name: sidecar-s, sidecar: true}, {name: sidecar-t, sidecar: true}]");
  EXPECT_EQ(advance(machine), "run 2, run 3, run 0");
  machine.exited(0, 0, "", now);
  EXPECT_EQ(advance(machine), "run 1");
  machine.exited(1, 0, "", now);
  EXPECT_FALSE(machine.over());
  EXPECT_EQ(advance(machine), "terminate 2, terminate 3");
  EXPECT_EQ(advance(machine), "");
  machine.exited(2, 143, "", now);
  EXPECT_EQ(machine.next_due(), now + seconds(5));
  now += seconds(5);
  EXPECT_EQ(advance(machine), "kill 3");
  machine.exited(3, 137, "", now);
  EXPECT_TRUE(machine.over());
  for (const std::size_t i : {2U, 3U}) {
    const Value sidecar = machine.state()["containers"][i];
    EXPECT_EQ(sidecar["exitCode"].as_int(-1), 0);
    EXPECT_EQ(sidecar["message"], Value("Sidecar container successfully stopped by nop image"));
  }
}

TEST_F(PodMachineTest, KeepsExitCodeOfUnrestartedSidecarOnly) {
  PodMachine machine = make(
      "restartPolicy: Never, sequential: true, containers: [{name: step-a}, {name: sidecar-s, "
      "sidecar: true}, {name: sidecar-t, sidecar: true, restartPolicy: Always}]");
  EXPECT_EQ(advance(machine), "run 1, run 2, run 0");
  machine.exited(1, 3, "", now);
  machine.exited(2, 4, "", now);
  EXPECT_EQ(advance(machine), "run 2");
  machine.exited(2, 4, "", now);
  machine.exited(0, 0, "", now);
  EXPECT_EQ(advance(machine), "");
  EXPECT_TRUE(machine.over()) << "one that waits for its restart is over with the steps";
  EXPECT_EQ(machine.state()["containers"][1]["exitCode"].as_int(), 3);
  EXPECT_EQ(machine.state()["containers"][2]["exitCode"].as_int(-1), 0);
}

TEST_F(PodMachineTest, AddsEphemeralContainersThatKeepNoPodAlive) {
  PodMachine machine = make("restartPolicy: Always, containers: [{name: a}]");
  advance(machine);
  const Value debug = Value::object({{"name", "d"}});
  machine.add_ephemeral(debug);
  machine.add_ephemeral(debug);
  EXPECT_EQ(advance(machine), "run 1");
  machine.exited(1, 1, "", now);
  EXPECT_EQ(advance(machine), "") << "never again";
  EXPECT_EQ(machine.state()["ephemeral"][0]["exitCode"].as_int(), 1);
  EXPECT_EQ(machine.state()["containers"].size(), 1U);
  PodMachine once = make("restartPolicy: Never, containers: [{name: a}], ephemeral: [{name: d}]");
  EXPECT_EQ(advance(once), "run 1, run 0");
  once.exited(0, 0, "", now);
  EXPECT_EQ(advance(once), "kill 1");
  EXPECT_FALSE(once.over());
  once.exited(1, 137, "", now);
  EXPECT_TRUE(once.over());
  EXPECT_EQ(once.state()["containers"][0]["exitCode"].as_int(-1), 0);
}

TEST_F(PodMachineTest, RestartPolicies) {
  struct Case {
    const char* policy;
    int code;
    bool restarts;
  };
  for (const Case& c :
       {Case{"Never", 0, false}, Case{"Never", 1, false}, Case{"OnFailure", 0, false},
        Case{"OnFailure", 1, true}, Case{"Always", 0, true}, Case{"Always", 1, true}}) {
    PodMachine machine =
        make(std::string("restartPolicy: ") + c.policy + ", containers: [{name: a}]");
    advance(machine);
    machine.exited(0, c.code, "", now);
    EXPECT_EQ(advance(machine), c.restarts ? "run 0" : "") << c.policy << c.code;
    EXPECT_EQ(machine.over(), !c.restarts) << c.policy << c.code;
    EXPECT_EQ(all_ended(machine.state()), !c.restarts) << c.policy << c.code;
  }
}

TEST_F(PodMachineTest, EndsPodAfterFailedInitContainerUnlessRestarting) {
  PodMachine never = make("restartPolicy: Never, init: [{name: i}], containers: [{name: a}]");
  advance(never);
  never.exited(0, 2, "", now);
  EXPECT_EQ(advance(never), "");
  EXPECT_TRUE(never.over());
  EXPECT_TRUE(all_ended(never.state()));
  PodMachine always = make("restartPolicy: Always, init: [{name: i}], containers: [{name: a}]");
  advance(always);
  always.exited(0, 2, "", now);
  EXPECT_FALSE(all_ended(always.state()));
  EXPECT_EQ(advance(always), "run 0");
}

TEST_F(PodMachineTest, ReportsAndKeepsBackOff) {
  PodMachine machine = make("restartPolicy: Always, containers: [{name: a}]");
  advance(machine);
  machine.exited(0, 1, "", now);
  EXPECT_EQ(advance(machine), "run 0");
  machine.exited(0, 1, "", now);
  EXPECT_EQ(advance(machine), "");
  const Value state = machine.state()["containers"][0];
  EXPECT_EQ(state["reason"].str(), "CrashLoopBackOff");
  EXPECT_EQ(state["message"].str(), "back-off 10s restarting failed container=a pod=p_ns(u)");
  EXPECT_EQ(state["restarts"], Value(1)) << "two runs";
  EXPECT_EQ(*machine.next_due(), now + seconds(10));
  now += seconds(10);
  EXPECT_EQ(advance(machine), "run 0");
  EXPECT_FALSE(machine.next_due());
  EXPECT_EQ(machine.state()["containers"][0]["restarts"], Value(2));
  machine.not_made(0, "no device", now);
  now += seconds(10);
  EXPECT_EQ(advance(machine), "run 0");
  EXPECT_EQ(machine.state()["containers"][0]["restarts"], Value(2)) << "one run in two attempts";
}

TEST_F(PodMachineTest, StoppingIsPoliteThenDeadlyAndAskedOnce) {
  PodMachine machine = make("restartPolicy: Always, containers: [{name: a}, {name: b}]");
  advance(machine);
  machine.stop(seconds(30), now);
  EXPECT_EQ(advance(machine), "terminate 0, terminate 1");
  EXPECT_EQ(advance(machine), "");
  EXPECT_EQ(*machine.next_due(), now + seconds(30));
  machine.exited(0, 143, "", now);
  now += seconds(30);
  EXPECT_EQ(advance(machine), "kill 1");
  EXPECT_EQ(advance(machine), "");
  EXPECT_FALSE(machine.next_due()) << "or a loop would spin";
  machine.exited(1, 137, "", now);
  EXPECT_TRUE(machine.over());
}

TEST_F(PodMachineTest, AShorterGraceWins) {
  PodMachine machine = make("containers: [{name: a}]");
  advance(machine);
  machine.stop(seconds(30), now);
  advance(machine);
  machine.stop(seconds(0), now);
  EXPECT_EQ(advance(machine), "kill 0");
}

TEST_F(PodMachineTest, EndsUnstartedContainersOnStop) {
  PodMachine machine = make("sequential: true, containers: [{name: a}, {name: b}]");
  advance(machine);
  machine.stop(seconds(1), now);
  machine.exited(0, 143, "", now);
  EXPECT_EQ(advance(machine), "");
  EXPECT_TRUE(all_ended(machine.state()));
  EXPECT_EQ(machine.state()["containers"][1]["exitCode"].as_int(), 137);
}

TEST_F(PodMachineTest, NotesFailureOfAnUnknownImage) {
  PodMachine machine = make(
      "containers: [{name: a, unknownImage: 'team/tool:1'}, {name: b}, "
      "{name: c, unknownImage: 'team/tool:1'}]");
  advance(machine);
  machine.exited(0, 2, "", now);
  machine.exited(1, 2, "", now);
  machine.exited(2, 0, "", now);
  const Value state = machine.state();
  ASSERT_EQ(state["events"].size(), 1U);
  EXPECT_EQ(state["events"][0]["reason"], Value("ImageNotRun"));
  EXPECT_NE(state["events"][0]["note"].str().find("--pods timed"), std::string::npos);
}

TEST_F(PodMachineTest, FailingEndsEverything) {
  PodMachine machine = make("restartPolicy: Always, init: [{name: i}], containers: [{name: a}]");
  machine.fail("no disk", now);
  EXPECT_EQ(advance(machine), "");
  EXPECT_TRUE(machine.over());
  EXPECT_FALSE(machine.next_due());
  EXPECT_TRUE(all_ended(machine.state()));
}

}  // namespace
}  // namespace athanor::nodes::pod_machine_test
