// SPDX-License-Identifier: Apache-2.0
// When bytes reach this process's sockets and when they leave: takes the place of connect, recv,
// SSL_read and SSL_write for libcurl, which finds them in the program before it looks elsewhere.
#pragma once

#include <chrono>
#include <string_view>

namespace athanor::bench {

using SteadyClock = std::chrono::steady_clock;

// Told of what was decrypted, with the time at which its last byte could be read, respectively of
// what was handed to the socket just now. On the thread that reads or writes; `connection` tells
// connections apart.
struct SocketObserver {
  virtual ~SocketObserver() = default;
  virtual void read(const void* connection, std::string_view text,
                    SteadyClock::time_point arrived) = 0;
  virtual void written(std::string_view text) = 0;
};

// From now on, for connections that begin later; `observer` must outlive them. A thread that goes
// before all others, where that is allowed, notes the arrivals.
void observe_sockets(SocketObserver& observer);

}  // namespace athanor::bench
