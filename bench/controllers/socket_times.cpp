// SPDX-License-Identifier: Apache-2.0
// An edge of a socket (epoll) says that bytes have come, TCP_INFO how many there have been so far.
// The reader knows how many it has taken: the first edge with as many is the one it waited for.
#include "controllers/socket_times.hpp"

#include <dlfcn.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

extern "C" {
// Of OpenSSL, as libcurl calls them.
struct ssl_st;
int ssl_read(ssl_st* ssl, void* buffer, int size) __asm__("SSL_read");
int ssl_write(ssl_st* ssl, const void* buffer, int size) __asm__("SSL_write");
}

namespace athanor::bench {
namespace {

struct Arrival {
  std::uint64_t bytes = 0;  // so far
  SteadyClock::time_point at{};
};

struct Socket {
  std::deque<Arrival> arrivals{};
  std::uint64_t taken = 0;
};

struct Board {
  SocketObserver* observer = nullptr;
  int epoll = -1;
  std::mutex mutex{};  // guards what follows
  std::map<int, Socket> sockets{};
};

Board& board() {
  static Board one;
  return one;
}

// The socket that this thread read last.
int& last_socket() {
  static thread_local int socket = -1;
  return socket;
}

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::uint64_t received_bytes(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received
                                                                        : 0;
}

void look_on() {
  constexpr int kMost = 64;
  std::array<epoll_event, kMost> news{};
  while (true) {
    const int count = ::epoll_wait(board().epoll, news.data(), kMost, -1);
    const auto now = SteadyClock::now();
    for (int i = 0; i < count; ++i) {
      const int socket = news.at(static_cast<std::size_t>(i)).data.fd;
      const std::uint64_t bytes = received_bytes(socket);
      const std::scoped_lock lock(board().mutex);
      std::deque<Arrival>& arrivals = board().sockets[socket].arrivals;
      if (arrivals.empty() || arrivals.back().bytes < bytes) {
        arrivals.push_back({.bytes = bytes, .at = now});
      }
    }
  }
}

// When the last byte of what was taken from this socket had come.
SteadyClock::time_point arrival(int number) {
  const std::scoped_lock lock(board().mutex);
  Socket& socket = board().sockets[number];
  while (!socket.arrivals.empty() && socket.arrivals.front().bytes < socket.taken) {
    socket.arrivals.pop_front();
  }
  return socket.arrivals.empty() ? SteadyClock::now() : socket.arrivals.front().at;
}

}  // namespace

void observe_sockets(SocketObserver& observer) {
  board().observer = &observer;
  board().epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::thread looker(look_on);
  const sched_param first{.sched_priority = 3};
  ::pthread_setschedparam(looker.native_handle(), SCHED_FIFO, &first);  // or as any other
  looker.detach();                                                      // ends with the program
}

}  // namespace athanor::bench

using athanor::bench::board;
using athanor::bench::last_socket;

extern "C" {

int connect(int socket, const sockaddr* address, socklen_t size) {
  static auto* const kReal = athanor::bench::original<decltype(connect)>("connect");
  const int result = kReal(socket, address, size);
  if (board().observer != nullptr) {
    {
      const std::scoped_lock lock(board().mutex);
      board().sockets[socket] = {};
    }
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLET;
    wanted.data.fd = socket;
    ::epoll_ctl(board().epoll, EPOLL_CTL_ADD, socket, &wanted);
  }
  return result;
}

ssize_t recv(int socket, void* buffer, std::size_t size, int flags) {
  static auto* const kReal = athanor::bench::original<decltype(recv)>("recv");
  const ssize_t count = kReal(socket, buffer, size, flags);
  if (board().observer != nullptr && count > 0 && (flags & MSG_PEEK) == 0) {
    const std::scoped_lock lock(board().mutex);
    board().sockets[socket].taken += static_cast<std::uint64_t>(count);
    last_socket() = socket;
  }
  return count;
}

int ssl_read(ssl_st* ssl, void* buffer, int size) {
  static auto* const kReal = athanor::bench::original<decltype(ssl_read)>("SSL_read");
  const int count = kReal(ssl, buffer, size);
  if (board().observer != nullptr && count > 0) {
    board().observer->read(ssl, {static_cast<const char*>(buffer), static_cast<std::size_t>(count)},
                           athanor::bench::arrival(last_socket()));
  }
  return count;
}

int ssl_write(ssl_st* ssl, const void* buffer, int size) {
  static auto* const kReal = athanor::bench::original<decltype(ssl_write)>("SSL_write");
  const int count = kReal(ssl, buffer, size);
  if (board().observer != nullptr && count > 0) {
    board().observer->written({static_cast<const char*>(buffer), static_cast<std::size_t>(count)});
  }
  return count;
}

}  // extern "C"
