// SPDX-License-Identifier: Apache-2.0
// The kubelet over timed pods: the life of a pod object on an emulated node.
#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/timed/timed_pods.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::kubelet_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeWorld;

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class KubeletTest : public testing::Test {
 protected:
  KubeletTest() {
    world.graceful_pods = true;
    world.put(
        from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: "
                  "{athanor.dev/emulated: 'true'}}}"));
    world.executors[std::string(kStartVerb)] = [this](FakeWorld& w, const Act& act) {
      pods.start(act.args, w.now);
      return tell();
    };
    world.executors[std::string(kStopVerb)] = [this](FakeWorld& w, const Act& act) {
      pods.stop(act.args["uid"].str(), milliseconds(act.args["graceMs"].as_int()), w.now);
      return tell();
    };
    world.executors[std::string(kExtendVerb)] = [this](FakeWorld& w, const Act& act) {
      pods.extend(act.args, w.now);
      return tell();
    };
    world.executors[std::string(kUpdateVerb)] = [this](FakeWorld& w, const Act& act) {
      pods.update(act.args, w.now);
      return tell();
    };
    world.executors[std::string(kEventsVerb)] = [this](FakeWorld&, const Act& act) {
      pods.events_written(act.args["uid"].str(), act.args["last"].as_int());
      return tell();
    };
    world.executors[std::string(kForgetVerb)] = [this](FakeWorld&, const Act& act) {
      pods.forget(act.args["uid"].str());
      return tell();
    };
    world.probes["pod"] = [this](FakeWorld&, std::string_view query) {
      return Result<Value>(pods.state(query));
    };
  }
  Result<Value> tell() {
    for (auto& [query, state] : pods.advance(world.now)) {
      world.observe_as(query, std::move(state));
    }
    return Value::object();
  }
  void settle() { world.settle({&kubelet_operator()}); }
  // Virtual time, from event to event.
  void pass(Duration duration) {
    const Instant end = world.now + duration;
    settle();
    while (pods.next_due() && *pods.next_due() <= end) {
      world.settle_for({&kubelet_operator()},
                       std::max(Duration::zero(), *pods.next_due() - world.now));
      static_cast<void>(tell());
      settle();
    }
    world.settle_for({&kubelet_operator()}, end - world.now);
  }
  void pod(const std::string& spec, const std::string& annotations = "") {
    world.put(
        from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, "
                  "annotations: {" +
                  annotations + "}}, spec: {nodeName: n1, restartPolicy: Never, " + spec +
                  "}, status: {phase: Pending}}"));
    settle();
  }
  Value status() { return world.must(api::kPod, {"ns", "p"}).status(); }
  std::string phase() { return status()["phase"].str(); }
  // "Waiting: reason" of the first container.
  std::string waiting() {
    const Value& state = status()["containerStatuses"][0]["state"]["waiting"];
    return state["reason"].str() + ": " + state["message"].str();
  }
  std::string condition(const char* type) {
    const Value found = world.condition(api::kPod, {"ns", "p"}, type);
    return found["status"].str() + " " + found["reason"].str();
  }
  bool gone() { return !world.has(api::kPod, {"ns", "p"}); }

  FakeWorld world{};
  TimedPods pods{};
};

const char* const kLong = "athanor.dev/simulate: '{\"c\": {\"seconds\": 60}}'";

TEST_F(KubeletTest, RunsAPodAndReportsIt) {
  pod("containers: [{name: c, image: app}]", kLong);
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(condition("Ready"), "True ");
  EXPECT_EQ(condition("Initialized"), "True ");
  const Value running = status()["containerStatuses"][0];
  EXPECT_TRUE(running["ready"].as_bool());
  EXPECT_EQ(running["state"]["running"]["startedAt"].str(), format_time(world.now));
  EXPECT_EQ(running["imageID"].str().substr(0, 11), "app@sha256:");
  EXPECT_EQ(status()["startTime"].str(), format_time(world.now));
  pass(seconds(60));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(condition("Ready"), "False PodCompleted");
  const Value ended = status()["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"].as_int(-1), 0);
  EXPECT_EQ(ended["reason"].str(), "Completed");
  EXPECT_EQ(ended["finishedAt"].str(), format_time(world.now));
  const std::size_t written = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), written);
}

