// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/site.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "embedded/transport/listen.hpp"
#include "embedded/transport/pki.hpp"

namespace athanor::targets {
namespace {

constexpr int kBacklog = 128;
constexpr int kAttempts = 20;                           // at a port that was free a moment ago
constexpr std::chrono::milliseconds kAcceptPause{100};  // when out of descriptors

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// -1 with errno when the port is not to be had.
int try_port(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return -1;
  }
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = loopback(port);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int cause = errno;
    ::close(socket);
    errno = cause;
    return -1;
  }
  return socket;
}

}  // namespace

// A port that the kernel chose is lost when the socket stops listening, one that was asked for is
// not: so a free port is found first and then asked for.
Result<int> bind_port(int port) {
  int socket = -1;
  if (port != 0) {
    socket = try_port(port);
  }
  for (int attempt = 0; port == 0 && socket < 0 && attempt < kAttempts; ++attempt) {
    const int scout = try_port(0);
    if (scout < 0) {
      break;
    }
    const int found = transport::port_of(scout);
    ::close(scout);
    socket = try_port(found);
  }
  if (socket < 0) {
    return Error::unavailable("cannot bind 127.0.0.1:" + std::to_string(port) + ": " +
                              std::generic_category().message(errno));
  }
  return socket;
}

Site::Site(Shared& shared, int socket, Identity identity, std::function<void()> accepted)
    : shared_(shared),
      socket_(socket),
      identity_(std::move(identity)),
      accepted_(std::move(accepted)),
      descriptor_(shared.loop, socket),
      flapping_(shared.loop),
      pause_(shared.loop) {}

Site::~Site() = default;

void Site::show(const Target& target) {
  part();
  flapping_.cancel();
  context_.reset();
  face_ = std::make_shared<const Face>(target, identity_.secret);
  const Faults& faults = target.faults;
  if (faults.flapping) {
    return flap(true);
  }
  turn(faults.dead ? Door::Shut : faults.black_hole ? Door::Hole : Door::Open);
}

void Site::shut() {
  flapping_.cancel();
  pause_.cancel();
  turn(Door::Shut);
  descriptor_.close();
}

void Site::flap(bool up) {
  turn(up ? Door::Open : Door::Shut);
  const Flapping& times = *face_->target.faults.flapping;
  flapping_.set(up ? times.up : times.down, [this, up] { flap(!up); });
}

void Site::turn(Door door) {
  if (door_ == door) {
    return;
  }
  if (door_ != Door::Shut) {
    part();
    for (const int filler : fillers_) {
      ::close(filler);
    }
    fillers_.clear();
    // Ends listening; the port stays bound, and whoever connects is refused.
    ::shutdown(socket_, SHUT_RDWR);
  }
  door_ = door;
  if (door == Door::Hole) {
    dig();
  } else if (door == Door::Open) {
    ::listen(socket_, kBacklog);
    arm();
  }
}

// With the queue of connections full, the kernel drops whatever else wants in.
void Site::dig() {
  ::listen(socket_, 0);
  const sockaddr_in address = loopback(identity_.port);
  for (int i = 0; i < 2; ++i) {
    const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (filler >= 0) {
      // In progress or done: either way it is in the queue.
      (void)::connect(filler, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
      fillers_.push_back(filler);
    }
  }
}

void Site::arm() {
  if (!std::exchange(armed_, true)) {
    descriptor_.when_readable([this] {
      armed_ = false;
      accept_all();
    });
  }
}

void Site::accept_all() {
  while (door_ == Door::Open) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      adopt(socket);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause_.set(kAcceptPause, [this] { accept_all(); });
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL) {
      return arm();
    }
    // Anything else is about the connection that was not accepted: on to the next one.
  }
}

Result<std::shared_ptr<const transport::TlsContext>> Site::context() {
  if (auto known = context_.lock()) {
    return known;
  }
  std::string certificate = identity_.certificate;
  std::string key = identity_.key;
  if (face_->target.faults.wrong_certificate) {
    ATHANOR_TRY(transport::ServingPair pair,
                transport::ensure_serving_pair({.now = shared_.clock->now()}));
    certificate = std::move(pair.certificate);
    key = std::move(pair.key);
  }
  ATHANOR_TRY(auto made, transport::TlsContext::create(certificate, key, identity_.authority,
                                                       /*http2=*/false));
  auto context = std::make_shared<const transport::TlsContext>(std::move(made));
  context_ = context;
  return std::shared_ptr<const transport::TlsContext>(std::move(context));
}

void Site::adopt(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto tls = context();
  if (!tls.ok()) {
    log::error("emulated target cannot serve",
               {{"target", face_->target.name}, {"error", tls.error().message}});
    ::close(socket);
    return;
  }
  accepted_();
  auto connection = std::make_shared<Connection>(
      shared_, *std::move(tls), face_, socket,
      [this](const std::shared_ptr<Connection>& self) { connections_.erase(self); });
  connections_.insert(connection);
  connection->start();
}

void Site::part() {
  for (const auto& connection : connections_) {
    connection->close();
  }
  connections_.clear();
}

}  // namespace athanor::targets
