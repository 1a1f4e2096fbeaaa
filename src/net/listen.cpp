// SPDX-License-Identifier: Apache-2.0
#include "net/listen.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace athanor::net {
namespace {

constexpr int kBacklog = 4096;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

// A listening socket on one address, or -1 with errno.
int try_address(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return -1;
  }
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket, address.ai_addr, address.ai_addrlen) != 0 || ::listen(socket, kBacklog) != 0) {
    const int cause = errno;
    ::close(socket);
    errno = cause;
    return -1;
  }
  return socket;
}

}  // namespace

std::string address_text(const std::string& host, int port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return (bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<int> listen_on(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    return Error::unavailable("cannot listen on " + address_text(host, port) + ": " +
                              ::gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  const int socket = try_address(*addresses);
  if (socket < 0) {
    return Error::unavailable("cannot listen on " + address_text(host, port) + ": " +
                              std::generic_category().message(errno));
  }
  return socket;
}

Result<Listening> listen_at(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const char* const end = address.data() + address.size();
  int port = -1;
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return Error::bad_request("\"" + address + "\" is no address: HOST:PORT");
  }
  const auto [rest, failed] = std::from_chars(address.data() + colon + 1, end, port);
  if (failed != std::errc() || rest != end || port < 0 || port > 65535) {
    return Error::bad_request("\"" + address + "\": the port is not a number from 0 to 65535");
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string where = host.empty() ? "::" : host;
  auto socket = listen_on(where, port);
  if (!socket.ok() && host.empty()) {
    socket = listen_on("0.0.0.0", port);  // a host without IPv6
  }
  if (!socket.ok()) {
    return socket.error();
  }
  return Listening{.socket = *socket, .host = where};
}

Result<int> listen_at_path(const std::string& path) {
  const auto failed = [&](std::string_view why) {
    return Error::unavailable("cannot listen on " + path + ": " + std::string(why));
  };
  const std::filesystem::path file(path);
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  // Bound relative to its folder: an address has room for about a hundred bytes.
  const int folder = ::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return failed(std::generic_category().message(errno));
  }
  const std::string name =
      "/proc/self/fd/" + std::to_string(folder) + "/" + file.filename().string();
  struct stat state {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path)) {
    ::close(folder);
    return failed("the file's name is too long");
  }
  if (::lstat(path.c_str(), &state) == 0) {
    if (!S_ISSOCK(state.st_mode)) {
      ::close(folder);
      return failed("there is a file that is no socket");
    }
    ::unlink(path.c_str());
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool bound =
      socket >= 0 &&
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets' way
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0 && ::listen(socket, kBacklog) == 0;
  const int cause = errno;
  ::close(folder);
  if (!bound) {
    if (socket >= 0) {
      ::close(socket);
    }
    return failed(std::generic_category().message(cause));
  }
  return socket;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  // The port is at the same place for IPv4 and IPv6.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets' interface
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(socket, generic, &size) != 0 ||
      ::getnameinfo(generic, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view text = host.data();
  const bool mapped = text.starts_with(kMapped) && text.find('.') != std::string_view::npos;
  return std::string(mapped ? text.substr(kMapped.size()) : text);
}

}  // namespace athanor::net
