// SPDX-License-Identifier: Apache-2.0
// Lab files: what they may say, and what a wrong one is told, line by line (docs/lab.md).
#include "embedded/lab/file/lab_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "embedded/lab/file/node_members.hpp"
#include "kube/text/json.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/das/system.hpp"

namespace athanor::lab::lab_file_test {
namespace {

constexpr const char* kHead = "apiVersion: athanor.dev/v1\nkind: Lab\n";

TEST(LabFile, ReadsNodesClustersQueuesAndClasses) {
  auto lab = parse_lab(std::string(kHead) + R"(namespace: bench
nodes:
- name: gpu
  count: 3
  capacity: {cpu: 8, nvidia.com/gpu: "4"}
  labels: {zone: a}
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
  gpus: {model: A30, count: 4}
clusters:
- name: c1
  quota: {gpu: 8}
  kubeconfig: text
queues:
- {name: q, strategy: StrictFIFO}
priorityClasses: {high: 10}
manifests: [more.yaml]
settings: {FOURNOS_GC_INTERVAL_SEC: 5}
)",
                       "lab.yaml", {.members = das::system().lab_node_members});
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  EXPECT_EQ(lab->ns, "bench");
  EXPECT_EQ(lab->nodes.at(0).count, 3);
  EXPECT_EQ(lab->nodes.at(0).capacity.at("cpu"), "8");
  EXPECT_EQ(lab->nodes.at(0).taints.at(0).effect, "NoSchedule");
  const System* const systems[] = {&das::system()};
  ASSERT_TRUE(equip_nodes(*lab, systems, {}).ok());
  const std::vector<Value> objects =
      lab_objects(*lab, [](const std::string&) -> Result<std::string> {
        return std::string();
      }).value();
  const Value& metadata = objects.at(1)["metadata"];
  EXPECT_EQ(metadata["name"].str(), "gpu-1");
  EXPECT_EQ(metadata["labels"]["nvidia.com/mig.capable"].str(), "true");
  EXPECT_EQ(metadata["annotations"]["das.inference.redhat.com/emulated-gpu-model"].str(), "A30");
  EXPECT_EQ(metadata["annotations"]["das.inference.redhat.com/emulated-gpu-count"].str(), "4");
  EXPECT_EQ(lab->clusters.at(0).quota.at("gpu"), "8");
  EXPECT_EQ(lab->queues.at(0).strategy, "StrictFIFO");
  EXPECT_EQ(lab->priority_classes.at(0).second, 10);
  EXPECT_EQ(lab->settings.at("FOURNOS_GC_INTERVAL_SEC"), "5");
}

TEST(LabFile, ReadsImages) {
  const auto lab = parse_lab(
      std::string(kHead) +
          "images:\n- {name: tool, entrypoint: [/bin/tool], cmd: [-v], env: {A: 1}, user: 7, "
          "group: 8, workingDir: /w, archive: tool.tar, seconds: 1.5}\n- {name: other}\n",
      "lab.yaml");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  ASSERT_EQ(lab->images.size(), 2U);
  EXPECT_EQ(lab->images[0].archive, "tool.tar");
  EXPECT_EQ(json::print(lab->images[0].value),
            R"({"name":"tool","entrypoint":["/bin/tool"],"cmd":["-v"],"env":["A=1"],)"
            R"("workingDir":"/w","user":7,"group":8,"seconds":1.5})");
  EXPECT_FALSE(lab->images[1].value.contains("seconds"));
}

TEST(LabFile, RefusesWrongImages) {
  const auto lab = parse_lab(
      std::string(kHead) +
          "images:\n- {entrypoint: tool}\n- {name: a, user: root, seconds: -1}\n- {name: a, "
          "seconds: 5s, colour: red}\n",
      "lab.yaml");
  ASSERT_FALSE(lab.ok());
  const std::string& message = lab.error().message;
  for (const char* part : {"images[0].name: is required", "images[0].entrypoint: ",
                           "images[1].user: must be an integer from 0 to 2147483647",
                           "images[1].seconds: must be a number of seconds from 0 to 31536000",
                           "images[2].seconds: must be a number of seconds from 0 to 31536000",
                           "images[2].colour: ", "images[2].name: "}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

TEST(LabFile, ReplacesDefaultNodeLabelsByFileLabels) {
  const auto lab = parse_lab(std::string(kHead) +
                                 "nodes:\n- name: a\n- {name: b, labels: {kubernetes.io/arch: "
                                 "arm64, kubernetes.io/hostname: rack-7}}\n",
                             "lab.yaml");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  const std::vector<Value> objects =
      lab_objects(*lab, [](const std::string&) -> Result<std::string> {
        return std::string();
      }).value();
  EXPECT_EQ(json::print(objects.at(1)["metadata"]["labels"]),
            R"({"kubernetes.io/arch":"amd64","kubernetes.io/hostname":"a",)"
            R"("kubernetes.io/os":"linux","athanor.dev/emulated":"true"})");
  EXPECT_EQ(json::print(objects.at(2)["metadata"]["labels"]),
            R"({"kubernetes.io/arch":"arm64","kubernetes.io/hostname":"rack-7",)"
            R"("kubernetes.io/os":"linux","athanor.dev/emulated":"true"})");
}

// EMULATED_MODE=enabled in an environment, and no node of the lab with GPUs.
TEST(LabFile, EquipsEveryNodeWithGpusOfSettings) {
  const System* const systems[] = {&das::system()};
  const std::string nodes = std::string(kHead) + "nodes:\n- name: a\n- name: b\n";
  const auto equipped = [&](const std::string& more, const std::string& model) {
    auto lab = parse_lab(nodes + more, "lab.yaml", {.members = das::system().lab_node_members});
    std::map<std::string, std::string> variables{{"EMULATED_GPU_COUNT", "3"},
                                                 {"EMULATED_GPU_MODEL", model}};
    if (more.empty()) {
      variables["EMULATED_MODE"] = "enabled";
    }
    const Value settings = das::system().settings({.variables = variables, .in_lab = true}).value();
    EXPECT_TRUE(equip_nodes(*lab, systems, {{"das", settings}}).ok());
    return lab->nodes;
  };
  const std::string count = "das.inference.redhat.com/emulated-gpu-count";
  for (const Node& node : equipped("", "A30")) {
    EXPECT_EQ(node.labels.at("nvidia.com/mig.capable"), "true");
    EXPECT_EQ(node.annotations.at(count), "3");
  }
  const auto nodes_of_file = equipped("- name: c\n  gpus: {}\n", "MI300X");
  EXPECT_TRUE(nodes_of_file.at(0).labels.empty());
  EXPECT_FALSE(nodes_of_file.at(2).labels.contains("nvidia.com/mig.capable"));
  EXPECT_EQ(nodes_of_file.at(2).annotations.at(count), "3");
}

TEST(LabFile, RefusesUnknownSettingsAndSuggestsSimilarOnes) {
  constexpr std::string_view kKnown[] = {"FOURNOS_GC_INTERVAL_SEC", "HEARTH_NAMESPACE"};
  const std::string text = std::string(kHead) +
                           "settings:\n  fournos_gc_interval_sec: 5\n  FOURNOS_GC_INTERVALL_SEC: "
                           "5\n  COLOUR: red\n";
  const auto lab = parse_lab(text, "lab.yaml", {.settings = kKnown});
  ASSERT_FALSE(lab.ok());
  EXPECT_EQ(lab.error().message,
            "lab.yaml:6: settings.COLOUR: no system has such a setting (docs/lab.md)\n"
            "lab.yaml:5: settings.FOURNOS_GC_INTERVALL_SEC: no system has such a setting; did you "
            "mean FOURNOS_GC_INTERVAL_SEC?");
}

TEST(LabFile, SettingsKnowWhereTheyStand) {
  const auto lab = parse_lab(std::string(kHead) + "settings:\n  HEARTH_NAMESPACE: x\n", "lab.yaml");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  EXPECT_EQ(lab->setting_places.at("HEARTH_NAMESPACE"), "lab.yaml:4: settings.HEARTH_NAMESPACE");
}

// FOURNOS_NAMESPACE moves the jobs, and with them what the lab file put there.
TEST(LabFile, ManifestsMoveWithTheNamespaceTheyName) {
  auto lab =
      parse_lab(std::string(kHead) + "namespace: here\nmanifests: [m]\n", "lab.yaml").value();
  lab.ns = "there";
  lab.moved.emplace("here", "there");
  const auto objects = lab_objects(lab, [](const std::string&) -> Result<std::string> {
    return std::string(
        "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: here}}\n---\n"
        "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: other}}\n");
  });
  ASSERT_TRUE(objects.ok());
  ASSERT_EQ(objects->size(), 3U);
  EXPECT_EQ((*objects)[0]["metadata"]["name"].str(), "there");
  EXPECT_EQ((*objects)[1]["metadata"]["namespace"].str(), "there");
  EXPECT_EQ((*objects)[2]["metadata"]["namespace"].str(), "other");
}

struct Wrong {
  const char* text;
  const char* problem;
};
class WrongLabFile : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongLabFile, ReportsPlaceAndCause) {
  const auto lab = parse_lab(std::string(kHead) + GetParam().text, "lab.yaml");
  ASSERT_FALSE(lab.ok());
  EXPECT_NE(lab.error().message.find(GetParam().problem), std::string::npos) << lab.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, WrongLabFile,
    ::testing::Values(
        Wrong{"nodse: []\n",
              "lab.yaml:3: nodse: unknown key; known here: apiVersion, kind, namespace, nodes"},
        Wrong{"nodes:\n- name: Bad_Name\n",
              "lab.yaml:4: nodes[0].name: \"Bad_Name\": a lowercase RFC 1123 label"},
        Wrong{"nodes:\n- count: 2\n", "lab.yaml:4: nodes[0].name: is required"},
        Wrong{"nodes:\n- name: a\n  count: 0\n",
              "lab.yaml:5: nodes[0].count: must be an integer from 1 to 5000"},
        Wrong{"nodes:\n- name: a\n  capacity:\n    cpu: lots\n",
              "lab.yaml:6: nodes[0].capacity.cpu: \"lots\" is not a quantity"},
        Wrong{"nodes:\n- {name: a}\n- {name: a}\n",
              "lab.yaml:5: nodes[1].name: \"a\" is declared twice"},
        Wrong{"nodes:\n- name: a\n  taints: [{key: k, effect: Never}]\n",
              "nodes[0].taints[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute"},
        Wrong{"clusters: [{name: c}]\nqueues:\n- name: q\n  strategy: LIFO\n",
              "lab.yaml:6: queues[0].strategy: must be StrictFIFO or BestEffortFIFO"},
        Wrong{"queues: [{name: q}]\n", "queues: a queue needs at least one cluster with quota"},
        Wrong{"priorityClasses: {a: high}\n", "priorityClasses.a: must be an integer"},
        Wrong{"manifests: one.yaml\n", "manifests: must be a list of file names"},
        Wrong{"nodes: [\n", "lab.yaml:"}));

TEST(LabFile, ReportsEveryProblemAtOnce) {
  const auto lab = parse_lab("kind: Lab\nnodes:\n- name: A\n- name: B\n", "x");
  ASSERT_FALSE(lab.ok());
  EXPECT_EQ(std::count(lab.error().message.begin(), lab.error().message.end(), '\n'), 2)
      << lab.error().message;
}

TEST(LabFile, WantsToBeALab) {
  const auto lab = parse_lab("kind: Pod\napiVersion: v1\n", "x");
  ASSERT_FALSE(lab.ok());
  EXPECT_NE(lab.error().message.find("a lab file starts with"), std::string::npos);
}

TEST(LabObjects, GiveEveryFlavorEveryResourceInOneOrder) {
  const auto lab = parse_lab(std::string(kHead) +
                                 "clusters:\n- {name: a, quota: {r1: 1}}\n- {name: b, quota: {r2: "
                                 "2}}\nqueues: [{name: q}]\n",
                             "lab.yaml");
  ASSERT_TRUE(lab.ok());
  const auto objects =
      lab_objects(*lab, [](const std::string&) -> Result<std::string> { return std::string{}; });
  ASSERT_TRUE(objects.ok());
  for (const Value& object : *objects) {
    if (object["kind"].as_string() == "ClusterQueue") {
      EXPECT_EQ(
          json::print(object["spec"]["resourceGroups"]),
          R"([{"coveredResources":["r1","r2"],"flavors":[{"name":"a","resources":[{"name":"r1","nominalQuota":"1"},{"name":"r2","nominalQuota":"0"}]},{"name":"b","resources":[{"name":"r1","nominalQuota":"0"},{"name":"r2","nominalQuota":"2"}]}]}])");
      return;
    }
  }
  FAIL() << "no ClusterQueue";
}

TEST(LabObjects, NumberNodesOfACount) {
  Lab lab;
  lab.nodes.push_back({.name = "n", .count = 2});
  const auto objects =
      lab_objects(lab, [](const std::string&) -> Result<std::string> { return std::string{}; });
  ASSERT_TRUE(objects.ok());
  ASSERT_EQ(objects->size(), 3U);
  EXPECT_EQ((*objects)[1]["metadata"]["name"].as_string(), "n-1");
  EXPECT_EQ((*objects)[2]["metadata"]["name"].as_string(), "n-2");
}

TEST(LabObjects, NameTheManifestThatIsBroken) {
  Lab lab;
  lab.manifests = {"bad.yaml"};
  const auto objects = lab_objects(
      lab, [](const std::string&) -> Result<std::string> { return std::string("a: b\n"); });
  ASSERT_FALSE(objects.ok());
  EXPECT_EQ(objects.error().message, "bad.yaml: an object without apiVersion or kind");
}

TEST(LabFile, TheExampleIsValid) {
  std::ifstream file(std::string(athanor::test::source_dir()) + "/examples/fournos/lab.yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto lab = parse_lab(text, "examples/fournos/lab.yaml");
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  EXPECT_EQ(lab->clusters.size(), 4U);
}

}  // namespace
}  // namespace athanor::lab::lab_file_test
