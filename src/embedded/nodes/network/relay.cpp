// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/relay.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostPending = std::size_t{256} << 10;  // bytes that one side did not take
constexpr std::size_t kChunk = std::size_t{64} << 10;

bool may_come_later() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

Relay::Relay(PollLoop& loop, Descriptor from, Descriptor to, std::function<void()> over)
    : loop_(loop), over_(std::move(over)) {
  from_.file = std::move(from);
  to_.file = std::move(to);
  from_.events = EPOLLIN;
  to_.events = EPOLLOUT;
  loop_.add(from_.file.get(), from_.events,
            [this](std::uint32_t events) { turn(from_, to_, events); });
  loop_.add(to_.file.get(), to_.events, [this](std::uint32_t events) { turn(to_, from_, events); });
}

Relay::~Relay() {
  loop_.remove(from_.file.get());
  loop_.remove(to_.file.get());
}

void Relay::turn(Side& side, Side& other, std::uint32_t events) {
  bool whole = (events & EPOLLERR) == 0;
  if (whole && (events & (EPOLLIN | EPOLLHUP)) != 0 && !side.read_over) {
    whole = read_from(side, other);
  }
  whole = whole && write_to(side, other) && write_to(other, side);
  if (!whole || (side.wrote_over && other.wrote_over)) {
    const std::function<void()> over = std::move(over_);
    return over();
  }
  watch(side, other);
  watch(other, side);
}

bool Relay::read_from(Side& side, Side& other) {
  while (other.pending.size() < kMostPending) {
    const std::size_t held = other.pending.size();
    other.pending.resize(held + kChunk);
    const ssize_t count = ::recv(side.file.get(), other.pending.data() + held, kChunk, 0);
    other.pending.resize(held + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count == 0) {
      side.read_over = true;
      return true;
    }
    if (count < 0) {
      return may_come_later();
    }
  }
  return true;
}

bool Relay::write_to(Side& side, const Side& other) {
  while (!side.pending.empty()) {
    const ssize_t count = ::send(side.file.get(), side.pending.data(), side.pending.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      return may_come_later() || errno == ENOTCONN || errno == EINPROGRESS;
    }
    side.pending.erase(0, static_cast<std::size_t>(count));
  }
  if (other.read_over && !side.wrote_over) {
    side.wrote_over = ::shutdown(side.file.get(), SHUT_WR) == 0;
    return side.wrote_over || errno == ENOTCONN;
  }
  return true;
}

void Relay::watch(Side& side, const Side& other) {
  std::uint32_t wanted = 0;
  if (!side.read_over && other.pending.size() < kMostPending) {
    wanted |= EPOLLIN;
  }
  if (!side.pending.empty() || (other.read_over && !side.wrote_over)) {
    wanted |= EPOLLOUT;
  }
  if (wanted != side.events) {
    side.events = wanted;
    loop_.change(side.file.get(), wanted);
  }
}

}  // namespace athanor::nodes
