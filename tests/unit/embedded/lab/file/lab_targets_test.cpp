// SPDX-License-Identifier: Apache-2.0
// Emulated target clusters in lab files: what may be said, what it becomes, what is refused.
#include "embedded/lab/file/lab_targets.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/hearth/system.hpp"

namespace athanor::lab::lab_targets_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHead = "apiVersion: athanor.dev/v1\nkind: Lab\n";

Result<Lab> parse(const std::string& text) {
  return parse_lab(kHead + text, "lab.yaml");
}

TEST(LabTargets, AreReadWithNodesAndFaults) {
  const auto lab = parse(R"(targets:
- name: edge
  signIn: token
  owner: alice
  ttl: 2h
  nodes:
  - {count: 2, gpus: 8, model: NVIDIA-L40S, labels: {zone: a}}
  - {name: cpu, allocatable: {nvidia.com/mig-1g.5gb: 7}, ready: false}
  faults: {slow: 2s, flapping: {up: 10s, down: 5s}}
- name: spare
  count: 3
  onboard: false
)");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  ASSERT_EQ(lab->targets.size(), 4U);
  const LabTarget& edge = lab->targets.front();
  EXPECT_EQ(edge.owner, "alice");
  EXPECT_EQ(edge.target.sign_in, targets::SignIn::Token);
  EXPECT_EQ(edge.target.nodes.at(0).name, "node-1");
  EXPECT_EQ(edge.target.nodes.at(0).gpus, 8);
  EXPECT_EQ(edge.target.nodes.at(1).allocatable.at("nvidia.com/mig-1g.5gb"), "7");
  EXPECT_EQ(edge.target.faults.slow, 2s);
  EXPECT_EQ(edge.target.faults.flapping->down, 5s);
  EXPECT_EQ(lab->targets.at(3).name, "spare-3");
  EXPECT_EQ(lab->targets.at(3).target.name, "spare-3");
  EXPECT_FALSE(lab->targets.at(3).onboard);
}

struct Wrong {
  const char* text;
  const char* problem;
};
class WrongTarget : public testing::TestWithParam<Wrong> {};

TEST_P(WrongTarget, ReportsPlaceAndCause) {
  const auto lab = parse(GetParam().text);
  ASSERT_FALSE(lab.ok());
  EXPECT_NE(lab.error().message.find(GetParam().problem), std::string::npos) << lab.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, WrongTarget,
    testing::Values(
        Wrong{"targets: {}\n", "lab.yaml:3: targets: must be a list"},
        Wrong{"targets:\n- nodes: []\n", "lab.yaml:4: targets[0].name: is required"},
        Wrong{"targets:\n- {name: a}\n- {name: a}\n", "targets[1].name: \"a\" is declared twice"},
        Wrong{"targets:\n- {name: a, gpus: 8}\n", "targets[0].gpus: unknown key; known here: name"},
        Wrong{"targets:\n- {name: a, faults: {broken: true}}\n",
              "targets[0].faults.broken: unknown key; known here: slow, dead"},
        Wrong{"targets:\n- {name: a, faults: {dead: 1}}\n",
              "targets[0].faults.dead: must be true or false"},
        Wrong{"targets:\n- {name: a, faults: {slow: soon}}\n",
              "targets[0].faults.slow: \"soon\" is not a duration such as 500ms, 2s or 1m"},
        Wrong{"targets:\n- {name: a, faults: {flapping: {up: 1s}}}\n",
              "targets[0].faults.flapping.down: \"\" is not a duration"},
        Wrong{"targets:\n- {name: a, nodes: [{gpus: -1}]}\n",
              "targets[0].nodes[0].gpus: must be an integer from 0 to 1000000"},
        Wrong{"targets:\n- {name: a, nodes: [{vendor: intel}]}\n",
              "targets[0].nodes[0].vendor: must be nvidia or amd"},
        Wrong{"targets:\n- {name: a, nodes: [{name: x}, {name: x}]}\n",
              "targets[0].nodes[1].name: \"x\" is declared twice"},
        Wrong{"targets:\n- {name: a, signIn: smile}\n",
              "targets[0].signIn: must be certificate, token or password"},
        Wrong{"targets:\n- {name: a, count: 2, port: 7000}\n",
              "targets[0].port: several targets cannot share a port"}));

std::vector<Value> objects_of(const Lab& lab) {
  return target_objects(
      lab, {.ns = "hearth",
            .kubeconfig = [](const std::string& name) { return "kubeconfig of " + name; },
            .onboard =
                [](const TargetCluster& target) {
                  return hearth::system().onboard_target(target, {});
                }});
}

TEST(LabTargets, BecomeSecretsThatHearthDiscovers) {
  const auto lab = parse(
      "targets:\n- {name: edge, owner: alice, ttl: 2h}\n- {name: far, onboard: "
      "false}\n");
  ASSERT_TRUE(lab.ok());
  std::vector<std::string> names;
  Object secret;
  for (const Value& body : objects_of(*lab)) {
    const Object object(body);
    names.push_back(object.kind() == "Namespace"
                        ? std::string(object.name())
                        : std::string(object.ns()) + "/" + std::string(object.name()));
    if (object.kind() == "Secret" && object.ns() == "psap-secrets") {
      secret = object;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "hearth", "hearth/target-edge", "psap-secrets/kubeconfig-edge",
                       "fournos-local-dev/edge-kubeconfig", "hearth/target-far"}));
  EXPECT_EQ(secret.label("fournos.dev/cluster-kubeconfig"), "true");
  EXPECT_EQ(secret.annotation("fournos.dev/owner"), "alice");
  EXPECT_EQ(secret.annotation("fournos.dev/ttl"), "2h");
  EXPECT_EQ(secret.body()["data"]["kubeconfig"].str(), base64_encode("kubeconfig of edge"));
  EXPECT_TRUE(objects_of(Lab{}).empty());
}

