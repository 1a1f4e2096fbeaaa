// SPDX-License-Identifier: Apache-2.0
// ServiceProxy: makes Services answer on this machine: node ports at 127.0.0.1, cluster addresses
// at their aliases in 127.0.0.0/8 (host_alias()). Pods do not need it: the calls of their processes
// lead straight to endpoints (socket_supervisor.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "embedded/nodes/network/poll_loop.hpp"
#include "embedded/nodes/network/relay.hpp"
#include "embedded/nodes/network/service_choice.hpp"
#include "embedded/nodes/network/service_table.hpp"
#include "embedded/nodes/network/sockets.hpp"

namespace athanor::nodes {

// Of its loop's thread.
class ServiceProxy {
 public:
  // Asks `table`, which returns the newest table of Services, for each connection: a client that
  // has seen endpoints in the API reaches them, also before follow().
  // `report` gets each port that is not served, once until it is.
  ServiceProxy(PollLoop& loop, ServiceChoice& choice, std::function<ServiceTablePtr()> table,
               std::function<void(const PortProblem&)> report);
  ServiceProxy(const ServiceProxy&) = delete;
  ServiceProxy& operator=(const ServiceProxy&) = delete;
  ~ServiceProxy();

  // Opens and closes ports as the newest table says. An address that is taken is reported, and
  // tried again at the next change. Costs O(ports of Services).
  void follow();

 private:
  using Place = std::pair<Address, Protocol>;  // where it listens
  struct Target {                              // a key of the table
    bool node_port = false;
    Address address{};
    Protocol protocol = Protocol::Tcp;
  };
  struct Listener {
    Descriptor file{};
    Target target{};
  };
  struct Session {  // of UDP
    Descriptor file{};
    std::int64_t used_ms = 0;
  };

  void open(const Place& place, const Target& target, const std::string& service,
            std::set<PortProblem>& problems);
  std::optional<Address> endpoint_of(const Target& target, std::uint32_t client);
  void accept_one(const Place& place);
  void take_packets(const Place& place);
  void answer_packets(const Place& place, const Address& client);
  void end_idle();

  PollLoop& loop_;
  ServiceChoice& choice_;
  std::function<ServiceTablePtr()> table_;
  std::map<Place, Listener> listeners_{};
  std::function<void(const PortProblem&)> report_;
  std::set<PortProblem> reported_{};
  std::map<std::uint64_t, std::unique_ptr<Relay>> relays_{};
  std::map<std::pair<Place, Address>, Session> sessions_{};
  std::uint64_t last_relay_ = 0;
};

}  // namespace athanor::nodes
