// SPDX-License-Identifier: Apache-2.0
// IPv4 addresses with ports: of pods, Services and sockets.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::nodes {

// An address, the first byte highest, and a port; 0: any.
struct Address {
  std::uint32_t ip = 0;
  std::uint16_t port = 0;
  friend auto operator<=>(const Address&, const Address&) = default;
};

enum class Protocol : std::uint8_t { Tcp, Udp };

inline constexpr std::uint32_t kLoopback = 0x7f00'0001;

// Returns the number of "127.0.0.1"; nullopt: no IPv4 address.
std::optional<std::uint32_t> ip_of(std::string_view text);
std::string ip_text(std::uint32_t ip);
// Returns true for 127.0.0.0/8.
bool is_loopback(std::uint32_t ip);
// Returns true for an address that pods have, or that stands for a Service's (pod_address.cpp).
bool is_pod(std::uint32_t ip);

// Returns the address of this machine that stands for a Service's address: 127.A.B.C of X.A.B.C
// for 10.96.0.0/16, the range of which no pod has an address.
std::uint32_t host_alias(std::uint32_t service_ip);

// Returns the port on which a process of a pod that binds `port` listens: the same, or, where this
// user may not bind it, one of the last 1024.
std::uint16_t pod_port(std::uint16_t port);
// Returns the same for a machine where ports below `first_free` are for root, or 0.
std::uint16_t pod_port(std::uint16_t port, std::uint16_t first_free);
// Returns where a connection to `address` leads: to pod_port() for a pod's address.
Address reachable(const Address& address);

}  // namespace athanor::nodes
