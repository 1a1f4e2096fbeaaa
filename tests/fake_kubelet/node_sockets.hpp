// SPDX-License-Identifier: Apache-2.0
// The agent's sockets on a node without an agent behind them: a device plugin, the driver of
// ResourceClaims, and a kubelet's pod resources. What arrives is checked as the agent needs it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent/kubelet/dra_server.hpp"
#include "agent/kubelet/plugin_server.hpp"
#include "fake_kubelet/raw_grpc.hpp"

namespace athanor::fake_kubelet {

class NodeSockets {
 public:
  // In a folder of its own below the temporary one.
  NodeSockets();
  NodeSockets(const NodeSockets&) = delete;
  NodeSockets& operator=(const NodeSockets&) = delete;
  ~NodeSockets();

  RawAnswer allocate(const std::string& body);
  // Sends a message to one of the agent's methods, by letter, or as raw bytes to its socket, or
  // lets the kubelet answer with it. Returns what went wrong; empty: nothing.
  std::string send(char way, const std::string& body);
  // Returns what does not work of right calls; empty: all does.
  std::string still_serves();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::fake_kubelet
