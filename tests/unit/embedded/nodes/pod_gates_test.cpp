// SPDX-License-Identifier: Apache-2.0
// Readiness gates, pods whose work somebody else does, and what hooks say on a node.
#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/pod_status.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::pod_gates_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

TEST(PodGates, APodIsReadyWhenItsGatesAre) {
  const Value running = from_yaml("{containers: [{name: c, state: running, startedAt: t}]}");
  const auto ready = [&](const std::string& conditions) {
    const Object pod(
        from_yaml("{metadata: {uid: u}, spec: {containers: [{name: c, image: i}], "
                  "readinessGates: [{conditionType: A}, {conditionType: B}]}, "
                  "status: {conditions: [" +
                  conditions + "]}}"));
    return find_condition(running_status(pod, "127.16.0.1", running, Instant{})["conditions"],
                          "Ready");
  };
  const Value none = ready("");
  EXPECT_EQ(none["status"].str(), "False");
  EXPECT_EQ(none["reason"].str(), "ReadinessGatesNotReady");
  EXPECT_EQ(none["message"].str(),
            "corresponding condition of pod readiness gate \"A\" does not exist., corresponding "
            "condition of pod readiness gate \"B\" does not exist.");
  EXPECT_EQ(ready("{type: A, status: 'True'}, {type: B, status: 'False'}")["message"].str(),
            "the status of pod readiness gate \"B\" is not \"True\", but False");
  const Value both = ready("{type: A, status: 'True'}, {type: B, status: 'True'}");
  EXPECT_EQ(both["status"].str(), "True");
}

TEST(PodStatus, ReportsGrantedResources) {
  const Object pod(
      from_yaml("{metadata: {uid: u, generation: 3}, spec: {securityContext: {runAsGroup: 7}, "
                "containers: [{name: c, image: i, resources: {limits: {cpu: 1}, requests: {cpu: "
                "500m}}, volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}}"));
  const Value status = running_status(
      pod, "127.16.0.1",
      from_yaml("{user: 1000, containers: [{name: c, state: running, startedAt: t}]}"), Instant{});
  const Value& container = status["containerStatuses"][0];
  EXPECT_EQ(json::print(container["resources"]),
            R"({"limits":{"cpu":1},"requests":{"cpu":"500m"}})");
  EXPECT_EQ(json::print(container["allocatedResources"]), R"({"cpu":"500m"})");
  EXPECT_EQ(json::print(container["volumeMounts"]),
            R"([{"name":"v","mountPath":"/v","readOnly":true,"recursiveReadOnly":"Disabled"}])");
  EXPECT_EQ(json::print(container["user"]),
            R"({"linux":{"uid":1000,"gid":7,"supplementalGroups":[7]}})");
  EXPECT_EQ(status["observedGeneration"], Value(3));
  EXPECT_EQ(find_condition(status["conditions"], "Ready")["observedGeneration"], Value(3));
}

TEST(PodStatus, GrantsNothingToWaitingContainers) {
  const Object pod(from_yaml(
      "{metadata: {uid: u}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: "
      "1}}}]}}"));
  const Value status = running_status(
      pod, "127.16.0.1", from_yaml("{containers: [{name: c, state: waiting}]}"), Instant{});
  EXPECT_FALSE(status["containerStatuses"][0].contains("resources"));
  EXPECT_FALSE(status.contains("observedGeneration"));
}

TEST(EmulatedPods, WaitWithoutCommandsVolumesOrSettings) {
  test::FakeWorld world;
  Reads reads;
  const View view(world, reads);
  const std::string text =
      "{metadata: {name: p, namespace: ns, uid: u, annotations: {athanor.dev/emulate: KIND}}, "
      "spec: "
      "{containers: [{name: c, image: i, command: [/bin/false], args: [x], envFrom: "
      "[{configMapRef: {name: absent}}]}], volumes: [{name: v, hostPath: {path: /sys}}]}}";
  const auto spec_of = [&](const std::string& kind) {
    std::string body = text;
    body.replace(body.find("KIND"), 4, kind);
    return make_sandbox_spec(view, Object(from_yaml(body)));
  };
  const SandboxSpec idle = spec_of("pause");
  EXPECT_EQ(idle.waiting_message, "");
  EXPECT_EQ(idle.value["containers"][0]["command"], from_yaml("[/bin/sleep, infinity]"));
  EXPECT_NE(spec_of("other").waiting_message, "");
}

NodeAdmission refuse(const View& /*view*/, const Object& /*pod*/, const Object& /*node*/,
                     Instant /*now*/) {
  return {.answer = NodeAdmission::Answer::Refuse, .message = "why", .reason = "OwnReason"};
}
Value small(const View& /*view*/, const Object& /*node*/) {
  return Value::object({{"cpu", "3"}});
}
const NodeHooks kHooks{.name = "test", .allocatable = small, .admit = refuse};
const NodeHooks* const kAll[] = {&kHooks};

TEST(NodeHooksOfSystems, RefuseWithTheirOwnReasonAndReserve) {
  test::FakeWorld world;
  world.put(
      from_yaml("{apiVersion: v1, kind: Node, metadata: {name: w, labels: "
                "{athanor.dev/emulated: 'true'}}}"));
  world.put(
      from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: "
                "{nodeName: w, hostNetwork: true, containers: [{name: c, image: i}]}}"));
  world.observe_as(pod_query("ns", "p"), Value::object());
  Reads reads;
  const View view(world, reads);
  EXPECT_TRUE(world.apply(run_pod(view, {"ns", "p"}, world.now, kAll)).ok());
  const Value status = world.must(api::kPod, {"ns", "p"}).status();
  EXPECT_EQ(status["phase"].str(), "Failed");
  EXPECT_EQ(status["reason"].str(), "OwnReason");
  EXPECT_EQ(status["message"].str(), "why");
  EXPECT_EQ(world.event_count("OwnReason", "p"), 1);
  EXPECT_TRUE(world.apply(report_node(view, {"", "w"}, world.now, kAll)).ok());
  const Value node = world.must(api::kNode, {"", "w"}).status();
  EXPECT_EQ(node["capacity"]["cpu"].str(), "16");
  EXPECT_EQ(node["allocatable"]["cpu"].str(), "3");
}

}  // namespace
}  // namespace athanor::nodes::pod_gates_test
