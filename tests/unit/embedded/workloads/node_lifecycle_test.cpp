// SPDX-License-Identifier: Apache-2.0
// Nodes that fall silent, taints that evict, pods that nobody would remove.
#include "embedded/workloads/node_lifecycle.hpp"

#include <algorithm>
#include <set>

#include "workload_world.hpp"

namespace athanor::workloads::node_lifecycle_test {
namespace {

using std::chrono::seconds;

class NodeLifecycleTest : public WorkloadTest {
 protected:
  NodeLifecycleTest()
      : WorkloadTest(
            {&node_lifecycle_operator(), &taint_eviction_operator(), &pod_garbage_operator()}) {}
  void node(const std::string& ready = "True", const std::string& spec = "{}") {
    put("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: " + spec +
        ", status: {conditions: [{type: Ready, status: '" + ready + "'}]}}");
    heartbeat();
  }
  void heartbeat() {
    put("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: n1, namespace: "
        "kube-node-lease}, spec: {renewTime: '" +
        format_micro_time(world.now) + "'}}");
    settle();
  }
  void pod(const std::string& name, const std::string& spec = "") {
    put("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
        ", namespace: ns}, spec: {nodeName: n1" + spec +
        "}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}");
    settle();
  }
  std::set<std::string> taints() {
    std::set<std::string> all;
    const Object node = world.must(api::kNode, {"", "n1"});
    for (const Value& taint : node.spec()["taints"].items()) {
      all.insert(taint["key"].str() + ":" + taint["effect"].str());
    }
    return all;
  }
  std::string ready() {
    const Value condition = world.condition(api::kNode, {"", "n1"}, "Ready");
    return condition["status"].str() + " " + condition["reason"].str();
  }
  void taint(const std::string& key, const std::string& effect = "NoExecute") {
    world.update(api::kNode, {"", "n1"}, [&](Value& body) {
      body.set_path({"spec", "taints"},
                    Value::list({Value::object({{"key", key}, {"effect", effect}})}));
    });
    settle();
  }
};

TEST_F(NodeLifecycleTest, MarksSilentNodeUnknownUntilItReports) {
  node();
  pod("p",
      ", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: "
      "NoExecute, tolerationSeconds: 300}]");
  pass(seconds(49));
  EXPECT_EQ(ready(), "True ");
  pass(seconds(2));
  EXPECT_EQ(ready(), "Unknown NodeStatusUnknown");
  EXPECT_EQ(world.condition(api::kNode, {"", "n1"}, "Ready")["message"].str(),
            "Kubelet stopped posting node status.");
  EXPECT_EQ(world.condition(api::kNode, {"", "n1"}, "DiskPressure")["reason"].str(),
            "NodeStatusNeverUpdated");
  EXPECT_EQ(taints(), (std::set<std::string>{"node.kubernetes.io/unreachable:NoExecute",
                                             "node.kubernetes.io/unreachable:NoSchedule"}));
  EXPECT_EQ(note_of("NodeNotReady"), "Normal Node n1 status is now: NodeNotReady");
  EXPECT_EQ(world.condition(api::kPod, {"ns", "p"}, "Ready")["status"].str(), "False");
  world.update(api::kNode, {"", "n1"}, [&](Value& body) {
    Value conditions = body["status"]["conditions"];
    set_condition(conditions, {.type = "Ready", .status = "True"}, world.now);
    body.set_path({"status", "conditions"}, conditions);
  });
  heartbeat();
  EXPECT_TRUE(taints().empty());
  EXPECT_TRUE(world.has(api::kPod, {"ns", "p"}));
}

TEST_F(NodeLifecycleTest, RemovesPodsOfLostNodeAfterToleration) {
  node();
  pod("patient",
      ", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: "
      "NoExecute, tolerationSeconds: 300}]");
  pod("loyal", ", tolerations: [{operator: Exists}]");
  pass(seconds(340));
  EXPECT_TRUE(world.has(api::kPod, {"ns", "patient"}));
  pass(seconds(20));
  EXPECT_FALSE(world.has(api::kPod, {"ns", "patient"}));
  EXPECT_TRUE(world.has(api::kPod, {"ns", "loyal"}));
  EXPECT_EQ(note_of("TaintManagerEviction"), "Normal Marking for deletion Pod ns/patient");
}

TEST_F(NodeLifecycleTest, TaintsOfUsersEvict) {
  node();
  pod("plain");
  pod("short", ", tolerations: [{key: a, operator: Exists, tolerationSeconds: 60}]");
  taint("a", "NoSchedule");
  EXPECT_EQ(world.count(api::kPod), 2U);
  taint("a");
  EXPECT_FALSE(world.has(api::kPod, {"ns", "plain"}));
  EXPECT_TRUE(world.has(api::kPod, {"ns", "short"}));
  for (int i = 0; i < 4; ++i) {
    pass(seconds(20));
    heartbeat();
  }
  EXPECT_FALSE(world.has(api::kPod, {"ns", "short"}));
}

TEST_F(NodeLifecycleTest, ConditionsAndCordonsAreTaints) {
  node("False");
  EXPECT_EQ(taints(), (std::set<std::string>{"node.kubernetes.io/not-ready:NoExecute",
                                             "node.kubernetes.io/not-ready:NoSchedule"}));
  node("True", "{unschedulable: true, taints: [{key: mine, effect: NoSchedule}]}");
  EXPECT_EQ(taints(), (std::set<std::string>{"node.kubernetes.io/unschedulable:NoSchedule",
                                             "mine:NoSchedule"}));
  node("True", "{taints: [{key: mine, effect: NoSchedule}]}");
  EXPECT_EQ(taints(), (std::set<std::string>{"mine:NoSchedule"}));
}

TEST_F(NodeLifecycleTest, TrustsNodeWithoutHeartbeatTime) {
  put("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {conditions: [{type: Ready, "
      "status: 'True'}]}}");
  settle();
  pass(std::chrono::hours(2));
  EXPECT_EQ(ready(), "True ");
}

TEST_F(NodeLifecycleTest, CollectsPodsOfMissingNodesAfterPause) {
  pod("p");
  pass(seconds(30));
  EXPECT_TRUE(world.has(api::kPod, {"ns", "p"}));
  pass(seconds(15));
  EXPECT_FALSE(world.has(api::kPod, {"ns", "p"}));
  const auto told = std::ranges::find_if(
      world.writes, [](const test::Write& write) { return write.verb == "status"; });
  ASSERT_NE(told, world.writes.end());
  EXPECT_EQ(find_condition(told->body["conditions"], "DisruptionTarget")["message"].str(),
            "PodGC: node no longer exists");
}

}  // namespace
}  // namespace athanor::workloads::node_lifecycle_test
