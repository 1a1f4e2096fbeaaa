// SPDX-License-Identifier: Apache-2.0
// ServiceChoice: which endpoint of a Service a client gets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "embedded/nodes/network/service_table.hpp"

namespace athanor::nodes {

// Takes endpoints in turns; with session affinity a client keeps its own while that is there. Not
// thread-safe.
class ServiceChoice {
 public:
  // Returns an endpoint for the client with this address; nullopt: there is none.
  std::optional<Address> choose(const ServicePort& port, std::uint32_t client, std::int64_t now_ms);

 private:
  struct Kept {
    Address endpoint{};
    std::int64_t until_ms = 0;
  };
  using PortKey = std::tuple<std::string, std::uint16_t, Protocol>;
  std::map<PortKey, std::size_t> turns_{};
  std::map<std::tuple<std::string, std::uint16_t, Protocol, std::uint32_t>, Kept> kept_{};
};

}  // namespace athanor::nodes
