// SPDX-License-Identifier: Apache-2.0
// An emulated node's zones as a lab file declares them (docs/spec/numa.md 16.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// Annotation of an emulated node that holds its profile as JSON.
inline constexpr const char* kProfileAnnotation = "athanor.dev/numa";

// Zones, devices and topology-manager settings of an emulated node.
struct NodeProfile {
  struct Device {
    std::string resource{};
    std::vector<std::string> ids{};
  };
  struct ZoneProfile {
    std::vector<int> cpus{};
    std::vector<int> reserved_cpus{};
    Amounts capacity{};                // memory and hugepages, in thousandths
    std::int64_t reserved_memory = 0;  // in thousandths
    std::vector<Device> devices{};
    std::vector<std::int64_t> distances{};
  };
  std::string policy{"none"};
  std::string scope{"container"};
  std::vector<ZoneProfile> zones{};  // ids from 0
  std::vector<Device> devices{};     // without topology: in no zone
  // Podresources API of older kubelets: containers without cpus of their own list the
  // shared pool; pods that have ended stay in the list.
  bool lists_shared_cpus = false;
  bool lists_terminal_pods = false;

  // Returns what pods can have of a zone: cpu, memory, hugepages, devices.
  [[nodiscard]] Amounts allocatable(std::size_t zone) const;
  [[nodiscard]] Amounts capacity(std::size_t zone) const;
};

// Reads {policy, scope, cells, devices, podResources, zones: [{cpus, memory, hugepages,
// reservedCpus, reservedMemory, devices, distances}]}; cpus are a count, or a list such as
// "0-3,8-11". An error names the member: "zones[1].cpus: ...".
Result<NodeProfile> read_profile(const Value& value);
// Returns the profile of an emulated node; nullopt: it has none, or one that cannot be read.
std::optional<NodeProfile> profile_of(const Object& node);
// Returns {"cpu": "14", ...}: sums over the zones, as a node reports them.
Value sum_of_zones(const NodeProfile& profile, bool allocatable);

}  // namespace athanor::numa