// What is written into the ConfigMap reads as what the lab file said.
TEST(LabTargets, ConfigMapsCarrySettingsOfLabFile) {
  const auto lab = parse(R"(targets:
- name: edge
  nodes:
  - {count: 2, gpus: 8, vendor: amd, model: AMD-Instinct-MI300X, labels: {zone: a}, ready: false}
  - {name: cpu, allocatable: {nvidia.com/gpu: 8k}, schedulable: false}
  faults:
    {slow: 1500ms, dead: true, forbidden: true, redirect: "https://x/", flapping: {up: 1s, down: 2s}}
)");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  const auto args = configuration_of(Object(objects_of(*lab).at(1)));
  ASSERT_TRUE(args.ok()) << args.error().message;
  const auto target = configured_target(*args);
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->name, "edge");
  const auto& nodes = target->nodes;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "node-1");
  EXPECT_EQ(nodes[0].count, 2);
  EXPECT_EQ(nodes[0].vendor, "amd");
  EXPECT_EQ(nodes[0].labels.at("zone"), "a");
  EXPECT_FALSE(nodes[0].ready);
  EXPECT_EQ(nodes[1].allocatable.at("nvidia.com/gpu"), "8k");
  EXPECT_FALSE(nodes[1].schedulable);
  EXPECT_EQ(target->faults.slow, 1500ms);
  EXPECT_TRUE(target->faults.dead);
  EXPECT_TRUE(target->faults.forbidden);
  EXPECT_EQ(target->faults.redirect, "https://x/");
  EXPECT_EQ(target->faults.flapping->up, 1s);
}

// Anybody with rights on ConfigMaps can set the label.
TEST(LabTargets, TakesConfigMapsWithoutData) {
  for (const char* data : {"null", "{}", "{nodes: null}", "{nodes: ''}", "[]", "text",
                           "{nodes: [1], faults: {a: b}}", "{nodes: '---', faults: '- a'}"}) {
    test::FakeWorld world;
    world.configure(kTargetSection, Value::object({{"namespace", "team"}}));
    world.executors[kConfigureTarget] = [](test::FakeWorld&, const Act&) -> Result<Value> {
      return Value::object();
    };
    world.put(*yaml::parse(std::string("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, "
                                       "namespace: team, labels: {athanor.dev/emulated-target: "
                                       "x}}, data: ") +
                           data + "}"));
    world.settle({&target_operator()});
    EXPECT_LE(world.acts.size() + world.events.size(), 1U) << data;
  }
}

// Rights on ConfigMaps of another namespace are no rights on targets.
TEST(LabTargets, LeaveConfigMapsOfOtherNamespacesAlone) {
  test::FakeWorld world;
  world.configure(kTargetSection, Value::object({{"namespace", "targets"}}));
  world.executors[kConfigureTarget] = [](test::FakeWorld&, const Act&) -> Result<Value> {
    return Value::object();
  };
  world.put(
      *yaml::parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team, "
                   "labels: {athanor.dev/emulated-target: edge}}, data: {nodes: '[]', "
                   "faults: 'dead: true'}}"));
  world.settle({&target_operator()});
  EXPECT_TRUE(world.acts.empty());
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events[0].note,
            "targets are configured by ConfigMaps of namespace \"targets\" alone");
}

// Who edits the ConfigMap changes the target; who writes nonsense is told.
TEST(LabTargets, EditsReachTheTargetOnce) {
  test::FakeWorld world;
  std::vector<Value> configured;
  world.executors[kConfigureTarget] = [&](test::FakeWorld&, const Act& act) -> Result<Value> {
    configured.push_back(act.args);
    return Value::object();
  };
  const auto lab = parse("targets:\n- {name: edge, nodes: [{gpus: 8}]}\n");
  ASSERT_TRUE(lab.ok());
  Value map = objects_of(*lab).at(1);
  world.configure(kTargetSection, Value::object({{"namespace", map["metadata"]["namespace"]}}));
  world.put(map);
  world.settle({&target_operator()});
  ASSERT_EQ(configured.size(), 1U);
  EXPECT_EQ(configured.back()["nodes"][0]["gpus"].as_int(), 8);
  map.set_path({"data", "faults"}, "dead: true\n");
  world.put(map);
  world.settle({&target_operator()});
  ASSERT_EQ(configured.size(), 2U);
  EXPECT_TRUE(configured.back()["faults"]["dead"].as_bool());
  map.set_path({"data", "faults"}, "dead: perhaps\n");
  world.put(map);
  world.settle({&target_operator()});
  EXPECT_EQ(configured.size(), 2U);
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events.front().reason, "InvalidTarget");
  EXPECT_EQ(world.events.front().note, "target edge:1: faults.dead: must be true or false");
}

}  // namespace
}  // namespace athanor::lab::lab_targets_test