TEST_F(KubeletTest, TakesTimeOfImageInLabFile) {
  world.configure("kubelet", from_yaml("{images: [{name: train, seconds: 20}]}"));
  pod("containers: [{name: c, image: train}]");
  pass(seconds(19));
  EXPECT_EQ(phase(), "Running");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(KubeletTest, RefusesEphemeralContainersOfTimedPods) {
  pod("containers: [{name: c, image: app}]", kLong);
  world.update(api::kPod, {"ns", "p"}, [](Value& object) {
    object.set_path({"spec", "ephemeralContainers"},
                    from_yaml("[{name: debug, image: busybox, stdin: true, tty: true}]"));
  });
  settle();
  const Value ended = status()["ephemeralContainerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"], Value(128));
  EXPECT_EQ(ended["reason"], Value("StartError"));
  EXPECT_NE(ended["message"].str().find("--pods process"), std::string::npos);
  EXPECT_EQ(world.event_count("Failed", "p"), 1);
  EXPECT_EQ(phase(), "Running");
  pass(seconds(61));
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(KubeletTest, AFailedContainerFailsThePod) {
  pod("containers: [{name: c}]", "athanor.dev/simulate: '{\"c\": {\"exitCode\": 3}}'");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(condition("Ready"), "False PodFailed");
  EXPECT_EQ(status()["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_int(), 3);
}

TEST_F(KubeletTest, InitContainersHoldThePodPending) {
  pod("initContainers: [{name: i}], containers: [{name: c}]",
      "athanor.dev/simulate: '{\"i\": {\"seconds\": 5}}'");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_EQ(waiting(), "PodInitializing: ");
  EXPECT_EQ(condition("Initialized"), "False ContainersNotInitialized");
  pass(seconds(5));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(condition("Initialized"), "True ");
}

TEST_F(KubeletTest, AFailedInitContainerFailsThePod) {
  pod("initContainers: [{name: i}], containers: [{name: c}]",
      "athanor.dev/simulate: '{\"i\": {\"exitCode\": 1}}'");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(status()["initContainerStatuses"][0]["state"]["terminated"]["exitCode"].as_int(), 1);
}

TEST_F(KubeletTest, WaitsForRequirementsOfPod) {
  struct Case {
    const char* spec;
    const char* waiting;
    const char* event;
    const char* note;
  };
  const Case cases[] = {
      {"containers: [{name: c}], volumes: [{name: v, secret: {secretName: s}}]",
       "ContainerCreating: ", "FailedMount",
       "MountVolume.SetUp failed for volume \"v\" : secret \"s\" not found"},
      {"containers: [{name: c, envFrom: [{configMapRef: {name: s}}]}]",
       "CreateContainerConfigError: configmap \"s\" not found", "Failed",
       "configmap \"s\" not found"},
      {"containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]",
       "CreateContainerConfigError: secret \"s\" not found", "Failed", "secret \"s\" not found"},
      {"containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: s}}]",
       "ContainerCreating: ", "FailedMount", "persistentvolumeclaim \"s\" not found"},
  };
  for (const Case& c : cases) {
    pod(c.spec);
    EXPECT_EQ(phase(), "Pending") << c.spec;
    EXPECT_EQ(waiting(), c.waiting) << c.spec;
    EXPECT_EQ(world.events.back().reason, c.event) << c.spec;
    EXPECT_EQ(world.events.back().note, c.note) << c.spec;
    for (const char* kind : {"Secret", "ConfigMap", "PersistentVolumeClaim"}) {
      world.put(from_yaml(std::string("{apiVersion: v1, kind: ") + kind +
                          ", metadata: {name: s, namespace: ns}, data: {k: dg==}}"));
    }
    settle();
    EXPECT_EQ(phase(), "Running") << c.spec;
    world.remove(api::kPod, {"ns", "p"});
    pass(seconds(60));
    EXPECT_TRUE(gone()) << c.spec;
    for (const Kind* kind : {&api::kSecret, &api::kConfigMap, &api::kPersistentVolumeClaim}) {
      world.remove(*kind, {"ns", "s"});
    }
  }
}

TEST_F(KubeletTest, OptionalSourcesMayBeMissing) {
  pod("containers: [{name: c, envFrom: [{secretRef: {name: s, optional: true}}], env: [{name: A, "
      "valueFrom: {configMapKeyRef: {name: s, key: k, optional: true}}}]}], volumes: [{name: v, "
      "secret: {secretName: s, optional: true}}]");
  EXPECT_EQ(phase(), "Running");
}

TEST_F(KubeletTest, PrivilegedContainersAreRefused) {
  pod("containers: [{name: c, securityContext: {privileged: true}}]");
  EXPECT_EQ(waiting(),
            "CreateContainerConfigError: privileged containers are not run on emulated nodes");
}

TEST_F(KubeletTest, LimitsAreSaidOnceNotToBeEnforced) {
  pod("containers: [{name: c, resources: {limits: {memory: 1Gi}}}]");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(world.event_count("LimitsNotEnforced", "p"), 1);
}

TEST_F(KubeletTest, NamesUnmetLimitsOfWholePods) {
  pod("resources: {limits: {cpu: 1}}, containers: [{name: c}]");
  EXPECT_EQ(world.event_count("LimitsNotEnforced", "p"), 1);
}

TEST_F(KubeletTest, NamesUnmetLimitsOfInitContainers) {
  pod("initContainers: [{name: i, resources: {limits: {cpu: 1}}}], containers: [{name: c}]");
  EXPECT_EQ(world.event_count("LimitsNotEnforced", "p"), 1);
}

TEST_F(KubeletTest, EndsAPodAtItsDeadline) {
  pod("activeDeadlineSeconds: 10, terminationGracePeriodSeconds: 7, containers: [{name: c}]",
      kLong);
  pass(seconds(9));
  EXPECT_EQ(phase(), "Running");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Running") << "its containers have their grace period";
  EXPECT_TRUE(status()["reason"].is_null());
  ASSERT_GE(world.acts.size(), 2U);
  EXPECT_EQ(world.acts[1].verb, kStopVerb);
  EXPECT_EQ(world.acts[1].args["graceMs"].as_int(), 7000);
  pass(milliseconds(60));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(status()["reason"].str(), "DeadlineExceeded");
  EXPECT_EQ(status()["message"].str(),
            "Pod was active on the node longer than the specified deadline");
  const Value ended = status()["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"].as_int(), 143) << "its own end";
  EXPECT_EQ(world.event_count("DeadlineExceeded", "p"), 1);
  EXPECT_EQ(world.event_count("Killing", "p"), 1);
  EXPECT_FALSE(pods.next_due()) << "nothing of it goes on";
}

TEST_F(KubeletTest, LeavesAPodThatEndedBeforeItsDeadline) {
  pod("activeDeadlineSeconds: 65, containers: [{name: c}]", kLong);
  pass(seconds(70));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(world.event_count("DeadlineExceeded", "p"), 0);
}

TEST_F(KubeletTest, EndsEvictedPodAfterItsContainers) {
  pod("containers: [{name: c}]", kLong);
  const auto evict = [this] {
    Value state = pods.state(pod_query("ns", "p"));
    Value& container = state.member("containers").item(0);
    if (container["state"].as_string() == "terminated") {
      container.set("exitCode", 0);  // as servers that end when they are asked to
    }
    state.set("evicted", "too much");
    world.observe_as(pod_query("ns", "p"), state);
  };
  world.executors[std::string(kStopVerb)] = [&](FakeWorld& w, const Act& act) {
    pods.stop(act.args["uid"].str(), milliseconds(act.args["graceMs"].as_int()), w.now);
    static_cast<void>(pods.advance(w.now));
    evict();
    return Result<Value>(Value::object());
  };
  evict();
  settle();
  EXPECT_EQ(phase(), "Running") << "until its containers have ended";
  EXPECT_EQ(world.acts[1].args["graceMs"].as_int(), 1000);
  world.now += milliseconds(60);
  static_cast<void>(pods.advance(world.now));
  evict();
  settle();
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(status()["reason"].str(), "Evicted");
  const Value ended = status()["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"].as_int(-1), 0);
  EXPECT_EQ(condition("Ready"), "False PodFailed");
  EXPECT_EQ(world.event_count("Evicted", "p"), 1);
}

TEST_F(KubeletTest, EndsUnstartablePodAtDeadline) {
  pod("activeDeadlineSeconds: 10, containers: [{name: c, envFrom: [{secretRef: {name: s}}]}]");
  pass(seconds(10));
  EXPECT_EQ(status()["reason"].str(), "DeadlineExceeded");
}

TEST_F(KubeletTest, RemovesDeletedPodAfterItsContainers) {
  pod("containers: [{name: c}]", kLong);
  world.remove(api::kPod, {"ns", "p"});
  pass(milliseconds(60));
  EXPECT_TRUE(gone());
  EXPECT_EQ(pods.state(pod_query("ns", "p"))["uid"].str(), "");
  ASSERT_EQ(world.acts.size(), 4U);
  EXPECT_EQ(world.acts[2].verb, kEventsVerb);
  EXPECT_EQ(world.acts[1].args["graceMs"].as_int(), 30'000);
}

TEST_F(KubeletTest, RemovesUnstartedPodAtOnce) {
  pod("containers: [{name: c, envFrom: [{secretRef: {name: s}}]}]");
  world.remove(api::kPod, {"ns", "p"});
  settle();
  EXPECT_TRUE(gone());
  EXPECT_TRUE(world.acts.empty());
}

TEST_F(KubeletTest, StopsContainersLeftByForcedDeletion) {
  pod("containers: [{name: c}]", kLong);
  Plan plan;
  plan.then(Delete{.target = {&api::kPod, {"ns", "p"}}, .grace_seconds = 0});
  ASSERT_TRUE(world.apply(plan).ok());
  settle();
  EXPECT_TRUE(gone());
  EXPECT_EQ(pods.state(pod_query("ns", "p"))["uid"].str(), "");
}

TEST_F(KubeletTest, StartsNamesakeAfterOldPodIsGone) {
  pod("containers: [{name: c}]", kLong);
  const std::string first(world.must(api::kPod, {"ns", "p"}).uid());
  Plan plan;
  plan.then(Delete{.target = {&api::kPod, {"ns", "p"}}, .grace_seconds = 0});
  ASSERT_TRUE(world.apply(plan).ok());
  pod("containers: [{name: c}]", kLong);
  const std::string second(world.must(api::kPod, {"ns", "p"}).uid());
  EXPECT_NE(first, second);
  EXPECT_EQ(pods.state(pod_query("ns", "p"))["uid"].str(), second);
  EXPECT_EQ(phase(), "Running");
}

TEST_F(KubeletTest, RestartsRunningPodsWithNode) {
  pod("containers: [{name: c}]", kLong);
  pods = TimedPods{};
  world.forget_observation(pod_query("ns", "p"));
  world.restart();
  // A new process has no memory of what it asked for.
  const Plan first = world.reconcile(kubelet_operator(), {"ns", "p"});
  EXPECT_TRUE(first.empty()) << "nothing is known yet";
  world.observe_as(pod_query("ns", "p"), pods.state(pod_query("ns", "p")));
  const Plan plan = world.reconcile(kubelet_operator(), {"ns", "p"});
  ASSERT_EQ(plan.steps().size(), 2U);
  EXPECT_EQ(std::get<Emit>(plan.steps()[0]).reason, "SandboxChanged");
  EXPECT_EQ(std::get<Act>(plan.steps()[1]).verb, kStartVerb);
}

TEST_F(KubeletTest, LeavesEndedPodsAfterRestart) {
  pod("containers: [{name: c}]");
  pass(seconds(1));
  EXPECT_EQ(phase(), "Succeeded");
  pods = TimedPods{};
  world.forget_observation(pod_query("ns", "p"));
  world.restart();
  settle();
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_FALSE(pods.next_due());
  world.remove(api::kPod, {"ns", "p"});
  settle();
  EXPECT_TRUE(gone());
}

TEST_F(KubeletTest, RealNodesPodsAreLeftAlone) {
  world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: real}}"));
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: ns}, spec: "
                "{nodeName: real, containers: [{name: c}]}}"));
  settle();
  EXPECT_TRUE(world.writes.empty());
  EXPECT_TRUE(world.acts.empty());
}

