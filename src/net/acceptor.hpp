// SPDX-License-Identifier: Apache-2.0
// Takes the connections of one listening socket. For all servers of the program; everything on the
// event loop's thread.
#pragma once

#include <functional>

#include "net/event_loop.hpp"

namespace athanor::net {

// Accepts the connections of one listening socket on an event loop; the loop's thread owns it.
class Acceptor {
 public:
  // Owns the listening socket, which is non-blocking. `adopt` owns what it is given: a non-blocking
  // socket that sends small pieces at once.
  Acceptor(EventLoop& loop, int socket, std::function<void(int client)> adopt);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Takes connections from now on. Out of descriptors it rests, logs that once and tries again.
  void start();
  // Takes none until the next start(); the socket stays as it is.
  void rest();
  // Stops for good and closes the socket.
  void close();
  [[nodiscard]] int socket() const { return socket_; }

 private:
  void arm();
  void accept_all();

  const int socket_;
  const std::function<void(int client)> adopt_;
  EventLoop::Descriptor descriptor_;
  EventLoop::Timer pause_;
  bool accepting_ = false;
  bool armed_ = false;    // a task waits for the socket
  bool starved_ = false;  // the last one could not be taken
};

}  // namespace athanor::net
