// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/sockets.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace athanor::nodes {
namespace {

Error socket_error(const char* what, const Address& address) {
  char buffer[128];
  return Error::internal(fmt::format("{} {}:{}: {}", what, ip_text(address.ip), address.port,
                                     ::strerror_r(errno, buffer, sizeof buffer)));
}

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

sockaddr_in socket_address(const Address& address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(address.port);
  result.sin_addr.s_addr = htonl(address.ip);
  return result;
}

Result<Descriptor> open_socket(const Address& address, Protocol protocol) {
  const bool stream = protocol == Protocol::Tcp;
  Descriptor file(
      ::socket(AF_INET, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  const sockaddr_in wanted = socket_address(address);
  if (file.valid() && stream) {
    ::setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  }
  if (!file.valid() || ::bind(file.get(), plain(wanted), sizeof wanted) != 0 ||
      (stream && ::listen(file.get(), SOMAXCONN) != 0)) {
    return socket_error("listen on", address);
  }
  return file;
}

Result<Descriptor> open_connection(const Address& address) {
  Descriptor file(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_in wanted = socket_address(address);
  if (!file.valid() ||
      (::connect(file.get(), plain(wanted), sizeof wanted) != 0 && errno != EINPROGRESS)) {
    return socket_error("connect to", address);
  }
  return file;
}

Address bound_address(int file) {
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(file, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return {};
  }
  return address_in(bound);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

Address address_in(const sockaddr_in& address) {
  return address.sin_family != AF_INET
             ? Address{}
             : Address{.ip = ntohl(address.sin_addr.s_addr), .port = ntohs(address.sin_port)};
}

}  // namespace athanor::nodes