TEST_F(KubeletTest, RemovesPodsOfDeletedNode) {
  pod("containers: [{name: c}]", kLong);
  world.remove(api::kNode, {"", "n1"});
  world.remove(api::kPod, {"ns", "p"});
  pass(milliseconds(60));
  EXPECT_TRUE(gone());
}

// Resizes on a node with four processors and 4Gi.
class ResizeTest : public KubeletTest {
 protected:
  ResizeTest() {
    world.update(api::kNode, {"", "n1"}, [](Value& node) {
      node.set_path({"status", "allocatable"}, from_yaml("{cpu: '4', memory: 4Gi}"));
    });
  }
  void sized(const std::string& name, const std::string& cpu, const std::string& more = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", namespace: ns}, spec: {nodeName: n1, restartPolicy: Always, containers: "
                        "[{name: c, resources: {requests: {cpu: '" +
                        cpu + "'}}" + more + "}]}, status: {phase: Pending}}"));
    settle();
  }
  void resize(const std::string& name, const char* cpu) {
    world.update(api::kPod, {"ns", name}, [&](Value& pod) {
      pod.member("spec")
          .member("containers")
          .item(0)
          .set("resources", from_yaml(std::string("{requests: {cpu: '") + cpu + "'}}"));
    });
    settle();
  }
  // "1 Deferred: message", the processors that it has and its condition.
  std::string has(const std::string& name) {
    const Value status = world.must(api::kPod, {"ns", name}).status();
    const Value condition = world.condition(api::kPod, {"ns", name}, "PodResizePending");
    std::string text = status["containerStatuses"][0]["resources"]["requests"]["cpu"].str();
    EXPECT_EQ(status["containerStatuses"][0]["allocatedResources"]["cpu"].str(), text);
    if (!condition.is_null()) {
      text += " " + condition["reason"].str() + ": " + condition["message"].str();
    }
    return text;
  }
};

