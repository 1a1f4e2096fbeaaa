// SPDX-License-Identifier: Apache-2.0
// IP addresses and networks as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::cel {

// An IPv4 or IPv6 address.
struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the first four

  [[nodiscard]] int bits() const { return v6 ? 128 : 32; }
  // Returns the canonical text (RFC 5952).
  [[nodiscard]] std::string text() const;
  // Returns the address with every bit behind the first `prefix` bits cleared.
  [[nodiscard]] IpAddress masked(int prefix) const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// A network: an address with the length of its prefix in bits.
struct Cidr {
  IpAddress address{};
  int prefix = 0;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool contains(const IpAddress& other) const;
  friend bool operator==(const Cidr&, const Cidr&) = default;
};

// The reason when the text is no address: zones, IPv4 in IPv6 and leading zeros are refused.
struct IpParsed {
  std::optional<IpAddress> address{};
  std::string error{};
};
// Parses an address strictly.
IpParsed parse_ip(std::string_view text);
// Parses "ADDRESS/PREFIX"; nullopt for anything else.
std::optional<Cidr> parse_cidr(std::string_view text);

}  // namespace athanor::cel
