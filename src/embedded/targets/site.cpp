// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/site.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "net/listen.hpp"
#include "net/pki.hpp"

namespace athanor::targets {
namespace {

constexpr int kBacklog = 128;
constexpr int kAttempts = 20;  // at a port that was free a moment ago

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
    const int found = net::port_of(scout);
    ::close(scout);
    socket = try_port(found);
  }
  if (socket < 0) {
    return Error::unavailable("cannot bind 127.0.0.1:" + std::to_string(port) + ": " +
                              std::generic_category().message(errno));
  }
  return socket;
}

Site::Site(net::ServedWorld& world, int socket, Identity identity, Visits& visits)
    : world_(world),
      identity_(std::move(identity)),
      visits_(visits),
      acceptor_(world.loop, socket, [this](int client) { adopt(client); }),
      flapping_(world.loop) {}

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
  turn(Door::Shut);
  acceptor_.close();
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
    acceptor_.rest();
    part();
    for (const int filler : fillers_) {
      ::close(filler);
    }
    fillers_.clear();
    // Ends listening; the port stays bound, and connections are refused.
    ::shutdown(acceptor_.socket(), SHUT_RDWR);
  }
  door_ = door;
  if (door == Door::Hole) {
    dig();
  } else if (door == Door::Open) {
    ::listen(acceptor_.socket(), kBacklog);
    acceptor_.start();
  }
}

// With the queue of connections full, the kernel drops whatever else wants in.
void Site::dig() {
  ::listen(acceptor_.socket(), 0);
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

Result<std::shared_ptr<const net::TlsContext>> Site::context() {
  if (auto known = context_.lock()) {
    return known;
  }
  std::string certificate = identity_.certificate;
  std::string key = identity_.key;
  if (face_->target.faults.wrong_certificate) {
    ATHANOR_TRY(net::ServingPair pair, net::ensure_serving_pair({.now = world_.clock->now()}));
    certificate = std::move(pair.certificate);
    key = std::move(pair.key);
  }
  ATHANOR_TRY(auto made, net::TlsContext::create(certificate, key, identity_.authority,
                                                 /*http2=*/false));
  auto context = std::make_shared<const net::TlsContext>(std::move(made));
  context_ = context;
  return std::shared_ptr<const net::TlsContext>(std::move(context));
}

void Site::adopt(int socket) {
  auto tls = context();
  if (!tls.ok()) {
    log::error("emulated target cannot serve",
               {{"target", face_->target.name}, {"error", tls.error().message}});
    ::close(socket);
    return;
  }
  ++visits_.connections;
  using net::ServedConnection;
  auto connection = std::make_shared<ServedConnection>(
      world_, *std::move(tls), socket,
      [this, face = face_](const net::Request& request, const ServedConnection::Answer& answer) {
        this->answer(face, request, answer);
      },
      [this](const std::shared_ptr<ServedConnection>& self) { connections_.erase(self); });
  connections_.insert(connection);
  connection->start();
}

void Site::answer(const std::shared_ptr<const Face>& face, const net::Request& request,
                  const net::ServedConnection::Answer& answer) {
  ++visits_.requests;
  const bool review = request.path.ends_with("/selfsubjectaccessreviews");
  visits_.writes += request.method == "GET" || review ? 0U : 1U;
  const Faults& faults = face->target.faults;
  if (!faults.hang) {
    answer(respond(face, request, world_.clock->now()), faults.slow);
  }
}

void Site::part() {
  for (const auto& connection : connections_) {
    connection->close();
  }
  connections_.clear();
}

}  // namespace athanor::targets
