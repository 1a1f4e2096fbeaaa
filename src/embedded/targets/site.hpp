// SPDX-License-Identifier: Apache-2.0
// One emulated target cluster on its port. For server.cpp; everything on the event loop's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/result.hpp"
#include "embedded/targets/api.hpp"
#include "embedded/targets/identity.hpp"
#include "net/acceptor.hpp"
#include "net/served_connection.hpp"

namespace athanor::targets {

// Returns a socket bound to a port of 127.0.0.1 (0: any free one) that does not listen yet. As long
// as it is there no other process gets the port.
Result<int> bind_port(int port);

// What came so far, of all targets.
struct Visits {
  std::atomic<std::uint64_t> connections = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> writes = 0;
};

// One target: its socket, its connections, what it answers.
class Site {
 public:
  // Owns the socket, which is bound; world and visits outlive it.
  Site(net::ServedWorld& world, int socket, Identity identity, Visits& visits);
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  ~Site();

  // Ends the connections and goes on as this target.
  void show(const Target& target);
  // Ends the connections and listens no more.
  void shut();

 private:
  enum class Door : std::uint8_t { Shut, Open, Hole };

  void turn(Door door);
  void flap(bool up);
  void dig();
  void adopt(int socket);
  void answer(const std::shared_ptr<const Face>& face, const net::Request& request,
              const net::ServedConnection::Answer& answer);
  Result<std::shared_ptr<const net::TlsContext>> context();
  void part();

  net::ServedWorld& world_;
  const Identity identity_;
  Visits& visits_;
  net::Acceptor acceptor_;
  net::EventLoop::Timer flapping_;
  std::shared_ptr<const Face> face_{};
  // Made for the first client and gone with the last: a thousand of them cost more than the rest.
  std::weak_ptr<const net::TlsContext> context_{};
  std::set<std::shared_ptr<net::ServedConnection>> connections_{};
  std::vector<int> fillers_{};  // connections to itself that keep the queue full
  Door door_ = Door::Shut;
};

}  // namespace athanor::targets
