// SPDX-License-Identifier: Apache-2.0
// Services with their addresses, ports, endpoints and names, as a node's proxy and the cluster's
// name server know them. Made of Services and EndpointSlices; immutable afterwards.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/nodes/network/address.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// One port of a Service with the ready endpoints behind it.
struct ServicePort {
  std::string service{};  // "NS/NAME"; of a host port "pod NS/NAME"
  std::string name{};     // of the port, may be empty
  Protocol protocol = Protocol::Tcp;
  std::uint16_t port = 0;
  std::uint16_t node_port = 0;        // 0: none
  std::int64_t affinity_seconds = 0;  // 0: any endpoint
  std::vector<Address> endpoints{};
};

// An endpoint as names lead to it.
struct NamedEndpoint {
  std::string hostname{};  // may be empty
  std::uint32_t ip = 0;
};

// One Service.
struct ServiceEntry {
  std::vector<std::uint32_t> ips{};  // cluster, external and load balancer addresses
  std::uint32_t cluster_ip = 0;      // 0: headless, or without address
  bool headless = false;
  std::string external_name{};
  std::vector<std::size_t> ports{};  // in ServiceTable::ports
  std::vector<NamedEndpoint> endpoints{};
};

// A port that is not served on this machine, and why.
struct PortProblem {
  std::string owner{};  // as ServicePort::service
  std::string text{};   // for people

  friend auto operator<=>(const PortProblem&, const PortProblem&) = default;
};

// All of a lab. A value.
struct ServiceTable {
  std::vector<ServicePort> ports{};
  std::map<std::string, ServiceEntry, std::less<>> services{};  // by "NS/NAME"
  std::map<std::pair<Address, Protocol>, std::size_t> by_address{};
  std::map<std::pair<std::uint16_t, Protocol>, std::size_t> by_node_port{};
  std::vector<PortProblem> problems{};

  // Returns the port behind a virtual address, or null.
  [[nodiscard]] const ServicePort* find(const Address& address, Protocol protocol) const;
  [[nodiscard]] const ServicePort* find_node_port(std::uint16_t port, Protocol protocol) const;
  // Returns true if some Service has this address.
  [[nodiscard]] bool is_service_ip(std::uint32_t ip) const;
};
using ServiceTablePtr = std::shared_ptr<const ServiceTable>;

// Makes the table of these objects; leaves out what cannot be read in one. A host port of a pod
// stands in the table of node ports; a node port, or an earlier pod's host port, of the same number
// takes precedence; those that are not served are among the problems. Costs O(objects).
ServiceTable make_service_table(std::span<const Value> services, std::span<const Value> slices,
                                std::span<const Value> pods = {});
// Returns true if a pod runs at an address of its own, with a port of its host.
bool has_host_ports(const Value& pod);

}  // namespace athanor::nodes
