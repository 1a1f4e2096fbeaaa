// SPDX-License-Identifier: Apache-2.0
// Requests to a checked container and the meaning of its answers: HTTP/1.1, also over TLS, and
// the gRPC health protocol. Bytes in, bytes out; no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/nodes/pod_machine.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// The end of an exchange.
struct CheckAnswer {
  ProbeAnswer answer{};
  Value next{};  // an action that goes on elsewhere (a redirect), in the place of the answer
};

// One exchange over a connection. Not thread-safe.
class CheckExchange {
 public:
  virtual ~CheckExchange() = default;
  // Returns the first bytes to send.
  virtual std::string begin() = 0;
  // Takes what has arrived, all of it so far; `closed`: nothing more will. May add bytes to send.
  // Returns the answer once there is one.
  virtual std::optional<CheckAnswer> take(std::string_view received, bool closed,
                                          std::string& send) = 0;
};

// Makes the exchange of an action; null for one that is done with a connection: tcp.
std::unique_ptr<CheckExchange> make_exchange(const Value& action);
// Returns the URL of an http action, as a kubelet names it.
std::string url_of(const Value& action);

}  // namespace athanor::nodes
