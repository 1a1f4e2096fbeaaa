// SPDX-License-Identifier: Apache-2.0
// Sockets of IPv4 addresses, without waiting.
#pragma once

#include "base/result.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/network/poll_loop.hpp"

struct sockaddr_in;  // of <netinet/in.h>

namespace athanor::nodes {

sockaddr_in socket_address(const Address& address);
// Returns a socket bound to `address`, which listens if it is one of TCP. Errors say why.
Result<Descriptor> open_socket(const Address& address, Protocol protocol);
// Returns a socket of TCP on its way to `address`.
Result<Descriptor> open_connection(const Address& address);
// Returns the address that a socket is bound to, 0 for both if none.
Address bound_address(int file);
// Returns the address in a sockaddr_in; zeros for another family.
Address address_in(const sockaddr_in& address);

}  // namespace athanor::nodes
