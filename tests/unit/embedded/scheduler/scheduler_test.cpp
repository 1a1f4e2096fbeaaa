// SPDX-License-Identifier: Apache-2.0
// Which pod gets which node, and what is said about those that get none.
#include "embedded/scheduler/scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/scheduler/amounts.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/failures.hpp"
#include "support/fake_world.hpp"

namespace athanor::scheduler::scheduler_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class SchedulerTest : public testing::Test {
 protected:
  void node(const std::string& name, const std::string& allocatable = "cpu: '4', memory: 8Gi",
            const std::string& spec = "", const std::string& labels = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {" +
                        labels + "}}, spec: {" + spec + "}, status: {allocatable: {pods: '10', " +
                        allocatable + "}}}"));
  }
  void pod(const std::string& name, const std::string& requests = "cpu: '1'",
           const std::string& spec = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", namespace: ns}, spec: {containers: [{name: c, resources: {requests: {" +
                        requests + "}}}]" + spec + "}}"));
  }
  void settle() { world.settle({&scheduler_operator()}); }
  std::string node_of(const std::string& name) {
    return world.must(api::kPod, {"ns", name}).spec()["nodeName"].str();
  }
  std::string why(const std::string& name) {
    const Value condition = world.condition(api::kPod, {"ns", name}, "PodScheduled");
    EXPECT_EQ(condition["status"].str(), "False");
    EXPECT_EQ(condition["reason"].str(), "Unschedulable");
    return condition["message"].str();
  }

  test::FakeWorld world{};
};

TEST_F(SchedulerTest, BindsAndSaysWhere) {
  node("n1");
  pod("a");
  settle();
  EXPECT_EQ(node_of("a"), "n1");
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events[0].reason, "Scheduled");
  EXPECT_EQ(world.events[0].note, "Successfully assigned ns/a to n1");
}

TEST_F(SchedulerTest, TakesLeastAllocatedNodeThenFirstByName) {
  node("n2");
  node("n1");
  pod("a", "cpu: '2'");
  settle();
  EXPECT_EQ(node_of("a"), "n1");
  pod("b", "cpu: '1'");
  settle();
  EXPECT_EQ(node_of("b"), "n2");
}

TEST_F(SchedulerTest, HighestPriorityFirstThenOldest) {
  node("n1", "cpu: '1', memory: 8Gi");
  pod("b");
  world.advance(std::chrono::seconds(1));
  pod("a");
  pod("z", "cpu: '1'", ", priority: 7");
  settle();
  EXPECT_EQ(node_of("z"), "n1");
  EXPECT_EQ(node_of("b"), "");
  world.remove(api::kPod, {"ns", "z"});
  settle();
  EXPECT_EQ(node_of("b"), "n1");
  EXPECT_EQ(node_of("a"), "");
}

TEST_F(SchedulerTest, FinishedPodsGiveTheirResourcesBack) {
  node("n1", "cpu: '1', memory: 8Gi");
  pod("a");
  settle();
  pod("b");
  settle();
  EXPECT_EQ(node_of("b"), "");
  world.update(api::kPod, {"ns", "a"}, [](Value& object) {
    object.set_path({"status", "phase"}, "Succeeded");
  });
  settle();
  EXPECT_EQ(node_of("b"), "n1");
}

TEST_F(SchedulerTest, LeavesOthersPodsGatedAndDeletedOnesAlone) {
  node("n1");
  pod("a", "cpu: '1'", ", schedulingGates: [{name: kueue.x-k8s.io/admission}]");
  pod("b", "cpu: '1'", ", schedulerName: topo-aware-scheduler");
  settle();
  EXPECT_EQ(node_of("a"), "");
  EXPECT_EQ(node_of("b"), "");
  EXPECT_TRUE(world.writes.empty());
  world.update(api::kPod, {"ns", "a"}, [](Value& object) {
    object.erase_path({"spec", "schedulingGates"});
  });
  settle();
  EXPECT_EQ(node_of("a"), "n1");
}

