// SPDX-License-Identifier: Apache-2.0
// Heartbeat: the leases of emulated nodes, renewed as kubelets do, so that node controllers (ours,
// or a real kube-controller-manager's) see that the nodes are alive.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "embedded/apiserver/core/server.hpp"

namespace athanor::lab {

// The server must outlive it. One thread calls it.
class Heartbeat {
 public:
  explicit Heartbeat(apiserver::Server& server) : server_(server) {}
  // Renews every node's lease when the last time is 10 s ago, or the clock was set back.
  void beat(Instant now);

 private:
  void renew(const Value& node, Instant now);

  apiserver::Server& server_;
  std::optional<Instant> last_{};
};

}  // namespace athanor::lab
