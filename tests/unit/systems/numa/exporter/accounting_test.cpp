// SPDX-License-Identifier: Apache-2.0
// Accounting: the worked example of docs/spec/numa.md 9.6 with its variants, and recorded machines.
#include "systems/numa/exporter/accounting.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "systems/numa/exporter/round.hpp"
#include "unit/systems/numa/exporter/recorded.hpp"

namespace athanor::numa::accounting_test {
namespace {

using testing::example_allocatable;
using testing::example_config;
using testing::example_pods;
using testing::recorded_hardware;
using testing::recorded_tree;

struct Row {
  int zone;
  const char* resource;
  const char* capacity;
  const char* allocatable;
  const char* available;
};

std::vector<std::string> rows_of(const Value& content) {
  std::vector<std::string> rows;
  for (const Value& zone : content["zones"].items()) {
    for (const Value& resource : zone["resources"].items()) {
      rows.push_back(zone["name"].str() + " " + resource["name"].str() + " " +
                     resource["capacity"].str() + " " + resource["allocatable"].str() + " " +
                     resource["available"].str());
    }
  }
  return rows;
}

RoundOutput round_of(const ExporterConfig& config, const std::vector<PodResources>& pods,
                     const Hardware& hardware = recorded_hardware("two-zones")) {
  return compute_round(config, hardware, example_allocatable(), {.pods = pods});
}

std::string attribute(const Value& content, std::string_view name) {
  for (const Value& entry : content["attributes"].items()) {
    if (entry["name"].as_string() == name) {
      return entry["value"].str();
    }
  }
  return "absent";
}

std::string available(const Value& content, int zone, std::string_view resource) {
  for (const Value& entry : content["zones"][zone]["resources"].items()) {
    if (entry["name"].as_string() == resource) {
      return entry["available"].str();
    }
  }
  return "absent";
}

// docs/spec/numa.md 9.6, row by row; resources sorted by name (9.5).
TEST(NumaAccounting, GivesTheWorkedExample) {
  constexpr Row kRows[] = {
      {0, "cpu", "4", "3", "1"},
      {0, "hugepages-1Gi", "1073741824", "1073741824", "1073741824"},
      {0, "hugepages-2Mi", "134217728", "134217728", "134217728"},
      {0, "memory", "16777216000", "15000000000", "13926258176"},
      {0, "vendor.io/nic", "2", "2", "1"},
      {1, "cpu", "4", "3", "3"},
      {1, "hugepages-1Gi", "1073741824", "1073741824", "1073741824"},
      {1, "memory", "16777216000", "16000000000", "16000000000"},
      {1, "vendor.io/nic", "2", "2", "2"},
  };
  std::vector<std::string> expected;
  for (const Row& row : kRows) {
    expected.push_back("node-" + std::to_string(row.zone) + " " + row.resource + " " +
                       row.capacity + " " + row.allocatable + " " + row.available);
  }
  const RoundOutput output = round_of(example_config(), example_pods());
  EXPECT_EQ(rows_of(output.content), expected);
  EXPECT_EQ(output.fingerprint, "pfp0v0019131e707ccadb65c");
  EXPECT_EQ(output.counted, std::vector<Key>({{"default", "pod-a"}}));
  EXPECT_EQ(json::print(output.content["zones"][1]["costs"]),
            R"([{"name":"node-0","value":21},{"name":"node-1","value":10}])");
  EXPECT_EQ(output.content["zones"][0]["type"].str(), "Node");
  for (const Value& zone : output.content["zones"].items()) {
    EXPECT_FALSE(zone.contains("attributes"));  // the busiest zone alone holds containers
  }
  // The whole list, in this order (9.7).
  std::string names;
  for (const Value& entry : output.content["attributes"].items()) {
    names += entry["name"].str() + "=" + entry["value"].str() + " ";
  }
  EXPECT_EQ(names,
            "nodeTopologyPodsFingerprint=pfp0v0019131e707ccadb65c "
            "nodeTopologyPodsFingerprintMethod=with-exclusive-resources "
            "topology.node.k8s.io/numaplacement-metadata=npv0v001::ve=leb89::cc=1::nn=2::bn=0 "
            "topologyManagerScope=container topologyManagerPolicy=single-numa-node ");
}

TEST(NumaAccounting, GivesTheVariantsOfTheExample) {
  ExporterConfig all = example_config();
  all.fingerprint_method = "all";
  EXPECT_EQ(round_of(all, example_pods()).fingerprint, "pfp0v001264b74148698adb5");

  std::vector<PodResources> spanning = example_pods();
  spanning[0].containers[0].devices = {{"vendor.io/nic", {"nicC"}, {0, 1}}};
  const Value both = round_of(example_config(), spanning).content;
  EXPECT_EQ(available(both, 0, "vendor.io/nic"), "1");
  EXPECT_EQ(available(both, 1, "vendor.io/nic"), "1");

  ExporterConfig no_reference = example_config();
  no_reference.reference = {};
  const Value shared = round_of(no_reference, example_pods()).content;
  EXPECT_EQ(available(shared, 0, "cpu"), "0");
  EXPECT_EQ(available(shared, 1, "cpu"), "1");
}

TEST(NumaAccounting, FollowsItsOptions) {
  ExporterConfig config = example_config();
  config.watch_namespace = "other";
  const RoundOutput watched = round_of(config, example_pods());
  EXPECT_EQ(available(watched.content, 0, "cpu"), "3");
  EXPECT_EQ(watched.fingerprint, "pfp0v0019131e707ccadb65c");  // covers all pods nevertheless

  config = example_config();
  config.pod_exclude = {{"default", "pod-*"}};
  const RoundOutput excluded = round_of(config, example_pods());
  EXPECT_EQ(available(excluded.content, 0, "cpu"), "3");
  EXPECT_EQ(excluded.fingerprint, "pfp0v001ef46db3751d8e999");

  config = example_config();
  config.resource_exclude = {{"*", {"vendor.io/nic"}}, {"worker-0", {"memory"}}, {"w", {"cpu"}}};
  for (const std::string& row : rows_of(round_of(config, example_pods()).content)) {
    EXPECT_EQ(row.find("nic"), std::string::npos) << row;
    EXPECT_EQ(row.find("memory"), std::string::npos) << row;
  }
  config = example_config();
  config.exclude_terminal_pods = true;
  const auto pods = example_pods();
  const RoundOutput ended =
      compute_round(config, recorded_hardware("two-zones"), example_allocatable(),
                    {.pods = pods, .ended = {{"default", "pod-a"}}});
  EXPECT_EQ(available(ended.content, 0, "cpu"), "3");
  EXPECT_TRUE(ended.counted.empty());

  config = example_config();
  config.fingerprint = false;
  const Value off = round_of(config, example_pods()).content;
  EXPECT_EQ(attribute(off, "nodeTopologyPodsFingerprint"), "absent");
  EXPECT_EQ(attribute(off, "topology.node.k8s.io/numaplacement-metadata"), "absent");
  EXPECT_FALSE(off["metadata"]["annotations"].contains("topology.node.k8s.io/fingerprint"));
  config = example_config();
  config.policy = "restricted";
  EXPECT_EQ(attribute(round_of(config, example_pods()).content,
                      "topology.node.k8s.io/numaplacement-metadata"),
            "absent");
}

TEST(NumaAccounting, WritesOwnerAndTimingWhereAsked) {
  ExporterConfig config = example_config();
  config.expose_timing = true;
  const auto pods = example_pods();
  const Value content = compute_round(config, recorded_hardware("two-zones"), example_allocatable(),
                                      {.pods = pods,
                                       .trigger = Trigger::Reactive,
                                       .since_last = std::chrono::milliseconds(9600),
                                       .owner_uid = "u1"})
                            .content;
  EXPECT_EQ(json::print(content["metadata"]["ownerReferences"]),
            R"([{"apiVersion":"v1","kind":"Node","name":"worker-0","uid":"u1"}])");
  const Value& annotations = content["metadata"]["annotations"];
  EXPECT_EQ(annotations["k8stopoawareschedwg/rte-update"].str(), "reactive");
  EXPECT_EQ(annotations["k8stopoawareschedwg/sleep-duration"].str(), "10s");
  EXPECT_EQ(annotations["k8stopoawareschedwg/update-interval"].str(), "10s");
  // A clock that stepped back.
  const Value back = compute_round(config, recorded_hardware("two-zones"), example_allocatable(),
                                   {.pods = pods, .since_last = -std::chrono::seconds(5)})
                         .content;
  EXPECT_EQ(back["metadata"]["annotations"]["k8stopoawareschedwg/sleep-duration"].str(), "0s");
}

TEST(NumaAccounting, RepairsCapacitiesAndKeepsEmptyZones) {
  Hardware hardware = recorded_hardware("four-zones");
  AllocatableResources allocatable{
      .cpus = {0, 1, 16, 4096},  // the last one is on no node
      .devices = {{"vendor.io/nic", {"a", "b"}, {2}}},
      .memory = {{"memory", 1ULL << 60U, {0}}, {"hugepages-2Mi", 5, {0}}, {"strange", 7, {9}}}};
  const auto zones = account(hardware, allocatable, {}, {});
  ASSERT_EQ(zones.size(), 4U);
  EXPECT_EQ(zones[0].resources[0].name, "cpu");
  EXPECT_EQ(zones[0].resources[0].capacity, 8U);
  EXPECT_EQ(zones[0].resources[0].allocatable, 3U);
  EXPECT_EQ(zones[0].resources[1].capacity, 512U * 2048 * 1024);
  EXPECT_EQ(zones[0].resources[2].capacity, 1ULL << 60U);  // above what meminfo says
  // Nothing allocatable: real cpus, none to have.
  ASSERT_EQ(zones[1].resources.size(), 1U);
  EXPECT_EQ(zones[1].resources[0].capacity, 8U);
  EXPECT_EQ(zones[1].resources[0].allocatable, 0U);
  EXPECT_EQ(zones[1].resources[0].available, 0U);
  ASSERT_EQ(zones[2].resources.size(), 1U);
  EXPECT_EQ(zones[2].resources[0].capacity, 2U);
}

TEST(NumaAccounting, PlacesContainersByCpuThenDeviceThenMemory) {
  const Hardware hardware = recorded_hardware("two-zones");
  const std::vector<PodResources> pods{
      {{"default", "pod-a"},
       {{.name = "c1", .cpus = {2}, .memory = {{"memory", 1, {1}}}},
        {.name = "c2", .devices = {{"vendor.io/nic", {"nicB"}, {1}}}},
        {.name = "none"}}},
      {{"default", "pod-b"}, {{.name = "main", .memory = {{"memory", 5, {1}}}}}},
      {{"default", "shared"}, {{.name = "main"}}}};
  const auto placed = placed_containers(hardware, pods);
  ASSERT_EQ(placed.size(), 3U);
  EXPECT_EQ(placed[0].node, 0);
  EXPECT_EQ(placed[1].node, 1);
  EXPECT_EQ(placed[2].node, 1);
  // The vectors of docs/spec/numa.md 10.5 for these three.
  const PackedPlacement packed = pack_placement(placed, 2);
  EXPECT_EQ(packed.metadata, "npv0v001::ve=leb89::cc=3::nn=2::bn=1");
  const Value zones = zones_value(account(hardware, {}, {}, {}), packed.vectors);
  EXPECT_EQ(zones[0]["attributes"][0]["value"].str(), "!");
  EXPECT_FALSE(zones[1].contains("attributes"));
}

TEST(NumaAccounting, PlacesOnZonesWhoseIdsHaveGaps) {  // docs/spec/numa.md 10.5
  Hardware hardware;
  for (const int id : {0, 2, 5}) {
    hardware.nodes.push_back({.id = id, .cpus = {id * 2, id * 2 + 1}});
  }
  const AllocatableResources resources{.cpus = {0, 1, 4, 5, 10, 11}};
  const std::vector<PodResources> pods{
      {{"ns", "p"}, {{.name = "a", .cpus = {0}}, {.name = "b", .cpus = {1}}}},
      {{"ns", "q"}, {{.name = "c", .cpus = {10}}}}};
  const RoundOutput output = compute_round(example_config(), hardware, resources, {.pods = pods});
  const std::vector<ContainerName> names{{"ns", "p", "a"}, {"ns", "p", "b"}, {"ns", "q", "c"}};
  const auto placement = unpack_placement(read_placement(output.content), names);
  ASSERT_TRUE(placement.ok()) << placement.error().message;
  EXPECT_EQ(placement->at(names[0]), 0);
  EXPECT_EQ(placement->at(names[2]), 5);
}

TEST(NumaHardware, ReadsRecordedMachines) {
  const Hardware one = recorded_hardware("one-zone");
  ASSERT_EQ(one.nodes.size(), 1U);
  EXPECT_EQ(one.nodes[0].memory.at("memory"), 8153600ULL * 1024);
  EXPECT_EQ(one.nodes[0].distances.at(0), 10);
  const Hardware four = recorded_hardware("four-zones");
  ASSERT_EQ(four.nodes.size(), 4U);
  EXPECT_EQ(four.node_of(17), 0);
  EXPECT_EQ(four.node_of(31), 3);
  EXPECT_EQ(four.nodes[2].distances.at(3), 12);
  EXPECT_FALSE(four.node_of(32).has_value());
  const Hardware flat = recorded_hardware("no-numa");
  ASSERT_EQ(flat.nodes.size(), 1U);
  EXPECT_EQ(flat.nodes[0].cpus.size(), 2U);
}

TEST(NumaHardware, KeepsSparseIds) {
  const Hardware sparse = recorded_hardware("sparse-ids");
  ASSERT_EQ(sparse.nodes.size(), 3U);
  EXPECT_EQ(sparse.nodes[1].id, 2);
  EXPECT_EQ(sparse.nodes[2].id, 5);
  EXPECT_TRUE(sparse.nodes[2].cpus.empty());
  EXPECT_EQ(sparse.nodes[1].distances.at(5), 28);
  EXPECT_EQ(sparse.node_of(7), 2);
  const AllocatableResources allocatable{.cpus = {1, 3}, .memory = {{"memory", 1000, {5}}}};
  const Value zones = zones_value(account(sparse, allocatable, {}, {}), {});
  EXPECT_EQ(zones[1]["name"].str(), "node-2");
  EXPECT_EQ(zones[2]["name"].str(), "node-5");
  EXPECT_EQ(
      json::print(zones[1]["costs"]),
      R"([{"name":"node-0","value":21},{"name":"node-2","value":10},{"name":"node-5","value":28}])");
  EXPECT_EQ(zones[2]["resources"][0]["name"].str(), "memory");
  EXPECT_EQ(zones[2]["resources"][0]["capacity"].str(), "134217728000");
}

TEST(NumaHardware, NamesTheFileThatIsWrong) {
  const auto broken = [](const std::string& file, const std::string& text) {
    SysfsTree tree = recorded_tree("two-zones");
    const auto read = tree.read;
    tree.read = [=](const std::string& path) -> std::optional<std::string> {
      return path.ends_with(file) ? std::optional(text) : read(path);
    };
    const auto hardware = read_hardware(tree);
    return hardware.ok() ? std::string("read") : hardware.error().message;
  };
  EXPECT_EQ(broken("node1/cpulist", "4-x\n"),
            "devices/system/node/node1/cpulist: \"4-x\" is no list of cpus");
  EXPECT_EQ(broken("node0/cpulist", "7-4"),
            "devices/system/node/node0/cpulist: \"7-4\" is no list of cpus");
  EXPECT_EQ(broken("node0/cpulist", "0-99999999999"),
            "devices/system/node/node0/cpulist: \"0-99999999999\" is no list of cpus");
  EXPECT_EQ(broken("node0/distance", "10"),
            "devices/system/node/node0/distance: has 1 numbers, not one for each of 2 nodes");
  EXPECT_EQ(broken("node0/distance", "10 -1"),
            "devices/system/node/node0/distance: \"-1\" is no distance");
  EXPECT_EQ(broken("node0/meminfo", "Node 0 MemTotal: lots kB"),
            "devices/system/node/node0/meminfo: MemTotal is no number of kB");
  EXPECT_EQ(broken("hugepages-2048kB/nr_hugepages", "18446744073709551615"),
            "devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages: is no number of "
            "pages");
  EXPECT_EQ(broken("node0/meminfo", ""), "read");
}

TEST(NumaHardware, NamesPageSizesAsKubernetesDoes) {
  EXPECT_EQ(hugepage_resource("hugepages-2048kB"), "hugepages-2Mi");
  EXPECT_EQ(hugepage_resource("hugepages-1048576kB"), "hugepages-1Gi");
  EXPECT_EQ(hugepage_resource("hugepages-64kB"), "hugepages-64Ki");
  for (const char* wrong :
       {"hugepages-kB", "hugepages-0kB", "hugepages-2048", "x", "hugepages-xkB"}) {
    EXPECT_EQ(hugepage_resource(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace athanor::numa::accounting_test