TEST_F(SchedulerTest, NamesEveryReasonWithItsCount) {
  node("n1", "cpu: '2', memory: 8Gi");
  node("n2", "cpu: '9', memory: 8Gi", "taints: [{key: a, value: b, effect: NoSchedule}]");
  node("n3", "cpu: '9', memory: 8Gi", "unschedulable: true");
  pod("first", "cpu: '2'");
  settle();
  pod("a", "cpu: '1'");
  settle();
  EXPECT_EQ(why("a"),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}, "
            "1 node(s) were unschedulable. preemption: 0/3 nodes are available: 1 No preemption "
            "victims found for incoming pod, 2 Preemption is not helpful for scheduling.");
  EXPECT_EQ(world.event_count("FailedScheduling", "a"), 1);
}

TEST_F(SchedulerTest, RefusalTexts) {
  struct Case {
    const char* requests;
    const char* spec;
    const char* message;
  };
  const Case cases[] = {
      {"nvidia.com/gpu: 3", "", "1 Insufficient nvidia.com/gpu."},
      {"memory: 9Gi", "", "1 Insufficient memory."},
      {"cpu: '5', memory: 9Gi", "", "1 Insufficient cpu, 1 Insufficient memory."},
      {"cpu: '1'", ", nodeSelector: {zone: b}",
       "1 node(s) didn't match Pod's node affinity/selector."},
      {"cpu: '1'",
       ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
       "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}, "
       "{}]}}}",
       "1 node(s) didn't match Pod's node affinity/selector."},
      {"cpu: '5'", ", preemptionPolicy: Never",
       "1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."},
  };
  node("n1", "cpu: '4', memory: 8Gi, nvidia.com/gpu: '2'", "", "zone: a");
  int number = 0;
  for (const Case& c : cases) {
    const std::string name = "p" + std::to_string(number++);
    pod(name, c.requests, c.spec);
    settle();
    const std::string message = why(name);
    EXPECT_EQ(message.find(std::string("0/1 nodes are available: ") + c.message), 0U) << message;
  }
}

TEST_F(SchedulerTest, FullOfPods) {
  world.put(from_yaml(
      "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {pods: '1'}}}"));
  pod("a", "");
  settle();
  pod("b", "");
  settle();
  EXPECT_EQ(node_of("a"), "n1");
  EXPECT_EQ(why("b").find("0/1 nodes are available: 1 Too many pods. "), 0U);
}

TEST_F(SchedulerTest, KeepsRequestsOfInfeasibleResize) {
  node("n1");
  pod("a");
  settle();
  world.update(api::kPod, {"ns", "a"}, [](Value& object) {
    object.member("spec")
        .member("containers")
        .item(0)
        .set("resources", from_yaml("{requests: {cpu: '1000'}}"));
    object.set("status", from_yaml("{conditions: [{type: PodResizePending, status: 'True', reason: "
                                   "Infeasible}], containerStatuses: [{name: c, resources: "
                                   "{requests: {cpu: '1'}}}]}"));
  });
  pod("b", "cpu: '3'");
  settle();
  EXPECT_EQ(node_of("b"), "n1");
  pod("c");
  settle();
  EXPECT_EQ(node_of("c"), "");
}

TEST_F(SchedulerTest, GivesEachHostPortOnce) {
  const auto with_port = [&](const std::string& name, const std::string& port,
                             const std::string& more = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", namespace: ns}, spec: {containers: [{name: c, ports: [{containerPort: "
                        "80, " +
                        port + "}]}]" + more + "}}"));
    settle();
  };
  node("n1");
  with_port("a", "hostPort: 8080");
  with_port("b", "hostPort: 8080, hostIP: 127.0.0.1");
  with_port("c", "hostPort: 8080, protocol: UDP");
  with_port("d", "hostPort: 8081, hostIP: 127.0.0.1");
  with_port("e", "hostPort: 8081, hostIP: 127.0.0.2");
  EXPECT_EQ(node_of("a"), "n1");
  EXPECT_EQ(why("b"),
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
            "ports. preemption: 0/1 nodes are available: 1 No preemption victims found for "
            "incoming pod.");
  EXPECT_EQ(node_of("c"), "n1");
  EXPECT_EQ(node_of("d"), "n1");
  EXPECT_EQ(node_of("e"), "n1");
  world.remove(api::kPod, {"ns", "a"});
  settle();
  EXPECT_EQ(node_of("b"), "n1");
}

