// SPDX-License-Identifier: Apache-2.0
// NameLookup: host names of checks, resolved beside the thread that does the checks: a name server
// that does not answer costs the checks of its names only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor::nodes {

// An address of a socket as the kernel takes it.
struct SocketAddress {
  int family = 0;
  std::vector<std::byte> bytes{};
};

// Returns the address of a host that is given by its number; not found: it is a name.
Result<SocketAddress> numeric_address(const std::string& host, std::uint16_t port);

// Returns the first address of a host by its name or number; takes as long as name servers do.
Result<SocketAddress> address_of(const std::string& host, std::uint16_t port);

// Thread-safe.
class NameLookup {
 public:
  using Resolve = std::function<Result<SocketAddress>(const std::string& host, std::uint16_t port)>;
  using Done = std::function<void(Result<SocketAddress> address)>;

  explicit NameLookup(Resolve resolve = address_of);
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  ~NameLookup();  // no answer comes after it

  // Asks for the first address of `host`; the answer comes on a thread of its own. Fails at once
  // while kMostLookups others wait for theirs.
  void ask(const std::string& host, std::uint16_t port, Done done);

  static constexpr int kMostLookups = 16;

 private:
  struct State;
  Resolve resolve_;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::nodes
