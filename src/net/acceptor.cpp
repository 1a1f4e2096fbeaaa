// SPDX-License-Identifier: Apache-2.0
#include "net/acceptor.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.hpp"

namespace athanor::net {
namespace {

constexpr std::chrono::milliseconds kPause{100};  // when out of descriptors
constexpr int kPerTurn = 32;                      // connections; others want to be served, too

}  // namespace

Acceptor::Acceptor(EventLoop& loop, int socket, std::function<void(int client)> adopt)
    : socket_(socket), adopt_(std::move(adopt)), descriptor_(loop, socket), pause_(loop) {}

void Acceptor::start() {
  accepting_ = true;
  arm();
}

void Acceptor::rest() {
  accepting_ = false;
  pause_.cancel();
}

void Acceptor::close() {
  rest();
  descriptor_.close();
}

void Acceptor::arm() {
  if (!std::exchange(armed_, true)) {
    descriptor_.when_readable([this] {
      armed_ = false;
      accept_all();
    });
  }
}

void Acceptor::accept_all() {
  for (int turn = 0; accepting_; ++turn) {
    if (turn == kPerTurn) {
      return arm();
    }
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0) {
      starved_ = false;
      const int on = 1;
      ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      adopt_(client);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (!std::exchange(starved_, true)) {
        log::warn("cannot accept a connection",
                  {{"error", std::generic_category().message(errno)}});
      }
      return pause_.set(kPause, [this] { accept_all(); });
    }
    // EINVAL: it does not listen at present.
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL) {
      return arm();
    }
    // Anything else is about the connection that was not accepted: on to the next one.
  }
}

}  // namespace athanor::net