TEST_F(SchedulerTest, TwoWaitingPodsShareNoHostPort) {
  for (const char* name : {"a", "b"}) {
    world.put(from_yaml(std::string("{apiVersion: v1, kind: Pod, metadata: {name: ") + name +
                        ", namespace: ns}, spec: {containers: [{name: c, ports: [{containerPort: "
                        "80, hostPort: 80}]}]}}"));
  }
  node("n1");
  settle();
  EXPECT_EQ(node_of("a"), "n1");
  EXPECT_EQ(node_of("b"), "");
  node("n2");
  settle();
  EXPECT_EQ(node_of("b"), "n2");
}

TEST_F(SchedulerTest, PreemptsPodThatHoldsItsHostPort) {
  const std::string port = "{name: c, ports: [{containerPort: 80, hostPort: 80}]}";
  node("n1");
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: low, namespace: ns}, spec: "
                "{containers: [" +
                port + "]}}"));
  pod("other");
  settle();
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: high, namespace: ns}, spec: "
                "{priority: 5, containers: [" +
                port + "]}}"));
  settle();
  EXPECT_FALSE(world.has(api::kPod, {"ns", "low"}));
  EXPECT_TRUE(world.has(api::kPod, {"ns", "other"}));
  EXPECT_EQ(node_of("high"), "n1");
}

TEST_F(SchedulerTest, WithoutNodes) {
  pod("a");
  settle();
  EXPECT_EQ(why("a"), "no nodes available to schedule pods");
}

TEST_F(SchedulerTest, ToleratedTaintsAndAffinityLetPodsIn) {
  node("n1", "cpu: '4', memory: 8Gi", "taints: [{key: gpu, value: 'yes', effect: NoSchedule}]",
       "zone: a");
  pod("a", "cpu: '1'", ", tolerations: [{key: gpu, value: 'yes'}], nodeSelector: {zone: a}");
  pod("b", "cpu: '1'", ", tolerations: [{operator: Exists}]");
  pod("c", "cpu: '1'", ", tolerations: [{key: gpu, operator: Exists, effect: NoExecute}]");
  settle();
  EXPECT_EQ(node_of("a"), "n1");
  EXPECT_EQ(node_of("b"), "n1");
  EXPECT_EQ(node_of("c"), "");
}

TEST_F(SchedulerTest, FollowsPreferencesAndAvoidsSoftTaints) {
  node("n1", "cpu: '4', memory: 8Gi", "taints: [{key: old, effect: PreferNoSchedule}]");
  node("n2");
  node("n3", "cpu: '4', memory: 8Gi", "", "disk: fast");
  pod("a", "cpu: '3'");
  pod("b", "cpu: '1'",
      ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, "
      "preference: {matchExpressions: [{key: disk, operator: In, values: [fast]}]}}]}}");
  settle();
  EXPECT_EQ(node_of("a"), "n2");
  EXPECT_EQ(node_of("b"), "n3");
}

TEST_F(SchedulerTest, SaysNothingTwice) {
  node("n1", "cpu: '1', memory: 8Gi");
  pod("a", "cpu: '3'");
  settle();
  const std::size_t written = world.writes.size();
  world.restart();
  world.advance(std::chrono::hours(1));
  settle();
  EXPECT_EQ(world.writes.size(), written);
  EXPECT_EQ(world.event_count("FailedScheduling"), 1);
  EXPECT_EQ(world.events.size(), 1U);
}

TEST_F(SchedulerTest, RefusedBindingDelaysNoOtherPod) {
  node("n1");
  pod("a");
  pod("b");
  const Plan plan = world.reconcile(scheduler_operator(), {"", "singleton"});
  for (const auto& query :
       {refusals_query(plan.steps().front()), refusal_query(plan.steps().front())}) {
    world.fail_observation(query, Error{.code = 403, .reason = "Forbidden", .message = "no"});
  }
  settle();
  EXPECT_EQ(node_of("a"), "");
  EXPECT_EQ(node_of("b"), "n1");
  EXPECT_EQ(world.condition(api::kPod, {"ns", "a"}, "PodScheduled")["reason"].str(),
            "SchedulerError");
}

