// SPDX-License-Identifier: Apache-2.0
// Making the two ends of what a session talks through.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/process/session_loop.hpp"

namespace athanor::nodes {

// Both ends: the program's, and those that a process gets (its input if wanted, its output, its
// errors; of a terminal the slave alone). All are closed on exec.
struct SessionEnds {
  SessionFiles ours{};
  std::vector<int> theirs{};
  void close_theirs();
  void close_all();
};
// Makes pipes: output and errors go together. Fails when the system has no descriptors left.
Result<SessionEnds> make_pipes(bool with_input, bool with_output);
// Makes a pseudo terminal; fails likewise.
Result<SessionEnds> make_terminal();
// Begins to connect to a port of this machine. With `otherwise`, the second one is taken where the
// first one refuses, which ports of this machine do at once.
Result<SessionFiles> dial(const Address& address,
                          const std::optional<Address>& otherwise = std::nullopt);

}  // namespace athanor::nodes
