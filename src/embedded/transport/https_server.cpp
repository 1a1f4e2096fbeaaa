// SPDX-License-Identifier: Apache-2.0
// Listening, accepting, the clock of the connections' deadlines, starting and stopping.
#include "embedded/transport/https_server.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "embedded/transport/connection.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"

namespace athanor::transport {
namespace {

std::chrono::milliseconds tick_of(const HttpsOptions& options) {
  const auto shortest =
      std::min({options.header_timeout, options.body_timeout, options.idle_timeout,
                options.write_timeout, options.stall_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(500));
}

// Descriptors that the rest of the process leaves.
std::size_t affordable_connections() {
  constexpr rlim_t kMostForOthers = 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max();
  }
  return limit.rlim_cur - std::min(limit.rlim_cur / 4, kMostForOthers);
}

}  // namespace

struct HttpsServer::State {
  explicit State(std::shared_ptr<TransportCore> transport_core)
      : core(std::move(transport_core)),
        most_connections(core->options.connections_all > 0 ? core->options.connections_all
                                                           : affordable_connections()),
        ticker(core->loop),
        grace(core->loop) {}

  // All of these on the loop's thread.
  void adopt(int socket);
  void tick();
  void drain(std::chrono::milliseconds time);

  // Closes an idle connection, of this address (empty: of any), to make space for another.
  // False: all have something to do.
  bool make_room(const std::string& address);

  std::shared_ptr<TransportCore> core;
  std::size_t most_connections = 0;
  bool crowded = false;  // it was said
  std::vector<std::unique_ptr<net::Acceptor>> acceptors{};
  net::EventLoop::Timer ticker;
  net::EventLoop::Timer grace;
  bool ticking = false;
  std::thread thread{};
};

void HttpsServer::State::adopt(int socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  static_cast<void>(contain([&] {
    auto connection = std::make_shared<Connection>(core, socket);
    const std::string& address = connection->peer();
    const bool many = core->addresses[address] >= core->options.connections_each;
    const bool full = core->connections.size() >= most_connections;
    const bool room = !(many || full) || make_room(many ? address : std::string());
    core->connections.insert(connection);
    ++core->addresses[address];
    if ((many || full) && !std::exchange(crowded, true)) {
      log::warn("many connections: those that rest longest are closed",
                {{"address", address}, {"connections", std::to_string(core->connections.size())}});
    }
    if (room) {
      connection->start();
    } else {
      connection->close();
    }
  }));
  if (!std::exchange(ticking, true)) {
    ticker.set(tick_of(core->options), [this] { tick(); });
  }
}

// First those that never brought a request, then those that rest longest.
bool HttpsServer::State::make_room(const std::string& address) {
  std::shared_ptr<Connection> chosen;
  for (const auto& connection : core->connections) {
    const auto since = connection->resting_since();
    if (!since || (!address.empty() && connection->peer() != address)) {
      continue;
    }
    if (chosen == nullptr || std::pair(connection->served(), *since) <
                                 std::pair(chosen->served(), *chosen->resting_since())) {
      chosen = connection;
    }
  }
  if (chosen != nullptr) {
    chosen->close();
  }
  return chosen != nullptr;
}

void HttpsServer::State::tick() {
  const auto now = std::chrono::steady_clock::now();
  for (auto it = core->connections.begin(); it != core->connections.end();) {
    const std::shared_ptr<Connection> connection = *it++;  // it may leave the set
    connection->check_time(now);
  }
  ticking = !core->connections.empty();
  if (ticking) {
    ticker.set(tick_of(core->options), [this] { tick(); });
  }
}

void HttpsServer::State::drain(std::chrono::milliseconds time) {
  for (const auto& acceptor : acceptors) {
    acceptor->close();
  }
  core->draining = true;
  core->when_empty = [this] { core->loop.stop(); };
  if (core->connections.empty()) {
    return core->loop.stop();
  }
  grace.set(time, [this] { core->loop.stop(); });
  for (auto it = core->connections.begin(); it != core->connections.end();) {
    const std::shared_ptr<Connection> connection = *it++;
    connection->drain();
  }
}

Result<std::unique_ptr<HttpsServer>> HttpsServer::create(HttpsOptions options,
                                                         const HttpsDependencies& dependencies) {
  ATHANOR_TRY(auto tls, net::TlsContext::create(options.certificate_pem, options.key_pem,
                                                options.client_ca_pem, options.http2,
                                                options.front_proxy_ca_pem));
  auto core = std::make_shared<TransportCore>(std::move(options), dependencies, std::move(tls));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<HttpsServer>(new HttpsServer(std::make_unique<State>(std::move(core))));
}

HttpsServer::HttpsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpsServer::~HttpsServer() {
  stop(std::chrono::milliseconds(0));
}

Result<int> HttpsServer::bind(const std::string& host, int port) {
  ATHANOR_TRY(const int socket, net::listen_on(host, port));
  state_->acceptors.push_back(std::make_unique<net::Acceptor>(
      state_->core->loop, socket, [state = state_.get()](int client) { state->adopt(client); }));
  return net::port_of(socket);
}

void HttpsServer::start() {
  state_->thread = std::thread([state = state_.get()] {
    for (const auto& acceptor : state->acceptors) {
      acceptor->start();
    }
    state->core->loop.run();
  });
}

void HttpsServer::stop(std::chrono::milliseconds grace) {
  TransportCore& core = *state_->core;
  if (state_->thread.joinable()) {
    core.loop.post([state = state_.get(), grace] { state->drain(grace); });
    state_->thread.join();
  }
  *core.ending = true;  // no answers from here on
  core.workers.stop();
  // From here on this thread is the only one in the loop.
  core.when_empty = nullptr;
  while (!core.connections.empty()) {
    const std::shared_ptr<Connection> connection = *core.connections.begin();
    connection->close();
  }
  state_->acceptors.clear();
  core.turns.clear();
  core.loop.close();
}

}  // namespace athanor::transport
