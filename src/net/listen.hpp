// SPDX-License-Identifier: Apache-2.0
// Listening sockets. For the .cpp files of transport/.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor::net {

// Returns "HOST:PORT", an IPv6 address in brackets.
std::string address_text(const std::string& host, int port);
// Returns a non-blocking socket that listens on an address or host name; port 0: any free one.
// Error Unavailable: the address is not ours, or taken.
Result<int> listen_on(const std::string& host, int port);
// A socket that listens on "HOST:PORT"; no host: every address. Errors: what is no address, and as
// of listen_on().
struct Listening {
  int socket = -1;
  std::string host{};  // what it listens on
};
// Listens on "HOST:PORT".
Result<Listening> listen_at(const std::string& address);
// Returns a non-blocking unix socket that listens at `path`, mode 0600; makes missing folders and
// replaces a socket that is there already. Paths may be longer than a socket's address. Errors:
// something else lies there, or the folder cannot be written.
Result<int> listen_at_path(const std::string& path);
// Returns the port that a socket is bound to.
int port_of(int socket);
// Returns the address of a connection's other end without its port, "10.0.0.1" also where it came
// over IPv6; empty when there is none to be had.
std::string peer_of(int socket);

}  // namespace athanor::net
