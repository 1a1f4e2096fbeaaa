// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/checks/name_lookup.hpp"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstddef>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace athanor::nodes {
namespace {

Result<SocketAddress> first_address(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      code != 0) {
    return Error::not_found(fmt::format("lookup {}: {}", host, ::gai_strerror(code)));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(found->ai_addr);
  SocketAddress address{.family = found->ai_family, .bytes = {bytes, bytes + found->ai_addrlen}};
  ::freeaddrinfo(found);
  return address;
}

}  // namespace

Result<SocketAddress> numeric_address(const std::string& host, std::uint16_t port) {
  return first_address(host, port, AI_NUMERICHOST);
}

Result<SocketAddress> address_of(const std::string& host, std::uint16_t port) {
  return first_address(host, port, 0);
}

// Outlives NameLookup while a thread waits for a name server: a lookup cannot be ended.
struct NameLookup::State {
  Mutex mutex{};
  bool over ATHANOR_GUARDED_BY(mutex) = false;
  int waiting ATHANOR_GUARDED_BY(mutex) = 0;
};

NameLookup::NameLookup(Resolve resolve)
    : resolve_(std::move(resolve)), state_(std::make_shared<State>()) {}

NameLookup::~NameLookup() {
  const MutexLock lock(state_->mutex);
  state_->over = true;
}

void NameLookup::ask(const std::string& host, std::uint16_t port, Done done) {
  {
    const MutexLock lock(state_->mutex);
    if (state_->waiting < kMostLookups) {
      ++state_->waiting;
      std::thread([state = state_, resolve = resolve_, host, port, done = std::move(done)] {
        Result<SocketAddress> address = resolve(host, port);
        const MutexLock answering(state->mutex);
        --state->waiting;
        if (!state->over) {
          done(std::move(address));
        }
      }).detach();
      return;
    }
  }
  done(Error::internal(fmt::format("lookup {}: {} others wait for answers", host, kMostLookups)));
}

}  // namespace athanor::nodes
