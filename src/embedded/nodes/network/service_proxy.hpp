// SPDX-License-Identifier: Apache-2.0
// ServiceProxy: makes Services answer on this machine: node ports at 127.0.0.1, cluster addresses
// at their aliases in 127.0.0.0/8 (host_alias()). Pods do not need it: the calls of their processes
// lead straight to endpoints (socket_supervisor.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  ServiceProxy(PollLoop& loop, ServiceChoice& choice);
  ServiceProxy(const ServiceProxy&) = delete;
  ServiceProxy& operator=(const ServiceProxy&) = delete;
  ~ServiceProxy();

  // Opens and closes ports as the table says. An address that is taken is a warning of the log, and
  // tried again at the next change. Costs O(ports of Services).
  void follow(ServiceTablePtr table);

 private:
  using Place = std::pair<Address, Protocol>;  // where it listens
  struct Listener {
    Descriptor file{};
    std::size_t port = 0;  // in table_->ports
  };
  struct Session {  // of UDP
    Descriptor file{};
    std::int64_t used_ms = 0;
  };

  void open(const Place& place, std::size_t port);
  void accept_one(const Place& place);
  void take_packets(const Place& place);
  void answer_packets(const Place& place, const Address& client);
  void end_idle();

  PollLoop& loop_;
  ServiceChoice& choice_;
  ServiceTablePtr table_{};
  std::map<Place, Listener> listeners_{};
  std::set<Place> refused_{};  // those that were warned of
  std::map<std::uint64_t, std::unique_ptr<Relay>> relays_{};
  std::map<std::pair<Place, Address>, Session> sessions_{};
  std::uint64_t last_relay_ = 0;
};

}  // namespace athanor::nodes
