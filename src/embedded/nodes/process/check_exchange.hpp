// SPDX-License-Identifier: Apache-2.0
// What is written to a container that is checked, and what its answer means: HTTP/1.1 and the gRPC
// health protocol. Bytes in, bytes out; no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/nodes/pod_machine.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// One exchange over a connection. Not thread-safe.
class CheckExchange {
 public:
  virtual ~CheckExchange() = default;
  // Returns the first bytes to send.
  virtual std::string begin() = 0;
  // Takes what has arrived, all of it so far; `closed`: nothing more will. May add bytes to send.
  // Returns the answer once there is one.
  virtual std::optional<ProbeAnswer> take(std::string_view received, bool closed,
                                          std::string& send) = 0;
};

// Makes the exchange of an action; null for one that is done with a connection: tcp, and http with
// scheme HTTPS, of which nothing beyond the connection is asked.
std::unique_ptr<CheckExchange> make_exchange(const Value& action);
// Returns the URL of an http action, as a kubelet names it.
std::string url_of(const Value& action);

}  // namespace athanor::nodes
