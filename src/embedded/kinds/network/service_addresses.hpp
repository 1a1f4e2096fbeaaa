// SPDX-License-Identifier: Apache-2.0
// Cluster IPs and node ports: one owner each (docs/spec/apiserver.md 14.2, 14.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// An IPv4 range "10.96.0.0/16"; its first and last address are reserved.
class AddressRange {
 public:
  static std::optional<AddressRange> parse(std::string_view cidr);
  [[nodiscard]] bool contains(std::uint32_t address) const;
  // Returns the address at an offset from the start; offset 1 is the first one.
  [[nodiscard]] std::uint32_t at(std::uint32_t offset) const { return base_ + offset; }
  // Returns the last usable offset; the first is 1.
  [[nodiscard]] std::uint32_t last_offset() const { return size_ - 2; }

 private:
  std::uint32_t base_ = 0;
  std::uint32_t size_ = 0;
};

// Parses "10.96.0.1" to a number, the first byte highest. nullopt: no IPv4 address.
std::optional<std::uint32_t> parse_ipv4(std::string_view text);
// Formats a number as "10.96.0.1", the inverse of parse_ipv4().
std::string format_ipv4(std::uint32_t address);

// Gives a service the addresses and ports that it lacks, or checks those it asks for.
StatusResult<void> allocate_service(Value& service, const Value& old_service,
                                    const KindContext& context);

}  // namespace athanor::apiserver
