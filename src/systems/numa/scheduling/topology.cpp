// SPDX-License-Identifier: Apache-2.0
// Reading NodeResourceTopology objects.
#include "systems/numa/scheduling/topology.hpp"

#include <algorithm>
#include <charconv>

#include "kube/text/quantity.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"

namespace athanor::numa {
namespace {

constexpr int kMostZoneIds = static_cast<int>(kMostZones);
constexpr std::string_view kZonePrefix = "node-";
constexpr const char* kLegacyFingerprint = "topology.node.k8s.io/fingerprint";

struct LegacyPolicy {
  std::string_view name{}, policy{}, scope{};
};
constexpr LegacyPolicy kLegacyPolicies[] = {
    {"SingleNUMANodePodLevel", kSingleNumaNode, "pod"},
    {"SingleNUMANodeContainerLevel", kSingleNumaNode, "container"},
    {"RestrictedPodLevel", kRestricted, "pod"},
    {"RestrictedContainerLevel", kRestricted, "container"},
    {"BestEffortPodLevel", kBestEffort, "pod"},
    {"BestEffortContainerLevel", kBestEffort, "container"},
};

bool read_zone_int(std::string_view text, int& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failure == std::errc() && end == text.data() + text.size();
}

void read_attribute(std::string_view name, std::string_view value, NodeTopology& topology) {
  if (name == "topologyManagerPolicy") {
    if (value == kSingleNumaNode || value == kRestricted || value == kBestEffort ||
        value == kNoPolicy) {
      topology.policy = value;
    }
  } else if (name == "topologyManagerScope") {
    if (value == "pod" || value == "container") {
      topology.scope = value;
    }
  } else if (name == "topologyManagerMaxNUMANodes") {
    if (int number = 0; read_zone_int(value, number) && number > 1) {
      topology.max_numa_nodes = std::min(number, kMostZoneIds);
    }
  } else if (name == "nodeTopologyPodsFingerprint") {
    topology.fingerprint = value;
  } else if (name == "nodeTopologyPodsFingerprintMethod") {
    topology.method = value;
  }
}

void put(Amounts& amounts, const Value& name, const Value& quantity) {
  if (const auto amount = Quantity::parse(quantity)) {
    amounts.insert_or_assign(name.as_string(), amount->milli_value());
  }
}

Zone read_zone(const Value& value, int id) {
  Zone zone{.id = id};
  for (const Value& resource : value["resources"].items()) {
    put(zone.capacity, resource["name"], resource["capacity"]);
    put(zone.allocatable, resource["name"], resource["allocatable"]);
    put(zone.available, resource["name"], resource["available"]);
  }
  for (const Value& cost : value["costs"].items()) {
    if (const int target = zone_id(cost["name"].as_string()); target >= 0) {
      zone.costs.insert_or_assign(target, cost["value"].as_int());
    }
  }
  return zone;
}

}  // namespace

int zone_id(std::string_view name) {
  int id = -1;
  const bool good = name.starts_with(kZonePrefix) && name.size() > kZonePrefix.size() &&
                    name[kZonePrefix.size()] >= '0' && name[kZonePrefix.size()] <= '9' &&
                    read_zone_int(name.substr(kZonePrefix.size()), id);
  return good && id < kMostZoneIds ? id : -1;
}

NodeTopology read_topology(const Value& nrt) {
  NodeTopology topology{.node = nrt["metadata"]["name"].str(),
                        .resource_version = nrt["metadata"]["resourceVersion"].str()};
  const std::string_view legacy = nrt["topologyPolicies"][0].as_string();
  for (const LegacyPolicy& known : kLegacyPolicies) {
    if (known.name == legacy) {
      topology.policy = known.policy;
      topology.scope = known.scope;
    }
  }
  for (const Value& attribute : nrt["attributes"].items()) {
    read_attribute(attribute["name"].as_string(), attribute["value"].as_string(), topology);
  }
  if (topology.fingerprint.empty()) {
    topology.fingerprint = nrt["metadata"]["annotations"][kLegacyFingerprint].str();
    topology.method.clear();
  }
  // Writers that name no method, such as NFD's, count all pods.
  if (topology.method.empty() && !topology.fingerprint.empty()) {
    topology.method = kMethodAll;
  }
  for (const Value& zone : nrt["zones"].items()) {
    const int id = zone_id(zone["name"].as_string());
    const bool known =
        std::ranges::any_of(topology.zones, [&](const Zone& other) { return other.id == id; });
    if (zone["type"].as_string() == "Node" && id >= 0 && !known) {
      topology.zones.push_back(read_zone(zone, id));
    }
  }
  return topology;
}

bool is_native(std::string_view resource) {
  return resource.find('/') == std::string_view::npos ||
         resource.find("kubernetes.io/") != std::string_view::npos;
}

bool is_numa_affine(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

bool is_host_level(std::string_view resource) {
  return resource == "ephemeral-storage" || resource == "storage" || !is_native(resource);
}

}  // namespace athanor::numa
