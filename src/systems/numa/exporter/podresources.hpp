// SPDX-License-Identifier: Apache-2.0
// Answers of a kubelet's podresources API (docs/spec/numa.md 9.4) as plain structs, and their JSON
// form, which the source fake:///dir reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Devices of one resource that share their NUMA nodes.
struct DeviceIds {
  std::string resource{};
  std::vector<std::string> ids{};
  std::vector<int> nodes{};  // NUMA nodes; empty: no topology
};

// Memory or huge pages in bytes, with the NUMA nodes that hold them.
struct MemoryBlock {
  std::string type{};  // "memory", "hugepages-2Mi"
  std::uint64_t size = 0;
  std::vector<int> nodes{};
};

// Exclusive resources of one container.
struct ContainerResources {
  std::string name{};
  std::vector<std::int64_t> cpus{};
  std::vector<DeviceIds> devices{};
  std::vector<MemoryBlock> memory{};
};

// Exclusive resources of one pod's containers.
struct PodResources {
  Key key{};
  std::vector<ContainerResources> containers{};
};

// Resources that the kubelet can allocate: the answer of GetAllocatableResources.
struct AllocatableResources {
  std::vector<std::int64_t> cpus{};
  std::vector<DeviceIds> devices{};
  std::vector<MemoryBlock> memory{};
};

// Reads the answers of List, GetAllocatableResources and Get. Member names are those of Go's
// encoding ("cpu_ids") or of protobuf's JSON ("cpuIds"); numbers may be texts. Errors name the
// member.
Result<std::vector<PodResources>> read_list(const Value& answer);
Result<AllocatableResources> read_allocatable(const Value& answer);
Result<PodResources> read_get(const Value& answer);

// Returns the JSON form with Go's member names.
Value to_value(const std::vector<PodResources>& pods);
Value to_value(const AllocatableResources& resources);

// Names of the files below a fake:///dir.
inline constexpr std::string_view kFakeList = "list.json";
inline constexpr std::string_view kFakeAllocatable = "get_allocatable_resources.json";
inline constexpr std::string_view kFakeGet = "get.json";

}  // namespace athanor::numa
