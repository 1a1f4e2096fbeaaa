// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of a machine as sysfs shows them (docs/spec/numa.md 9.5).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor::numa {

// One NUMA node of a machine.
struct HardwareNode {
  int id = 0;
  std::vector<std::int64_t> cpus{};
  std::map<std::string, std::uint64_t> memory{};  // "memory", "hugepages-2Mi" and their bytes
  std::map<int, std::int64_t> distances{};        // to the node of that id
};

// NUMA nodes of a machine with their cpus, memory and distances.
struct Hardware {
  std::vector<HardwareNode> nodes{};  // by id

  // Returns the node of a cpu; nullopt: no node has it.
  [[nodiscard]] std::optional<int> node_of(std::int64_t cpu) const;
};

// A folder of sysfs: paths are relative to its root.
struct SysfsTree {
  // The text of a file; nullopt: it is not there, or cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read{};
  // Names in a folder, in any order; empty: it is not there.
  std::function<std::vector<std::string>(const std::string& path)> list{};
};

// Reads devices/system/node. A machine without it has one node with the cpus of
// devices/system/cpu/online. Errors name the file.
Result<Hardware> read_hardware(const SysfsTree& sysfs);

// Reads "0-3,8"; errors quote the text. At most kMostCpus cpus.
Result<std::vector<std::int64_t>> parse_cpu_list(std::string_view text);
// Limit on the cpus of one list and on the bits of one bitmap.
inline constexpr std::size_t kMostCpus = 1U << 16U;

// Returns the members of a bitmap of 32-bit words, ascending: "0x00000003,0xff" and "3,000000ff"
// are 0 to 7, 32 and 33. Errors quote the text; it may have kMostCpus bits.
Result<std::vector<std::int64_t>> parse_bitmap(std::string_view text);

// Returns "hugepages-2Mi" of "hugepages-2048kB"; empty for any other name.
std::string hugepage_resource(std::string_view folder);

}  // namespace athanor::numa
