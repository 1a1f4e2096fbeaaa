// SPDX-License-Identifier: Apache-2.0
// One emulated target cluster on its port. For server.cpp; everything on the event loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/result.hpp"
#include "embedded/targets/connection.hpp"
#include "embedded/targets/identity.hpp"

namespace athanor::targets {

// A socket bound to a port of 127.0.0.1 (0: any free one) that does not listen yet. As long as it
// is there nobody else gets the port.
Result<int> bind_port(int port);

class Site {
 public:
  // Owns the socket, which is bound.
  Site(Shared& shared, int socket, Identity identity, std::function<void()> accepted);
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
  void accept_all();
  void arm();
  void adopt(int socket);
  Result<std::shared_ptr<const transport::TlsContext>> context();
  void part();

  Shared& shared_;
  const int socket_;
  const Identity identity_;
  const std::function<void()> accepted_;
  transport::EventLoop::Descriptor descriptor_;
  transport::EventLoop::Timer flapping_;
  transport::EventLoop::Timer pause_;
  std::shared_ptr<const Face> face_{};
  // Made for the first client and gone with the last: a thousand of them cost more than the rest.
  std::weak_ptr<const transport::TlsContext> context_{};
  std::set<std::shared_ptr<Connection>> connections_{};
  std::vector<int> fillers_{};  // connections to itself that keep the queue full
  Door door_ = Door::Shut;
  bool armed_ = false;
};

}  // namespace athanor::targets