TEST_F(SchedulerTest, ReadsOnlyWaitingPodsAtRest) {
  node("n1");
  pod("a");
  settle();
  EXPECT_TRUE(world.reconcile(scheduler_operator(), {"", "singleton"}).empty());
  ASSERT_EQ(world.last_reads().lists.size(), 1U);
  EXPECT_EQ(world.last_reads().lists[0].select.index_value, "pending");
}

TEST_F(SchedulerTest, BindsThousandPodsInFewBoundedRuns) {
  for (int i = 0; i < 20; ++i) {
    world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n" + std::to_string(i) +
                        "}, status: {allocatable: {pods: '1000', cpu: '100', memory: 100Gi}}}"));
  }
  for (int i = 0; i < 1000; ++i) {
    pod("p" + std::to_string(i), "cpu: '1'");
  }
  EXPECT_LE(world.reconcile(scheduler_operator(), {"", "singleton"}).steps().size(), 500U);
  EXPECT_LE(world.settle({&scheduler_operator()}), 6);
  std::map<std::string, int> spread;
  for (const Object& object : world.list(api::kPod)) {
    ++spread[object.spec()["nodeName"].str()];
  }
  EXPECT_EQ(spread.size(), 20U);
  for (const auto& [name, count] : spread) {
    EXPECT_EQ(count, 50) << name;
  }
}

TEST(Requests, CountContainersInitContainersAndSidecars) {
  struct Case {
    const char* spec;
    std::int64_t milli_cpu;
  };
  const Case cases[] = {
      {"{containers: [{resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 500m}}}]}",
       1500},
      {"{containers: [{resources: {limits: {cpu: 2}}}]}", 2000},
      {"{containers: [{resources: {requests: {cpu: 1}}}], "
       "initContainers: [{resources: {requests: {cpu: 3}}}]}",
       3000},
      {"{containers: [{resources: {requests: {cpu: 1}}}], initContainers: [{restartPolicy: Always, "
       "resources: {requests: {cpu: 2}}}, {resources: {requests: {cpu: 3}}}]}",
       5000},
      {"{containers: [{resources: {requests: {cpu: 1}}}], overhead: {cpu: 250m}}", 1250},
      {"{containers: [{resources: {requests: {cpu: 1}}}], resources: {requests: {cpu: 4}}}", 4000},
      {"{containers: [{}]}", 0},
  };
  for (const Case& c : cases) {
    const Amounts requests = requests_of(from_yaml(c.spec));
    const auto cpu = requests.find("cpu");
    EXPECT_EQ(cpu == requests.end() ? 0 : cpu->second, c.milli_cpu) << c.spec;
  }
}

class SocialSchedulerTest : public SchedulerTest {
 protected:
  SocialSchedulerTest() {
    for (const char* name : {"n1", "n2", "n3"}) {
      const std::string zone = std::string(name) == "n3" ? "b" : "a";
      node(name, "cpu: '4', memory: 8Gi", "", std::string("host: ") + name + ", zone: " + zone);
    }
  }
  void labelled(const std::string& name, const std::string& labels, const std::string& spec) {
    world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", namespace: ns, labels: {" + labels + "}}, spec: {containers: []" + spec +
                        "}}"));
    settle();
  }
  static std::string term(const char* kind, const char* key, const char* app) {
    return std::string(", affinity: {") + kind +
           ": {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + key +
           ", labelSelector: {matchLabels: {app: " + app + "}}}]}}";
  }
};

