// SPDX-License-Identifier: Apache-2.0
// The unix sockets and files of emulated nodes (runtime/view/node_hooks.hpp): a kubelet's
// podresources API, its part of sysfs and the like, in each node's folder below the lab's data.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/time.hpp"
#include "embedded/store/store.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// Serves the sockets on a thread of its own until it is destroyed.
class NodeSockets {
 public:
  // Takes the nodes' `folder`. `store` and `config` outlive it; `clock` is asked with each call.
  NodeSockets(Systems systems, const SystemConfig& config, const store::Store& store,
              std::function<Instant()> clock, std::string folder);
  NodeSockets(const NodeSockets&) = delete;
  NodeSockets& operator=(const NodeSockets&) = delete;
  ~NodeSockets();

  // Opens the sockets of nodes that came, removes those of nodes that went, and writes the files of
  // nodes that changed; at most once in a second. By one thread at a time.
  void look(Instant now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::lab
