// SPDX-License-Identifier: Apache-2.0
// PodNetwork: the network of process pods on one thread: the name server, the proxy of this
// machine, and the supervisor of what pods bind and connect to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/network/service_table.hpp"

namespace athanor::nodes {

// `channel`: from the spawner's children (call_listener.hpp), -1: none is supervised; taken.
// `table`: the newest table of Services; called on the network's thread, often.
// `upstream`: servers of names outside the cluster.
// `report`: takes each port that is not served, once; called on the network's thread.
struct PodNetworkOptions {
  int channel = -1;
  std::function<ServiceTablePtr()> table{};
  std::vector<Address> upstream{};
  std::function<void(const PortProblem&)> report{};
};

// Thread-safe; owns the thread.
class PodNetwork {
 public:
  // Starts all of it; a part that is missing (a port) is said in the log.
  explicit PodNetwork(PodNetworkOptions options);
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;
  ~PodNetwork();

  // Returns the address that pods have as their name server, with port 53; empty: there is none.
  [[nodiscard]] const std::string& name_server() const;
  // Services or endpoints have changed. Quick.
  void changed();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