TEST_F(SocialSchedulerTest, SeparatesPodsByAntiAffinity) {
  for (const char* name : {"a", "b", "c", "d"}) {
    labelled(name, "app: x", term("podAntiAffinity", "host", "x"));
  }
  EXPECT_EQ((std::set<std::string>{node_of("a"), node_of("b"), node_of("c")}),
            (std::set<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(why("d"),
            "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. preemption: "
            "0/3 nodes are available: 3 No preemption victims found for incoming pod.");
  labelled("other", "app: x", "");
  EXPECT_EQ(why("other").substr(0, 83),
            "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules");
}

TEST_F(SocialSchedulerTest, AffinityKeepsPodsTogether) {
  labelled("lonely", "app: y", term("podAffinity", "zone", "x"));
  EXPECT_EQ(why("lonely").substr(0, 69),
            "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. p");
  labelled("first", "app: x", term("podAffinity", "zone", "x") + ", nodeSelector: {host: n3}");
  EXPECT_EQ(node_of("first"), "n3") << "the first of a group needs no company";
  EXPECT_EQ(node_of("lonely"), "n3");
}

TEST_F(SocialSchedulerTest, SpreadKeepsDomainsEven) {
  const std::string spread =
      ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]";
  for (const char* name : {"a", "b", "c", "d"}) {
    labelled(name, "app: x", spread);
  }
  int in_b = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    in_b += node_of(name) == "n3" ? 1 : 0;
  }
  EXPECT_EQ(in_b, 2);
}

TEST_F(SchedulerTest, PreemptsFewestLeastImportantPods) {
  world.graceful_pods = true;
  node("n1", "cpu: '4', memory: 8Gi");
  for (const auto& [name, cpu, priority] :
       {std::tuple{"low", "2", "1"}, {"lower", "1", "0"}, {"high", "1", "100"}}) {
    pod(name, std::string("cpu: '") + cpu + "'", std::string(", priority: ") + priority);
    settle();
  }
  pod("urgent", "cpu: '1'", ", priority: 50");
  settle();
  EXPECT_TRUE(world.must(api::kPod, {"ns", "lower"}).deleting());
  EXPECT_FALSE(world.must(api::kPod, {"ns", "low"}).deleting());
  EXPECT_EQ(world.must(api::kPod, {"ns", "urgent"}).status()["nominatedNodeName"].str(), "n1");
  EXPECT_EQ(why("urgent"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(world.event_count("Preempted", "lower"), 1);
  EXPECT_EQ(world.condition(api::kPod, {"ns", "lower"}, "DisruptionTarget")["reason"].str(),
            "PreemptionByScheduler");
  Plan end;
  end.then(Delete{.target = {&api::kPod, {"ns", "lower"}}, .grace_seconds = 0});
  ASSERT_TRUE(world.apply(end).ok());
  settle();
  EXPECT_EQ(node_of("urgent"), "n1");
  pod("meek", "cpu: '1'", ", priority: 60, preemptionPolicy: Never");
  settle();
  EXPECT_EQ(why("meek"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
            "preemptionPolicy=Never.");
}

TEST_F(SchedulerTest, PreemptionRespectsDisruptionBudgets) {
  world.graceful_pods = true;
  node("n1", "cpu: '2', memory: 8Gi");
  node("n2", "cpu: '2', memory: 8Gi");
  for (const auto& [name, place] : {std::pair{"kept", "n1"}, {"free", "n2"}}) {
    pod(name, "cpu: '2'", std::string(", priority: 1, nodeName: ") + place);
    world.update(api::kPod, {"ns", name}, [&](Value& body) {
      body.set_path({"metadata", "labels"}, Value::object({{"app", name}}));
    });
  }
  world.put(
      from_yaml("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, "
                "namespace: ns}, spec: {selector: {matchLabels: {app: kept}}}, status: "
                "{disruptionsAllowed: 0}}"));
  pod("urgent", "cpu: '2'", ", priority: 50");
  settle();
  EXPECT_FALSE(world.must(api::kPod, {"ns", "kept"}).deleting());
  EXPECT_TRUE(world.must(api::kPod, {"ns", "free"}).deleting());
}

class VolumeSchedulerTest : public SchedulerTest {
 protected:
  void storage_class(const std::string& mode) {
    world.put(
        from_yaml("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: std},"
                  " provisioner: p, volumeBindingMode: " +
                  mode + "}"));
  }
  void claim() {
    world.put(
        from_yaml("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, "
                  "namespace: ns}, spec: {storageClassName: std}}"));
  }
  void bind_claim() {
    world.update(api::kPersistentVolumeClaim, {"ns", "c"}, [](Value& body) {
      body.set_path({"spec", "volumeName"}, "v");
      body.member("metadata").member("annotations").set("pv.kubernetes.io/bind-completed", "yes");
    });
    settle();
  }
  void pod_with_claim() {
    pod("a", "cpu: '1'", ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]");
    settle();
  }
  std::string selected() {
    return std::string(world.must(api::kPersistentVolumeClaim, {"ns", "c"})
                           .annotation("volume.kubernetes.io/selected-node"));
  }
};

TEST_F(VolumeSchedulerTest, APodWaitsForItsClaims) {
  node("n1");
  storage_class("Immediate");
  pod_with_claim();
  EXPECT_EQ(why("a"),
            "0/1 nodes are available: persistentvolumeclaim \"c\" not found. preemption: 0/1 nodes "
            "are available: 1 Preemption is not helpful for scheduling.");
  claim();
  settle();
  EXPECT_EQ(why("a"),
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
  bind_claim();
  EXPECT_EQ(node_of("a"), "n1");
}

TEST_F(VolumeSchedulerTest, PlacesPodsWhereTheirVolumeIsReachable) {
  node("n1", "cpu: '4', memory: 8Gi", "", "zone: a");
  node("n2", "cpu: '4', memory: 8Gi", "", "zone: b");
  world.put(
      from_yaml("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: "
                "{nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                "zone, operator: In, values: [b]}]}]}}}}"));
  claim();
  bind_claim();
  pod_with_claim();
  EXPECT_EQ(node_of("a"), "n2");
}

