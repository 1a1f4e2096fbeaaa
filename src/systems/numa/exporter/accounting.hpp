// SPDX-License-Identifier: Apache-2.0
// Zones of a NodeResourceTopology from what the hardware has, what the kubelet may give and what
// containers hold (docs/spec/numa.md 9.5).
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/podresources.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"

namespace athanor::numa {

// Amounts by NUMA node and resource, in whole units.
using NodeAmounts = std::map<int, std::map<std::string, std::uint64_t>>;

// One resource of a zone, in whole units: cpus, bytes, devices.
struct ResourceAmounts {
  std::string name{};
  std::uint64_t capacity = 0;
  std::uint64_t allocatable = 0;
  std::uint64_t available = 0;
};

// One NUMA node as an entry of `zones` (docs/spec/numa.md 9.5).
struct ExportedZone {
  int id = 0;
  std::vector<std::pair<int, std::int64_t>> costs{};
  std::vector<ResourceAmounts> resources{};  // by name
};

// Pods and resources that account() counts.
struct AccountingOptions {
  std::string watch_namespace{};     // only its pods count as users; empty: all
  std::set<std::string> excluded{};  // resources that no zone lists
};

// Requires as `pods` a filtered answer of List. Returns zones in the order of their ids.
std::vector<ExportedZone> account(const Hardware& hardware, const AllocatableResources& allocatable,
                                  std::span<const PodResources> pods,
                                  const AccountingOptions& options);

// Returns true if some container holds a cpu, memory or a device of a known node: method
// with-exclusive-resources counts such pods alone (docs/spec/numa.md 10.2).
bool has_locality(const PodResources& pod);
// Returns the containers with locality and the node of each: of its first cpu, else of its first
// device with topology, else of its memory (docs/spec/numa.md 10.5).
std::vector<PlacedContainer> placed_containers(const Hardware& hardware,
                                               std::span<const PodResources> pods);

// Returns members of a NodeResourceTopology; `vectors` are the placement vectors by node.
Value zones_value(std::span<const ExportedZone> zones, const std::map<int, std::string>& vectors);

}  // namespace athanor::numa