TEST_F(ResizeTest, GrantsFittingResizes) {
  sized("a", "1");
  resize("a", "3");
  EXPECT_EQ(has("a"), "3");
  EXPECT_EQ(world.must(api::kPod, {"ns", "a"}).status()["containerStatuses"][0]["restartCount"],
            Value(0));
}

TEST_F(ResizeTest, KeepsOldResourcesWhereNodeIsTooSmall) {
  sized("a", "1");
  resize("a", "1000");
  EXPECT_EQ(has("a"),
            "1 Infeasible: Node didn't have enough capacity: cpu, requested: 1000000, capacity: "
            "4000");
  resize("a", "2");
  EXPECT_EQ(has("a"), "2");
}

TEST_F(ResizeTest, DefersUntilOtherPodsEnd) {
  sized("a", "1");
  sized("b", "2");
  resize("a", "3");
  EXPECT_EQ(has("a"),
            "1 Deferred: Node didn't have enough resource: cpu, requested: 3000, used: 2000, "
            "capacity: 4000");
  world.remove(api::kPod, {"ns", "b"});
  pass(seconds(1));
  EXPECT_EQ(has("a"), "3");
}

TEST_F(ResizeTest, GrantsWaitingResizesInOrder) {
  sized("a", "1");
  world.advance(seconds(1));
  sized("b", "1");
  sized("c", "2");
  resize("b", "3");
  resize("a", "3");
  world.remove(api::kPod, {"ns", "c"});
  pass(seconds(1));
  EXPECT_EQ(has("a"), "3");
  EXPECT_EQ(has("b").substr(0, 10), "1 Deferred");
}