TEST_F(VolumeSchedulerTest, ClaimsThatWaitLearnTheNodeFirst) {
  node("n1");
  storage_class("WaitForFirstConsumer");
  claim();
  pod_with_claim();
  EXPECT_EQ(selected(), "n1");
  EXPECT_EQ(node_of("a"), "");
  bind_claim();
  EXPECT_EQ(node_of("a"), "n1");
}

// A plug-in that gives each pod of its scheduler one of two seats a node, and writes a ConfigMap
// for it before the pod is bound.
class Seats final : public SchedulingSession {
 public:
  bool concerns(const Object& pod) override { return pod.label("seat") == "yes"; }
  std::optional<HookRefusal> filter(const Object& /*pod*/, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    const int most = 2 + static_cast<int>(leaving.size());
    return taken_[std::string(node.name())] < most
               ? std::nullopt
               : std::optional(HookRefusal{.reason = "no seat"});
  }
  std::int64_t score(const Object& /*pod*/, const Object& node) override {
    return node.name() == "n2" ? 100 : 0;
  }
  Plan reserve(const Object& pod, const Object& node) override {
    ++taken_[std::string(node.name())];
    Plan plan;
    const Key key{"ns", "seat-" + std::string(pod.name())};
    plan.then(Create{.target = {&api::kConfigMap, key},
                     .object = from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
                                         key.name + ", namespace: ns}}")});
    return plan;
  }
  Plan release(const Object& pod) override {
    Plan plan;
    plan.then(Delete{.target = {&api::kConfigMap, {"ns", "seat-" + std::string(pod.name())}}});
    return plan;
  }

 private:
  std::map<std::string, int> taken_{};
};

const SchedulingHooks& seats() {
  static constexpr std::string_view kNames[] = {"seat-scheduler"};
  static constexpr const Kind* kKinds[] = {&api::kConfigMap};
  static const SchedulingHooks kHooks{
      .name = "seats",
      .schedulers = kNames,
      .reads = kKinds,
      .writes = kKinds,
      .begin = [](const View&, Instant) -> std::unique_ptr<SchedulingSession> {
        return std::make_unique<Seats>();
      }};
  return kHooks;
}

