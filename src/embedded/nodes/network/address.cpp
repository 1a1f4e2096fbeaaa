// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/address.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files/text_file.hpp"

namespace athanor::nodes {
namespace {

constexpr std::uint32_t kLoopbackMask = 0xff00'0000;
constexpr std::uint32_t kLoopbackNet = 0x7f00'0000;
constexpr std::uint16_t kSubstitutes = 64512;  // 1024 of them
constexpr std::uint16_t kPrivileged = 1024;

// Returns the first port that this user may bind.
std::uint16_t first_free_port() {
  static const std::uint16_t kFirst = [] {
    if (::geteuid() == 0) {
      return std::uint16_t{0};
    }
    const auto text = read_text_file("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    const int first = text.ok() ? std::atoi(text->c_str()) : kPrivileged;
    return static_cast<std::uint16_t>(first < 0 || first > kPrivileged ? kPrivileged : first);
  }();
  return kFirst;
}

}  // namespace

std::optional<std::uint32_t> ip_of(std::string_view text) {
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) {
    return std::nullopt;
  }
  return ntohl(address.s_addr);
}

std::string ip_text(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24U, ip >> 16U & 0xffU, ip >> 8U & 0xffU, ip & 0xffU);
}

bool is_loopback(std::uint32_t ip) {
  return (ip & kLoopbackMask) == kLoopbackNet;
}

bool is_pod(std::uint32_t ip) {
  constexpr std::uint32_t kFirstPod = 0x7f10'0000;  // 127.16.0.0
  return is_loopback(ip) && ip >= kFirstPod;
}

Address reachable(const Address& address) {
  return {.ip = address.ip, .port = is_pod(address.ip) ? pod_port(address.port) : address.port};
}

std::uint32_t host_alias(std::uint32_t service_ip) {
  return kLoopbackNet | (service_ip & ~kLoopbackMask);
}

std::uint16_t pod_port(std::uint16_t port) {
  return pod_port(port, first_free_port());
}

std::uint16_t pod_port(std::uint16_t port, std::uint16_t first_free) {
  return port != 0 && port < first_free ? static_cast<std::uint16_t>(kSubstitutes + port) : port;
}

}  // namespace athanor::nodes
