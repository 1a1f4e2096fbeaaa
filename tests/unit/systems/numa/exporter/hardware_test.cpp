// SPDX-License-Identifier: Apache-2.0
// Recorded machines, from their sysfs and from hwloc's files (tests/data/numa).
#include "systems/numa/exporter/hardware.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "systems/numa/exporter/hwloc.hpp"
#include "systems/numa/exporter/xml.hpp"
#include "unit/systems/numa/exporter/recorded.hpp"

namespace athanor::numa::hardware_test {
namespace {

using testing::recorded_machine;
using testing::test_file;

std::vector<int> ids_of(const Hardware& hardware) {
  std::vector<int> ids;
  for (const HardwareNode& node : hardware.nodes) {
    ids.push_back(node.id);
  }
  return ids;
}

std::vector<std::size_t> cpus_of(const Hardware& hardware) {
  std::vector<std::size_t> counts;
  for (const HardwareNode& node : hardware.nodes) {
    counts.push_back(node.cpus.size());
  }
  return counts;
}

TEST(NumaMachines, AreReadFromSysfs) {
  struct Row {
    const char* name = "";
    std::vector<int> ids{};
    std::vector<std::size_t> cpus{};
    std::uint64_t memory_kib = 0;           // of the last node
    std::pair<int, std::int64_t> distance;  // of the first node
  };
  const std::vector<Row> rows{
      {"virtual-machine", {0}, {2}, 11102412, {0, 10}},
      {"eight-sockets", {0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2, 2, 2, 2, 2, 2}, 8388608, {1, 20}},
      // A kernel that has bitmaps alone.
      {"four-nodes-bitmaps", {0, 1, 2, 3}, {24, 24, 24, 24}, 132124160, {3, 26}},
      // Memory of GPUs: nodes without cpus, far from the others and with large ids.
      {"gpu-memory-nodes",
       {0, 8, 250, 251, 252, 253, 254, 255},
       {88, 88, 0, 0, 0, 0, 0, 0},
       15728640,
       {255, 80}},
  };
  for (const Row& row : rows) {
    const auto hardware = read_hardware(recorded_machine(row.name));
    ASSERT_TRUE(hardware.ok()) << row.name << ": " << hardware.error().message;
    EXPECT_EQ(ids_of(*hardware), row.ids) << row.name;
    EXPECT_EQ(cpus_of(*hardware), row.cpus) << row.name;
    EXPECT_EQ(hardware->nodes.back().memory.at("memory"), row.memory_kib * 1024) << row.name;
    EXPECT_EQ(hardware->nodes.front().distances.at(row.distance.first), row.distance.second)
        << row.name;
  }
}

TEST(NumaMachines, ReadEveryRecordingWithEachCpuOnce) {
  for (const char* name : {"virtual-machine", "eight-sockets", "eight-nodes", "four-nodes-bitmaps",
                           "gpu-memory-nodes", "node0-offline", "sparse-ids"}) {
    const auto hardware = read_hardware(recorded_machine(name));
    ASSERT_TRUE(hardware.ok()) << name << ": " << hardware.error().message;
    std::set<std::int64_t> seen;
    for (const HardwareNode& node : hardware->nodes) {
      EXPECT_EQ(node.distances.size(), hardware->nodes.size()) << name;
      for (const std::int64_t cpu : node.cpus) {
        EXPECT_TRUE(seen.insert(cpu).second) << name << " cpu " << cpu;
        EXPECT_EQ(hardware->node_of(cpu), node.id) << name;
      }
    }
    EXPECT_FALSE(seen.empty()) << name;
  }
}

TEST(NumaHwloc, ReadsFilesOfLstopo) {
  const Hardware eight = read_hwloc(test_file("hwloc/eight-nodes.xml")).value();
  EXPECT_EQ(ids_of(eight), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(eight.nodes[0].cpus, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(eight.nodes[1].cpus, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(eight.nodes[0].memory.at("memory"), 8587984896U);
  EXPECT_EQ(eight.nodes[0].distances.at(0), 10);
  EXPECT_EQ(eight.nodes[0].distances.at(7), 20);
  // Memory beside the cpus' own: it has none of them.
  const Hardware hybrid = read_hwloc(test_file("hwloc/knl-hybrid.xml")).value();
  EXPECT_EQ(cpus_of(hybrid), (std::vector<std::size_t>{8, 0}));
  EXPECT_EQ(hybrid.nodes[1].memory.at("memory"), 8589934592U);
  EXPECT_EQ(hybrid.nodes[1].memory.at("hugepages-1Gi"), 0U);
  const Hardware old =
      read_hwloc(R"(<?xml version="1.0"?><!-- hwloc 1 --><topology><object type='Machine'>
    <object type="NUMANode" os_index="1" cpuset="0x00000001,0x0" local_memory="4096"/>
    <object type="NUMANode" os_index="0" cpuset="0x3"><page_type size="4096" count="1"/>
      <page_type size="2097152" count="3"/></object></object></topology>)")
          .value();
  EXPECT_EQ(ids_of(old), (std::vector<int>{0, 1}));
  EXPECT_EQ(old.nodes[0].memory.at("hugepages-2Mi"), 3U * 2097152);
  EXPECT_EQ(old.nodes[1].cpus, (std::vector<std::int64_t>{32}));
}

TEST(NumaHwloc, NamesInvalidElements) {
  const auto said = [](const std::string& xml) {
    const auto hardware = read_hwloc(xml);
    return hardware.ok() ? std::string("read") : hardware.error().message;
  };
  const auto node = [&](const std::string& attributes, const std::string& more = "") {
    return said("<topology><object type=\"NUMANode\" " + attributes + ">" + more +
                "</object></topology>");
  };
  EXPECT_EQ(said(""), "line 1: no element");
  EXPECT_EQ(said("<other/>"), "the root element is other, not topology");
  EXPECT_EQ(said("<topology/>"), "there is no NUMANode");
  EXPECT_EQ(said("<topology>\n<object>"), "line 2: element object does not end");
  EXPECT_EQ(said("<topology></object>"), "line 1: element topology does not end where it should");
  EXPECT_EQ(said("<topology a=b/>"), "line 1: an attribute's value must be quoted");
  EXPECT_EQ(said("<topology>&other;</topology>"), "line 1: unknown entity");
  EXPECT_EQ(said("<topology/><topology/>"), "line 1: text behind the root element");
  EXPECT_EQ(node("cpuset=\"0x1\""), "a NUMANode has no os_index");
  EXPECT_EQ(node("os_index=\"3\" cpuset=\"0xf...f\""),
            "cpuset of NUMANode 3: \"0xf...f\" is no bitmap");
  EXPECT_EQ(node("os_index=\"3\" cpuset=\"0x1\" local_memory=\"much\""),
            "local_memory of NUMANode 3 is no number");
  EXPECT_EQ(node("os_index=\"3\" cpuset=\"0x1\"", "<page_type size=\"1\"/>"),
            "page_type of NUMANode 3 is malformed");
  EXPECT_EQ(
      said("<topology><object type=\"NUMANode\" os_index=\"0\"/><distances2 type=\"NUMANode\" "
           "kind=\"5\"><indexes>0 </indexes><u64values>10 20</u64values></distances2>"
           "</topology>"),
      "distances2 is no square matrix");
  std::string deep;
  for (std::size_t i = 0; i <= kMostXmlDepth; ++i) {
    deep += "<topology>";
  }
  EXPECT_EQ(said(deep), "line 1: elements are nested too deep");
}

TEST(NumaHardware, AcceptsOneFolderPerNodeInKernelsSpelling) {
  const auto read = [](const std::string& path) -> std::optional<std::string> {
    return path.ends_with("/cpulist")    ? std::optional<std::string>("0-3")
           : path.ends_with("/distance") ? std::optional<std::string>("10")
                                         : std::nullopt;
  };
  const auto list = [](const std::string& path) {
    return path == "devices/system/node" ? std::vector<std::string>{"node0", "node00", "node0\t"}
                                         : std::vector<std::string>();
  };
  const auto hardware = read_hardware({.read = read, .list = list});
  ASSERT_TRUE(hardware.ok()) << hardware.error().message;
  ASSERT_EQ(hardware->nodes.size(), 1U);
  EXPECT_EQ(hardware->nodes[0].id, 0);
}

TEST(NumaHardware, ReadsBitmaps) {
  EXPECT_EQ(parse_bitmap("0x00000003,0xff").value(),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 32, 33}));
  EXPECT_EQ(parse_bitmap("3,000000ff\n").value(), parse_bitmap("0x3,0xff").value());
  EXPECT_EQ(parse_bitmap("0x1,,0x0").value(), (std::vector<std::int64_t>{64}));
  EXPECT_TRUE(parse_bitmap("").value().empty());
  for (const char* wrong : {"0x", "x", "-1", "0x1ffffffff", "0x1 0x2"}) {
    EXPECT_FALSE(parse_bitmap(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace athanor::numa::hardware_test
