// SPDX-License-Identifier: Apache-2.0
// Pods in virtual time, and the same on a clock that runs.
#include "embedded/nodes/timed/timed_pods.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/pod_status.hpp"
#include "embedded/nodes/timed/timed_runtime.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::timed_pods_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TimedPodsTest : public testing::Test {
 protected:
  void start(const std::string& more) {
    Value spec =
        yaml::parse("{uid: u, ns: ns, name: p, " +
                    std::string(more.starts_with("restartPolicy") ? "" : "restartPolicy: Never, ") +
                    more + "}")
            .value();
    pods.start(spec, now);
    tell();
  }
  void tell() {
    for (auto& [query, state] : pods.advance(now)) {
      EXPECT_EQ(query, "pod:ns/p");
      last = std::move(state);
      ++told;
    }
  }
  // Goes from event to event until nothing is due; the time that took.
  Duration run() {
    const Instant begin = now;
    for (int events = 0; pods.next_due() && events < 1000; ++events) {
      now = *pods.next_due();
      tell();
    }
    return now - begin;
  }
  Value container(std::size_t index) { return last["containers"][index]; }

  TimedPods pods{};
  Instant now{seconds(1'800'000'000)};
  Value last{};
  int told = 0;
};

TEST_F(TimedPodsTest, RunsSidecarsWithStepsAndSkipsInstantly) {
  start(
      "sequential: true, containers: [{name: step-a, stepResults: [go]}, {name: step-b, when: "
      "[{input: $(steps.a.results.go), operator: in, values: ['yes']}]}, {name: sidecar-s, "
      "sidecar: "
      "true}], simulate: {/a: {seconds: 2, results: {go: 'no'}}}");
  EXPECT_EQ(run(), seconds(2));
  EXPECT_EQ(container(1)["message"], Value(R"([{"key":"Reason","value":"Skipped","type":3}])"));
  EXPECT_EQ(container(2)["exitCode"].as_int(-1), 0);
  EXPECT_EQ(container(2)["message"], Value("Sidecar container successfully stopped by nop image"));
  EXPECT_TRUE(all_ended(last));
}

TEST_F(TimedPodsTest, ACommandThatSleepsTakesItsTime) {
  struct Case {
    const char* command;
    Duration time;
  };
  for (const Case& c :
       {Case{"[sleep, '3']", seconds(3)}, Case{"[/bin/sleep, 2m]", seconds(120)},
        Case{"[sh, -c, 'echo a; sleep 0.5; sleep 1.5 && exit 1']", seconds(2)},
        Case{"[sh, -c, 'echo sleep; sleepy 4']", milliseconds(100)}, Case{"[sleep, infinity]", {}},
        Case{"[sh, -c, 'while true; do sleep 1; done']", {}}}) {
    pods = TimedPods();
    start(std::string("containers: [{name: c, command: ") + c.command + "}]");
    EXPECT_EQ(run(), c.time) << c.command;
    EXPECT_EQ(all_ended(last), c.time > Duration::zero()) << c.command;
  }
  pods = TimedPods();
  start("sequential: true, containers: [{name: c, command: [sleep, '3']}]");
  EXPECT_EQ(run(), milliseconds(100)) << "steps have their own times";
}

TEST_F(TimedPodsTest, ImageInLabFileSaysTheTime) {
  struct Case {
    const char* container;
    Duration time;
  };
  for (const Case& c :
       {Case{"{name: c, seconds: 2.5}", milliseconds(2500)},
        Case{"{name: c, seconds: 7, command: [sleep, '3']}", seconds(3)},
        Case{"{name: c, seconds: 7}], simulate: {c: {seconds: 4}}, x: [", seconds(4)}}) {
    pods = TimedPods();
    start("containers: [" + std::string(c.container) + "]");
    EXPECT_EQ(run(), c.time) << c.container;
  }
  pods = TimedPods();
  start("restartPolicy: Always, containers: [{name: c, seconds: 2}]");
  EXPECT_EQ(run(), Duration::zero());
}

TEST_F(TimedPodsTest, MakesContainerReadyAfterProbeDelay) {
  start(
      "restartPolicy: Always, containers: [{name: c, probes: {readiness: {initialDelaySeconds: 5, "
      "periodSeconds: 1}}}]");
  EXPECT_EQ(container(0)["ready"], Value(false));
  EXPECT_EQ(run(), seconds(5));
  EXPECT_EQ(container(0)["ready"], Value(true));
  EXPECT_FALSE(pods.next_due()) << "it is asked once";
}

TEST_F(TimedPodsTest, AContainerTakesATenthOfASecond) {
  start("containers: [{name: c}]");
  EXPECT_EQ(container(0)["state"].str(), "running");
  EXPECT_EQ(run(), milliseconds(100));
  EXPECT_EQ(container(0)["state"].str(), "terminated");
  EXPECT_EQ(container(0)["exitCode"].as_int(-1), 0);
  EXPECT_EQ(told, 2);
}

TEST_F(TimedPodsTest, TakesTimeAndExitCodeOfTheAnnotation) {
  start("simulate: {c: {seconds: 90.5, exitCode: 3}}, containers: [{name: c}, {name: d}]");
  EXPECT_EQ(run(), milliseconds(90500));
  EXPECT_EQ(container(0)["exitCode"].as_int(), 3);
  EXPECT_EQ(container(0)["reason"].str(), "Error");
  EXPECT_EQ(container(1)["exitCode"].as_int(-1), 0);
}

TEST_F(TimedPodsTest, RunsStepsInOrderUnderTaskNames) {
  start(
      "task: load, sequential: true, simulate: {load/run: {seconds: 5, results: {score: 7, other: "
      "x}}, step-end: {seconds: 2}}, containers: [{name: step-run, results: [score]}, {name: "
      "step-end}]");
  EXPECT_EQ(container(1)["state"].str(), "waiting");
  EXPECT_EQ(run(), seconds(7));
  EXPECT_EQ(container(0)["message"].str(), R"([{"key":"score","value":"7","type":1}])");
  EXPECT_EQ(container(1)["finishedAt"].str(), format_time(now));
}

TEST_F(TimedPodsTest, SkipsStepsAfterFailureInNoTime) {
  start(
      "sequential: true, simulate: {a: {seconds: 1, exitCode: 2}}, containers: [{name: a}, {name: "
      "b}]");
  EXPECT_EQ(run(), seconds(1));
  EXPECT_EQ(container(1)["reason"].str(), "Skipped");
}

TEST_F(TimedPodsTest, TimeoutsEndAStep) {
  start(
      "sequential: true, simulate: {a: {seconds: 100}}, containers: [{name: a, timeoutMs: 3000}]");
  EXPECT_EQ(run(), seconds(3));
  EXPECT_EQ(container(0)["reason"].str(), "TimeoutExceeded");
}

TEST_F(TimedPodsTest, StoppingTakesTenToFiftyMilliseconds) {
  start("simulate: {c: {seconds: 100}}, containers: [{name: c}]");
  pods.forget("u");
  now += seconds(10);
  pods.stop("u", seconds(30), now);
  tell();
  EXPECT_EQ(container(0)["state"].str(), "running");
  now += milliseconds(9);
  tell();
  EXPECT_EQ(container(0)["state"].str(), "running");
  now += milliseconds(41);
  tell();
  EXPECT_EQ(container(0)["exitCode"].as_int(), 143);
  EXPECT_FALSE(pods.next_due());
  pods.forget("u");
  tell();
  EXPECT_EQ(last["uid"].str(), "");
  EXPECT_EQ(pods.state("pod:ns/p")["uid"].str(), "");
}

TEST_F(TimedPodsTest, NoGraceKillsAtOnce) {
  start("simulate: {c: {seconds: 100}}, containers: [{name: c}]");
  pods.stop("u", seconds(0), now);
  tell();
  EXPECT_EQ(container(0)["exitCode"].as_int(), 137);
}

TEST_F(TimedPodsTest, InitContainersOfAServerEnd) {
  start("restartPolicy: Always, init: [{name: i}], containers: [{name: c}]");
  now += seconds(1);
  tell();
  EXPECT_EQ(last["init"][0]["exitCode"].as_int(-1), 0);
  EXPECT_EQ(container(0)["state"].str(), "running");
}

TEST_F(TimedPodsTest, AServerRunsUntilItIsStopped) {
  start("restartPolicy: Always, containers: [{name: c}]");
  EXPECT_FALSE(pods.next_due());
  pods.stop("u", seconds(0), now);
  tell();
  EXPECT_EQ(container(0)["exitCode"].as_int(), 137);
}

TEST_F(TimedPodsTest, FailuresRestartAfterTheirWaits) {
  start(
      "restartPolicy: OnFailure, simulate: {c: {seconds: 1, exitCode: 1}}, containers: [{name: "
      "c}]");
  for (const int wait : {0, 10, 20, 40, 80, 160, 300, 300}) {
    now = *pods.next_due();
    tell();
    ASSERT_TRUE(container(0)["state"].str() == "running" || wait > 0);
    if (wait > 0) {
      EXPECT_EQ(container(0)["reason"].str(), "CrashLoopBackOff");
      EXPECT_EQ(*pods.next_due() - now, seconds(wait));
      now = *pods.next_due();
      tell();
      EXPECT_EQ(container(0)["state"].str(), "running");
    }
  }
}

TEST_F(TimedPodsTest, LatenessDoesNotAddUp) {
  start("sequential: true, containers: [{name: a}, {name: b}, {name: c}]");
  now += seconds(50);
  tell();
  EXPECT_TRUE(all_ended(last));
  EXPECT_EQ(container(2)["finishedAt"].str(), format_time(now - seconds(50) + milliseconds(300)));
}

TEST_F(TimedPodsTest, RunsTenThousandPods) {
  for (int i = 0; i < 10'000; ++i) {
    pods.start(yaml::parse("{uid: u" + std::to_string(i) + ", ns: ns, name: p" + std::to_string(i) +
                           ", simulate: {c: {seconds: " + std::to_string(i % 7 + 1) +
                           "}}, containers: [{name: c}]}")
                   .value(),
               now);
  }
  EXPECT_EQ(pods.advance(now).size(), 10'000U);
  std::size_t ended = 0;
  while (const auto due = pods.next_due()) {
    ended += pods.advance(*due).size();
  }
  EXPECT_EQ(ended, 10'000U);
}

TEST(TimedRuntime, NotifiesListenerOnTime) {
  const auto clock = wall_clock();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Value> states;
  const auto runtime = timed_runtime(*clock);
  runtime->listen([&](const std::string&, Value state) {
    const std::lock_guard lock(mutex);
    states.push_back(std::move(state));
    changed.notify_all();
  });
  runtime->start(yaml::parse("{uid: u, ns: ns, name: p, containers: [{name: c}]}").value());
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, seconds(20), [&] { return states.size() == 2; }));
  EXPECT_EQ(states[0]["containers"][0]["state"].str(), "running");
  EXPECT_EQ(states[1]["containers"][0]["state"].str(), "terminated");
  EXPECT_EQ(json::print(runtime->state("pod:ns/p")), json::print(states[1]));
}

}  // namespace
}  // namespace athanor::nodes::timed_pods_test
