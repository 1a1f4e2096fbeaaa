// SPDX-License-Identifier: Apache-2.0
// An emulated node as what runs beside it sees it (docs/spec/numa.md 16.4, 16.5).
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/numa/emulation/emulated_podresources.hpp"
#include "systems/numa/emulation/node_files.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"
#include "unit/systems/numa/lab_node.hpp"
#include "unit/systems/numa/numa_objects.hpp"

namespace athanor::numa::emulated_node_test {
namespace {

using testing::make_pod;

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class NumaEmulatedNode : public ::testing::Test {
 protected:
  void make_node(const std::string& zones) {
    Value node = from_yaml("{apiVersion: v1, kind: Node, metadata: {name: w}}");
    node.set_path({"metadata", "annotations"}, annotations_of(from_yaml(zones)));
    world.put(node);
  }
  [[nodiscard]] Object node() { return world.must(api::kNode, {"", "w"}); }
  // Binds a pod of one container to the node, whose managers admit it.
  void admit(const std::string& name, const std::string& container) {
    Value pod = make_pod({.containers = {container}}, name).body();
    pod.member("spec").set("nodeName", "w");
    const Object bound = world.put(pod);
    Reads reads;
    const View view(world, reads);
    const NodeAdmission admission = numa_node_hooks().admit(view, bound, node(), world.now);
    ASSERT_EQ(admission.answer, NodeAdmission::Answer::Ready) << admission.message;
    ASSERT_TRUE(world.apply(admission.steps).ok());
  }
  NodeSocketAnswer ask(std::string_view method, const std::string& message = "") {
    Reads reads;
    return podresources_socket().answer(View(world, reads), node(), method, message);
  }
  std::vector<PodResources> list() { return decode_list(ask(kListMethod).body).value(); }

  static constexpr const char* kTwoZones =
      "{policy: single-numa-node, scope: pod, devices: {vendor.io/gpu: 2}, cells: true, zones: "
      "[{cpus: '0-3,8-11', reservedCpus: '0,8', memory: 16Gi, reservedMemory: 1Gi, hugepages: "
      "{1Gi: 2Gi, 2Mi: 64Mi}, distances: [10, 12]}, {cpus: '4-7', memory: 8Gi, distances: [12, "
      "10]}]}";
  test::FakeWorld world{};
};

TEST_F(NumaEmulatedNode, FilesTellItsZonesAsSysfsDoes) {
  make_node(kTwoZones);
  std::map<std::string, std::string> files;
  for (const NodeFile& file : files_of(node())) {
    files.emplace(file.path, file.content);
  }
  const SysfsTree tree{.read = [&](const std::string& path) -> std::optional<std::string> {
                         const auto found = files.find("/sys/" + path);
                         return found == files.end() ? std::nullopt : std::optional(found->second);
                       },
                       .list =
                           [&](const std::string& path) {
                             std::set<std::string> names;
                             for (const auto& [file, content] : files) {
                               if (file.starts_with("/sys/" + path + "/")) {
                                 const std::string rest = file.substr(path.size() + 6);
                                 names.insert(rest.substr(0, rest.find('/')));
                               }
                             }
                             return std::vector<std::string>(names.begin(), names.end());
                           }};
  const Hardware read = read_hardware(tree).value();
  const Hardware made = hardware_of(*profile_of(node()));
  ASSERT_EQ(read.nodes.size(), made.nodes.size());
  for (std::size_t i = 0; i < read.nodes.size(); ++i) {
    EXPECT_EQ(read.nodes[i].cpus, made.nodes[i].cpus);
    EXPECT_EQ(read.nodes[i].memory, made.nodes[i].memory);
    EXPECT_EQ(read.nodes[i].distances, made.nodes[i].distances);
  }
  EXPECT_EQ(read.nodes[0].cpus, (std::vector<std::int64_t>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_NE(files.at("/var/lib/kubelet/config.yaml").find("topologyManagerScope: pod"),
            std::string::npos);
}

TEST_F(NumaEmulatedNode, ItsSocketAnswersAsAKubeletDoes) {
  make_node(kTwoZones);
  admit("a", "2/1Gi gpu=1");
  admit("shared", "500m/1Gi");
  const auto allocatable = decode_allocatable(ask(kAllocatableMethod).body).value();
  EXPECT_EQ(allocatable.cpus, (std::vector<std::int64_t>{1, 2, 3, 9, 10, 11, 4, 5, 6, 7}));
  EXPECT_EQ(allocatable.devices.back().resource, "vendor.io/gpu");
  EXPECT_TRUE(allocatable.devices.back().nodes.empty());
  const auto pods = list();
  ASSERT_EQ(pods.size(), 2U);
  const ContainerResources& held = pods[0].containers[0];
  EXPECT_EQ(held.cpus, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(held.devices.size(), 1U);
  EXPECT_EQ(held.devices[0].ids, (std::vector<std::string>{"gpu-any-0"}));
  EXPECT_TRUE(held.devices[0].nodes.empty());
  EXPECT_TRUE(pods[1].containers[0].cpus.empty());
  const auto got = ask(kGetMethod, encode_get_request({"ns", "a"}));
  EXPECT_EQ(decode_get(got.body).value().key.name, "a");
  const auto none = ask(kGetMethod, encode_get_request({"ns", "b"}));
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.message, "pod b in namespace ns not found");
  EXPECT_EQ(ask("/v1.PodResourcesLister/Watch").status, 12);
  EXPECT_EQ(ask(kGetMethod, "\x0a\xff").status, 3);
  EXPECT_TRUE(podresources_socket().present(node()));
}

TEST_F(NumaEmulatedNode, DevicesWithoutZoneAreGivenOnce) {
  make_node(kTwoZones);
  admit("a", "1/1Gi gpu=1");
  admit("b", "1/1Gi gpu=1");
  const auto pods = list();
  EXPECT_EQ(pods[0].containers[0].devices[0].ids, (std::vector<std::string>{"gpu-any-0"}));
  EXPECT_EQ(pods[1].containers[0].devices[0].ids, (std::vector<std::string>{"gpu-any-1"}));
  const Value sums = sum_of_zones(*profile_of(node()), true);
  EXPECT_EQ(sums["vendor.io/gpu"].str(), "2");
  EXPECT_EQ(sums["kni.node/numacell01"].str(), "15");
  EXPECT_EQ(sums["cpu"].str(), "10");
}

TEST_F(NumaEmulatedNode, ListsMoreAsOlderKubeletsDo) {
  make_node(
      "{podResources: {sharedCpus: true, terminalPods: true}, zones: [{cpus: 4, reservedCpus: 1, "
      "memory: 8Gi}]}");
  admit("a", "2/1Gi");
  admit("shared", "500m/1Gi");
  EXPECT_EQ(list()[1].containers[0].cpus, (std::vector<std::int64_t>{0, 3}));
  world.update(api::kPod, {"ns", "a"}, [](Value& pod) {
    pod.set_path({"status", "phase"}, "Succeeded");
  });
  ASSERT_EQ(list().size(), 2U);
  EXPECT_EQ(list()[1].containers[0].cpus, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(NumaProfile, NamesInvalidMembers) {
  const auto said = [](const std::string& text) {
    const auto profile = read_profile(from_yaml(text));
    return profile.ok() ? std::string("read") : profile.error().message;
  };
  EXPECT_EQ(said("{zones: [{cpus: '0-3'}, {cpus: '3-5'}]}"),
            "numa.zones[1].cpus: 3 is in another zone, or too large");
  EXPECT_EQ(said("{zones: [{cpus: '0-3', reservedCpus: '4'}]}"),
            "numa.zones[0].reservedCpus: must be cpus of the zone");
  EXPECT_EQ(said("{zones: [{cpus: many}]}"), "numa.zones[0].cpus: \"many\" is no list of cpus");
  EXPECT_EQ(said("{cells: 1, zones: [{cpus: 1}]}"), "numa.cells: must be true or false");
  EXPECT_EQ(said("{podResources: {other: true}, zones: [{cpus: 1}]}"),
            "numa.podResources.other: is no member");
  EXPECT_EQ(said("{devices: {a/b: -1}, zones: [{cpus: 1}]}"),
            "numa.devices.a/b: must be an integer from 0 to 1024");
  EXPECT_EQ(said("{zones: [{cpus: '4-7', reservedCpus: 1}, {cpus: 2}]}"), "read");
}

}  // namespace
}  // namespace athanor::numa::emulated_node_test
