// SPDX-License-Identifier: Apache-2.0
// Containers by NUMA node, packed into attributes of a NodeResourceTopology
// (docs/spec/numa.md 10.5).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Full name of a container.
struct ContainerName {
  std::string ns{}, pod{}, container{};
  friend auto operator<=>(const ContainerName&, const ContainerName&) = default;
};

// A container and the id of its NUMA node.
struct PlacedContainer {
  ContainerName name{};
  int node = 0;
};

// Encoded placement: the metadata attribute and one vector for each NUMA node.
struct PackedPlacement {
  std::string metadata{};
  std::map<int, std::string> vectors{};  // by node; the busiest node has none
};

// Returns the id that orders containers.
std::uint64_t container_id(const ContainerName& name);
// Appends one number in base 89.
void append_number(std::uint64_t number, std::string& text);
// Reads all numbers of a vector; an error for a character outside the alphabet.
Result<std::vector<std::uint64_t>> read_numbers(std::string_view text);

// Encodes the placement; `nodes` is the number of NUMA nodes.
PackedPlacement pack_placement(std::span<const PlacedContainer> containers, int nodes);

// Returns the packed form that a NodeResourceTopology carries; without metadata: none.
PackedPlacement read_placement(const Value& nrt);

// Returns the node of each container. `containers`: those that the packed form is about.
Result<std::map<ContainerName, int>> unpack_placement(const PackedPlacement& packed,
                                                      std::span<const ContainerName> containers);
// Returns the node of one container: "unknown container" where there is none.
Result<int> node_of(const std::map<ContainerName, int>& placement, const ContainerName& name);

}  // namespace athanor::numa
