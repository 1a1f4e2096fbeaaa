// SPDX-License-Identifier: Apache-2.0
// What systems do on emulated nodes: capacity, and what becomes of a pod that is to start.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::node_hooks_test {
namespace {

// A system that answers as the pod's label says.
NodeAdmission admit(const View& /*view*/, const Object& pod, const Object& node, Instant now) {
  const std::string answer(pod.label("answer"));
  if (answer == "refuse") {
    return {.answer = NodeAdmission::Answer::Refuse, .message = "no device is left"};
  }
  if (answer == "wait") {
    NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
    admission.steps.wake_at(now + std::chrono::seconds(1));
    return admission;
  }
  NodeAdmission admission;
  admission.environment["c"] = {{"DEVICE", std::string(node.name())}, {"OWN", "hook"}};
  return admission;
}

Value capacity(const View& /*view*/, const Object& node) {
  return node.name() == "n1" ? Value::object({{"example.com/device", "3"}}) : Value::object();
}

const NodeHooks& devices() {
  static const NodeHooks kHooks{.name = "devices", .capacity = capacity, .admit = admit};
  return kHooks;
}

std::span<const NodeHooks* const> hooks() {
  static const NodeHooks* const kList[] = {&devices()};
  return kList;
}

const Operator& kubelet() {
  static const HookedNode kOperator(kubelet_operator(), hooks(),
                                    [](const View& view, const Key& key, Instant now) {
                                      return run_pod(view, key, now, hooks());
                                    });
  return kOperator.get();
}

const Operator& node_reporter() {
  static const HookedNode kOperator(node_operator(), hooks(),
                                    [](const View& view, const Key& key, Instant now) {
                                      return report_node(view, key, now, hooks());
                                    });
  return kOperator.get();
}

class NodeHooksTest : public testing::Test {
 protected:
  NodeHooksTest() {
    world.put(
        *yaml::parse("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: "
                     "{athanor.dev/emulated: 'true'}}}"));
    world.probes["pod"] = [](test::FakeWorld&, std::string_view) {
      return Result<Value>(*yaml::parse("{uid: '', containers: [], init: []}"));
    };
  }
  void run(const std::string& answer) {
    world.put(
        *yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: "
                     "{answer: '" +
                     answer +
                     "'}}, spec: {nodeName: n1, containers: [{name: c, command: [x], env: "
                     "[{name: OWN, value: pod}, {name: B, value: b}]}]}}"));
    world.settle({&kubelet()});
  }

  test::FakeWorld world{};
};

TEST_F(NodeHooksTest, ReportResourcesThatSystemsAdd) {
  world.put(
      *yaml::parse("{apiVersion: v1, kind: Node, metadata: {name: n2, labels: "
                   "{athanor.dev/emulated: 'true'}}}"));
  world.settle({&node_reporter()});
  const auto allocatable = [&](const char* name) {
    return world.must(api::kNode, {"", name}).status()["allocatable"]["example.com/device"].str();
  };
  EXPECT_EQ(allocatable("n1"), "3");
  EXPECT_EQ(allocatable("n2"), "");
}

TEST_F(NodeHooksTest, EnvironmentGoesOverThePodsOwn) {
  run("ready");
  ASSERT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.acts[0].verb, kStartVerb);
  EXPECT_EQ(json::print(world.acts[0].args["containers"][0]["env"]),
            R"([["B","b"],["DEVICE","n1"],["OWN","hook"]])");
}

TEST_F(NodeHooksTest, RefusedPodFails) {
  run("refuse");
  const Value status = world.must(api::kPod, {"ns", "p"}).status();
  EXPECT_EQ(status["phase"].str(), "Failed");
  EXPECT_EQ(status["reason"].str(), "UnexpectedAdmissionError");
  EXPECT_EQ(status["message"].str(),
            "Allocate failed due to no device is left, which is unexpected");
  EXPECT_EQ(world.event_count("UnexpectedAdmissionError", "p"), 1);
  EXPECT_TRUE(world.acts.empty());
}

TEST_F(NodeHooksTest, RefusesNoPodOnChangedNode) {
  run("wait");  // the runtime has answered by then
  world.update(api::kPod, {"ns", "p"}, [](Value& pod) {
    pod.set_path({"metadata", "labels", "answer"}, "refuse");
  });
  Reads reads;
  const Plan plan = run_pod(View(world, reads), {"ns", "p"}, world.now, hooks());
  world.update(api::kNode, {"", "n1"}, [](Value& node) {
    node.set_path({"metadata", "labels", "policy"}, "restricted");
  });
  const auto refused = world.apply(plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 409);
  EXPECT_NE(world.must(api::kPod, {"ns", "p"}).status()["phase"].str(), "Failed");
}

TEST_F(NodeHooksTest, WaitingPodIsAskedAgain) {
  run("wait");
  EXPECT_TRUE(world.acts.empty());
  EXPECT_EQ(world.next_wake(), world.now + std::chrono::seconds(1));
}

}  // namespace
}  // namespace athanor::nodes::node_hooks_test