Plan schedule_with_seats(const View& view, const Key& /*key*/, Instant now) {
  static const SchedulingHooks* const kList[] = {&seats()};
  return schedule(view, now, kList);
}

const Operator& scheduler_with_seats() {
  static const SchedulingHooks* const kList[] = {&seats()};
  static const HookedScheduler kScheduler(kList, schedule_with_seats);
  return kScheduler.get();
}

class HooksTest : public SchedulerTest {
 protected:
  void seated(const std::string& name) {
    pod(name, "cpu: '100m'", ", schedulerName: seat-scheduler");
    world.update(api::kPod, {"ns", name}, [](Value& object) {
      object.set_path({"metadata", "labels"}, Value::object({{"seat", "yes"}}));
    });
  }
  void settle_hooked() { world.settle({&scheduler_with_seats()}); }
};

TEST_F(HooksTest, FilterScoreAndReserveDecide) {
  node("n1");
  node("n2");
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    seated(name);
  }
  // One cycle: two on the preferred node, two on the other, none for the fifth.
  ASSERT_TRUE(world.apply(world.reconcile(scheduler_with_seats(), {"", "singleton"})).ok());
  EXPECT_EQ(node_of("a"), "n2");
  EXPECT_EQ(node_of("b"), "n2");
  EXPECT_EQ(node_of("c"), "n1");
  EXPECT_EQ(node_of("d"), "n1");
  EXPECT_EQ(why("e"),
            "0/2 nodes are available: 2 no seat. preemption: 0/2 nodes are available: 2 No "
            "preemption victims found for incoming pod.");
  EXPECT_EQ(world.count(api::kConfigMap), 4U);
}

TEST_F(HooksTest, TheProfileReportsTheEventsOfItsPods) {
  const auto reporters = [this](std::string_view reason) {
    std::vector<std::string> names;
    for (const test::RecordedEvent& event : world.events) {
      if (event.reason == reason) {
        names.push_back(event.about.name + " " + event.component);
      }
    }
    return names;
  };
  pod("plain");
  seated("a");
  settle_hooked();
  EXPECT_THAT(reporters("FailedScheduling"),
              ::testing::UnorderedElementsAre("plain default-scheduler", "a seat-scheduler"));
  node("n1");
  settle_hooked();
  EXPECT_THAT(reporters("Scheduled"),
              ::testing::UnorderedElementsAre("plain default-scheduler", "a seat-scheduler"));
}

TEST_F(HooksTest, ReservationStandsBeforeTheBinding) {
  node("n1");
  seated("a");
  const Plan plan = world.reconcile(scheduler_with_seats(), {"", "singleton"});
  ASSERT_GE(plan.steps().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Create>(plan.steps()[0]));
  EXPECT_TRUE(std::holds_alternative<Replace>(plan.steps()[1]));
  // A reservation that fails leaves the pod unbound.
  world.fault = [](const Step& step) {
    return std::holds_alternative<Create>(step) ? std::optional(Error::unavailable("down"))
                                                : std::nullopt;
  };
  EXPECT_FALSE(world.apply(plan).ok());
  EXPECT_EQ(node_of("a"), "");
}

TEST_F(HooksTest, ReleasesHoldingsOfPodThatFitsNowhere) {
  node("n1", "cpu: '0', memory: 0");
  seated("a");
  world.put(
      from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: seat-a, namespace: ns}}"));
  settle_hooked();
  EXPECT_EQ(node_of("a"), "");
  EXPECT_EQ(world.count(api::kConfigMap), 0U);
}

TEST_F(HooksTest, PodsWithoutHooksAreScheduledAsBefore) {
  node("n1");
  pod("plain");
  pod("other", "cpu: '1'", ", schedulerName: seat-scheduler");
  pod("foreign", "cpu: '1'", ", schedulerName: somebody-else");
  settle_hooked();
  EXPECT_EQ(node_of("plain"), "n1");
  EXPECT_EQ(node_of("other"), "n1");
  EXPECT_EQ(node_of("foreign"), "");
  EXPECT_TRUE(scheduler_with_seats().sees_all);
}

}  // namespace
}  // namespace athanor::scheduler::scheduler_test