TEST_F(ResizeTest, RestartsContainerWhosePolicySaysSo) {
  sized("a", "1",
        ", resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}, {resourceName: "
        "memory, restartPolicy: NotRequired}]");
  const std::string first = world.must(api::kPod, {"ns", "a"})
                                .status()["containerStatuses"][0]["state"]["running"]["startedAt"]
                                .str();
  resize("a", "2");
  pass(seconds(2));
  const Value status = world.must(api::kPod, {"ns", "a"}).status()["containerStatuses"][0];
  EXPECT_EQ(status["restartCount"], Value(1));
  EXPECT_FALSE(status["state"]["running"].is_null());
  EXPECT_EQ(status["lastState"]["terminated"]["startedAt"].str(), first);
  EXPECT_EQ(has("a"), "2");
  EXPECT_EQ(world.event_count("Killing", "a"), 1);
  EXPECT_EQ(world.event_count("BackOff", "a"), 0);
}

TEST_F(ResizeTest, KeepsGrantedResourcesAfterRestartOfNode) {
  sized("a", "1");
  resize("a", "1000");
  pods = TimedPods();
  world.observe_as("pod:ns/a", pods.state("pod:ns/a"));
  settle();
  EXPECT_EQ(has("a").substr(0, 12), "1 Infeasible");
}

}  // namespace
}  // namespace athanor::nodes::kubelet_test
