// SPDX-License-Identifier: Apache-2.0
// Probes, hooks and native sidecars of a pod, as a kubelet runs them.
#include <gtest/gtest.h>

#include <string>

#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/pod_status.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::pod_machine_life_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class PodLife : public testing::Test {
 protected:
  void make(const std::string& spec) {
    machine.emplace(yaml::parse("{uid: u, ns: ns, name: p, grace: 30, " + spec + "}").value());
  }
  // "run 0, probe 0 liveness, hook 0 preStop".
  std::string advance() {
    orders.clear();
    machine->advance(now, orders);
    std::string text;
    for (const Order& order : orders) {
      const char* const kVerbs[] = {"run", "terminate", "kill", "skip", "probe", "hook"};
      text += (text.empty() ? "" : ", ") +
              std::string(kVerbs[static_cast<std::size_t>(order.type)]) + " " +
              std::to_string(order.container);
      if (order.type == Order::Type::Probe) {
        text += " " + std::string(probe_member(order.probe));
      } else if (order.type == Order::Type::Hook) {
        text += " " + std::string(hook_member(order.hook));
      }
    }
    return text;
  }
  std::string after(Duration time) {
    now += time;
    return advance();
  }
  // Answers what was asked last.
  void answer(bool success, const std::string& message = "no") {
    for (const Order& order : std::vector<Order>(orders)) {
      if (order.type == Order::Type::Probe) {
        machine->probed(order, {.success = success, .message = message}, now);
      } else if (order.type == Order::Type::Hook) {
        machine->hooked(order, success, now);
      }
    }
  }
  // "Unhealthy: Liveness probe failed: no|..."; they are written then.
  std::string events() {
    std::string text;
    const Value state = machine->state();
    for (const Value& event : state["events"].items()) {
      text += (text.empty() ? "" : "|") + event["reason"].str() + ": " + event["note"].str();
      machine->events_written(event["number"].as_int());
    }
    return text;
  }
  // The member of the container's state.
  Value of(const char* list, std::size_t index, const char* member) {
    return machine->state()[list][index][member];
  }

  Instant now{seconds(1'800'000'000)};
  std::optional<PodMachine> machine{};
  std::vector<Order> orders{};
};

TEST_F(PodLife, AContainerIsReadyOnceItsProbePasses) {
  make(
      "restartPolicy: Always, containers: [{name: a, probes: {readiness: {initialDelaySeconds: 3, "
      "periodSeconds: 5, failureThreshold: 2, successThreshold: 2}}}]");
  EXPECT_EQ(advance(), "run 0");
  EXPECT_EQ(of("containers", 0, "ready"), Value(false));
  EXPECT_EQ(of("containers", 0, "started"), Value(true));
  EXPECT_EQ(machine->next_due(), now + seconds(3));
  EXPECT_EQ(after(seconds(3)), "probe 0 readiness");
  EXPECT_FALSE(machine->next_due()) << "one at a time";
  answer(true);
  EXPECT_EQ(of("containers", 0, "ready"), Value(false)) << "twice";
  EXPECT_EQ(after(seconds(5)), "probe 0 readiness");
  answer(true);
  EXPECT_EQ(of("containers", 0, "ready"), Value(true));
  EXPECT_EQ(events(), "");
  after(seconds(5));
  answer(false);
  EXPECT_EQ(of("containers", 0, "ready"), Value(true)) << "once is not enough";
  after(seconds(5));
  answer(false);
  EXPECT_EQ(of("containers", 0, "ready"), Value(false));
  EXPECT_EQ(events(),
            "Unhealthy: Readiness probe failed: no|Unhealthy: Readiness probe failed: no");
  EXPECT_EQ(advance(), "") << "a container that is not ready is not ended";
}

TEST_F(PodLife, LivenessEndsAndRestartsTheContainer) {
  make(
      "restartPolicy: Always, containers: [{name: a, probes: {liveness: {periodSeconds: 2, "
      "failureThreshold: 2, graceSeconds: 4}}}]");
  EXPECT_EQ(advance(), "run 0, probe 0 liveness");
  answer(false);
  EXPECT_EQ(after(seconds(2)), "probe 0 liveness");
  answer(false);
  EXPECT_EQ(events(),
            "Unhealthy: Liveness probe failed: no|Unhealthy: Liveness probe failed: no|"
            "Killing: Container a failed liveness probe, will be restarted");
  EXPECT_EQ(advance(), "terminate 0");
  EXPECT_EQ(after(seconds(4)), "kill 0") << "the probe's own grace";
  machine->exited(0, 137, "", now);
  EXPECT_EQ(advance(), "run 0, probe 0 liveness");
  EXPECT_EQ(of("containers", 0, "restarts"), Value(1));
}

TEST_F(PodLife, AnAnswerAboutAnEarlierRunMeansNothing) {
  make("restartPolicy: Always, containers: [{name: a, probes: {liveness: {failureThreshold: 1}}}]");
  EXPECT_EQ(advance(), "run 0, probe 0 liveness");
  const std::vector<Order> before = orders;
  machine->exited(0, 1, "", now);
  EXPECT_EQ(advance(), "run 0, probe 0 liveness");
  machine->probed(before[1], {.message = "old"}, now);
  EXPECT_EQ(advance(), "");
  EXPECT_EQ(events(), "");
}

TEST_F(PodLife, AStartupProbeHoldsTheOthersBack) {
  make(
      "restartPolicy: Always, containers: [{name: a, probes: {startup: {periodSeconds: 1, "
      "failureThreshold: 3}, liveness: {initialDelaySeconds: 2}, readiness: {}}}]");
  EXPECT_EQ(advance(), "run 0, probe 0 startup");
  EXPECT_EQ(of("containers", 0, "started"), Value(false));
  answer(false);
  EXPECT_EQ(after(seconds(1)), "probe 0 startup");
  answer(true);
  EXPECT_EQ(of("containers", 0, "started"), Value(true));
  EXPECT_EQ(of("containers", 0, "ready"), Value(false));
  EXPECT_EQ(advance(), "probe 0 readiness");
  EXPECT_EQ(after(seconds(1)), "probe 0 liveness");
  EXPECT_EQ(events(), "Unhealthy: Startup probe failed: no");
}

TEST_F(PodLife, FailsUnrestartedPodByItsProbe) {
  make("restartPolicy: Never, containers: [{name: a, probes: {startup: {failureThreshold: 1}}}]");
  advance();
  answer(false);
  EXPECT_EQ(events(),
            "Unhealthy: Startup probe failed: no|Killing: Container a failed startup probe");
  EXPECT_EQ(advance(), "terminate 0");
  machine->exited(0, 143, "", now);
  EXPECT_TRUE(machine->over());
}

TEST_F(PodLife, APostStartHookComesBeforeProbes) {
  make(
      "restartPolicy: Always, containers: [{name: a, postStart: {type: exec}, probes: {readiness: "
      "{}}}]");
  EXPECT_EQ(advance(), "run 0, hook 0 postStart");
  EXPECT_EQ(of("containers", 0, "state"), Value("waiting"));
  answer(true);
  EXPECT_EQ(of("containers", 0, "state"), Value("running"));
  EXPECT_EQ(advance(), "probe 0 readiness");
}

TEST_F(PodLife, AFailedPostStartHookEndsTheContainer) {
  make("restartPolicy: Always, containers: [{name: a, postStart: {type: exec}}]");
  advance();
  answer(false);
  EXPECT_EQ(advance(), "terminate 0");
  EXPECT_EQ(events(), "FailedPostStartHook: PostStartHook failed|Killing: FailedPostStartHook");
  machine->exited(0, 143, "", now);
  EXPECT_EQ(advance(), "run 0, hook 0 postStart");
}

TEST_F(PodLife, RunsPreStopHookBeforeSignalWithinGrace) {
  make("containers: [{name: a, preStop: {type: exec}}]");
  advance();
  machine->stop(seconds(10), now);
  EXPECT_EQ(advance(), "hook 0 preStop");
  const std::vector<Order> hook = orders;
  EXPECT_EQ(after(seconds(4)), "");
  orders = hook;
  answer(false);
  EXPECT_EQ(advance(), "terminate 0");
  EXPECT_EQ(events(), "Killing: Stopping container a|FailedPreStopHook: PreStopHook failed");
  EXPECT_EQ(after(seconds(6)), "kill 0");
}

TEST_F(PodLife, AHookThatNeverEndsLeavesTwoSeconds) {
  make("containers: [{name: a, preStop: {type: sleep, seconds: 100}}]");
  advance();
  machine->stop(seconds(10), now);
  EXPECT_EQ(advance(), "");
  EXPECT_EQ(machine->next_due(), now + seconds(10));
  EXPECT_EQ(after(seconds(10)), "terminate 0");
  EXPECT_EQ(after(seconds(1)), "");
  EXPECT_EQ(after(seconds(1)), "kill 0");
  EXPECT_FALSE(machine->next_due());
}

TEST_F(PodLife, ASleepingHookTakesItsTime) {
  make(
      "containers: [{name: a, postStart: {type: sleep, seconds: 2}, preStop: {type: sleep, "
      "seconds: 3}}]");
  EXPECT_EQ(advance(), "run 0");
  EXPECT_EQ(of("containers", 0, "state"), Value("waiting"));
  EXPECT_EQ(after(seconds(2)), "");
  EXPECT_EQ(of("containers", 0, "state"), Value("running"));
  machine->stop(seconds(30), now);
  EXPECT_EQ(advance(), "");
  EXPECT_EQ(after(seconds(3)), "terminate 0");
}

TEST_F(PodLife, AGraceOfZeroSkipsHooks) {
  make("containers: [{name: a, preStop: {type: exec}}]");
  advance();
  machine->stop(seconds(0), now);
  EXPECT_EQ(advance(), "kill 0");
}

constexpr const char* kWithSidecars =
    "restartPolicy: Never, init: [{name: s, native: true, probes: {startup: {periodSeconds: 1}}}, "
    "{name: i}, {name: t, native: true}], containers: [{name: a}]";

TEST_F(PodLife, NativeSidecarsStartInOrderAndEndLast) {
  make(kWithSidecars);
  EXPECT_EQ(advance(), "run 0, probe 0 startup");
  answer(false);
  EXPECT_EQ(advance(), "") << "the next one waits for its startup probe";
  EXPECT_EQ(after(seconds(1)), "probe 0 startup");
  answer(true);
  EXPECT_EQ(advance(), "run 1");
  machine->exited(1, 0, "", now);
  EXPECT_EQ(advance(), "run 2, run 3");
  EXPECT_EQ(of("init", 0, "sidecar"), Value(true));
  EXPECT_FALSE(all_ended(machine->state()));
  machine->exited(3, 0, "", now);
  EXPECT_FALSE(machine->over());
  EXPECT_FALSE(all_ended(machine->state())) << "sidecars still run";
  EXPECT_EQ(advance(), "terminate 2");
  machine->exited(2, 143, "", now);
  EXPECT_EQ(advance(), "terminate 0");
  machine->exited(0, 137, "", now);
  EXPECT_TRUE(machine->over());
  EXPECT_TRUE(all_ended(machine->state()));
}

TEST_F(PodLife, RestartsNativeSidecarUnderAnyPolicy) {
  make(kWithSidecars);
  advance();
  answer(true);
  advance();
  machine->exited(1, 0, "", now);
  EXPECT_EQ(advance(), "run 2, run 3");
  machine->exited(2, 0, "", now);
  EXPECT_EQ(advance(), "run 2");
  machine->exited(2, 0, "", now);
  EXPECT_EQ(advance(), "");
  EXPECT_EQ(of("init", 2, "reason"), Value("CrashLoopBackOff"));
  EXPECT_EQ(after(seconds(10)), "run 2");
  machine->exited(2, 1, "", now);
  machine->exited(3, 0, "", now);
  EXPECT_EQ(advance(), "terminate 0");
  machine->exited(0, 0, "", now);
  EXPECT_TRUE(machine->over()) << "one that waits for its restart does not keep the pod";
}

TEST_F(PodLife, EndsSidecarsAfterOtherContainers) {
  make(kWithSidecars);
  advance();
  answer(true);
  advance();
  machine->exited(1, 0, "", now);
  advance();
  machine->stop(seconds(5), now);
  EXPECT_EQ(advance(), "terminate 3");
  machine->exited(3, 143, "", now);
  EXPECT_EQ(advance(), "terminate 2");
  EXPECT_EQ(after(seconds(5)), "terminate 0, kill 2") << "the grace is the pod's";
  machine->exited(2, 137, "", now);
  EXPECT_EQ(after(seconds(2)), "kill 0");
}

TEST_F(PodLife, AFailedInitContainerEndsItsSidecars) {
  make(kWithSidecars);
  advance();
  answer(true);
  advance();
  machine->exited(1, 3, "", now);
  EXPECT_EQ(advance(), "terminate 0");
  machine->exited(0, 0, "", now);
  EXPECT_TRUE(machine->over());
  EXPECT_TRUE(all_ended(machine->state()));
}

TEST_F(PodLife, StepsWaitForTheirSidecars) {
  make(
      "restartPolicy: Never, sequential: true, containers: [{name: step-a}, {name: sidecar-s, "
      "sidecar: true, probes: {readiness: {periodSeconds: 1}}}]");
  EXPECT_EQ(advance(), "run 1, probe 1 readiness");
  answer(false);
  EXPECT_EQ(after(seconds(1)), "probe 1 readiness");
  answer(true);
  EXPECT_EQ(advance(), "run 0");
}

TEST_F(PodLife, BackOffStartsAnewAfterALongRun) {
  make("restartPolicy: Always, containers: [{name: a}]");
  advance();
  machine->exited(0, 1, "", now);
  EXPECT_EQ(advance(), "run 0");
  machine->exited(0, 1, "", now);
  EXPECT_EQ(advance(), "");
  EXPECT_EQ(events(), "BackOff: Back-off restarting failed container a in pod p_ns(u)");
  EXPECT_EQ(after(seconds(10)), "run 0");
  now += minutes(10);
  machine->exited(0, 1, "", now);
  EXPECT_EQ(advance(), "run 0") << "at once, as the first time";
  EXPECT_EQ(of("containers", 0, "restarts"), Value(3));
}

TEST_F(PodLife, OwnPoliciesAndRulesOfContainersWin) {
  struct Case {
    const char* members;
    int code;
    bool restarts;
  };
  const char* const rule =
      "ownRestartPolicy: Never, restartRules: [{action: Restart, exitCodes: {operator: In, values: "
      "[42]}}]";
  const char* const not_in =
      "ownRestartPolicy: Never, restartRules: [{action: Restart, exitCodes: {operator: NotIn, "
      "values: [42]}}]";
  for (const Case& c :
       {Case{"ownRestartPolicy: Never", 1, false}, Case{"ownRestartPolicy: OnFailure", 0, false},
        Case{"ownRestartPolicy: OnFailure", 1, true}, Case{rule, 42, true}, Case{rule, 1, false},
        Case{not_in, 42, false}, Case{not_in, 1, true}}) {
    make(std::string("restartPolicy: Always, containers: [{name: a, ") + c.members + "}]");
    advance();
    machine->exited(0, c.code, "", now);
    EXPECT_EQ(advance(), c.restarts ? "run 0" : "") << c.members << c.code;
  }
}

TEST_F(PodLife, EventsAreBoundedAndWrittenOnce) {
  make("restartPolicy: Always, containers: [{name: a, probes: {readiness: {periodSeconds: 1}}}]");
  advance();
  for (int i = 0; i < 100; ++i) {
    answer(false, std::to_string(i));
    after(seconds(1));
  }
  const Value all = machine->state()["events"];
  EXPECT_EQ(all.size(), 32U);
  EXPECT_EQ(all[31]["note"], Value("Readiness probe failed: 99"));
  machine->events_written(all[31]["number"].as_int());
  EXPECT_FALSE(machine->state().contains("events"));
}

}  // namespace
}  // namespace athanor::nodes::pod_machine_life_test
