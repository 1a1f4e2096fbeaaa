// SPDX-License-Identifier: Apache-2.0
// A node's zones as its NodeResourceTopology lists them (docs/spec/numa.md 11.2). Amounts are
// integers in thousandths of the resource's unit: exact, and fast to compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/numa/scheduling/amounts.hpp"

namespace athanor::numa {

// One NUMA node with its resources.
struct Zone {
  int id = 0;
  Amounts capacity{};
  Amounts allocatable{};
  Amounts available{};
  std::map<int, std::int64_t> costs{};  // distance to the zone of that id

  [[nodiscard]] bool lists(std::string_view resource) const {
    return available.find(resource) != available.end();
  }
};

// Zones of one node; ids are smaller.
inline constexpr std::size_t kMostZones = 1024;

// Zones and topology-manager settings of one node, see read_topology().
struct NodeTopology {
  std::string node{};
  std::string resource_version{};
  std::string policy = "none";
  std::string scope = "container";
  int max_numa_nodes = 8;
  std::vector<Zone> zones{};  // in the object's order
  std::string fingerprint{};  // empty: none
  std::string method{};       // of the fingerprint
};

// Reads v1alpha1 and v1alpha2. Zones that are no NUMA nodes are skipped.
NodeTopology read_topology(const Value& nrt);
// Returns the id of "node-3", -1 for any other name.
int zone_id(std::string_view name);

// Classes of resources (docs/spec/numa.md 11.2).
bool is_native(std::string_view resource);
bool is_numa_affine(std::string_view resource);
bool is_host_level(std::string_view resource);

// Topology-manager policies.
inline constexpr std::string_view kSingleNumaNode = "single-numa-node";
inline constexpr std::string_view kRestricted = "restricted";
inline constexpr std::string_view kBestEffort = "best-effort";
inline constexpr std::string_view kNoPolicy = "none";

}  // namespace athanor::numa
