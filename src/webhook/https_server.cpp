// SPDX-License-Identifier: Apache-2.0
#include "webhook/https_server.hpp"

#include <unistd.h>

#include <set>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/memory.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"

namespace athanor::webhook {
namespace {

using transport::ServedConnection;

constexpr std::chrono::seconds kMemoryLooks{1};

}  // namespace

struct HttpsServer::State : std::enable_shared_from_this<State> {
  State(HttpsOptions server_options, int listening, std::string host_name)
      : options(std::move(server_options)),
        world{.limits = options.limits},
        host(std::move(host_name)),
        port(transport::port_of(listening)),
        acceptor(world.loop, listening, [this](int client) { welcome(client); }),
        spike_timer(world.loop) {
    world.clock = options.clock;
  }

  // Gives back what many large requests left behind.
  void release_memory();
  void welcome(int client);
  // False: every connection has something to do.
  bool make_room();
  void handle(const apiserver::Request& request, const ServedConnection::Answer& answer);

  HttpsOptions options;
  transport::ServedWorld world;
  const std::string host;
  const int port;
  transport::Acceptor acceptor;
  transport::ServedTls tls{};
  std::set<std::shared_ptr<ServedConnection>> connections{};
  memory::IdleRelease idle{};
  transport::EventLoop::Timer spike_timer;
  std::thread thread{};
};

void HttpsServer::State::release_memory() {
  idle.look(std::chrono::steady_clock::now());
  spike_timer.set(kMemoryLooks, [this] { release_memory(); });
}

// Closes the connection that is idle longest: its client sends the next request over a new one, and
// clients that exhaust the connections only hold idle ones.
bool HttpsServer::State::make_room() {
  std::shared_ptr<ServedConnection> longest;
  for (const auto& connection : connections) {
    const auto since = connection->resting_since();
    if (since && (longest == nullptr || *since < *longest->resting_since())) {
      longest = connection;
    }
  }
  if (longest != nullptr) {
    longest->close_for_newcomer();
  }
  return longest != nullptr;
}

void HttpsServer::State::welcome(int client) {
  const auto context = tls.current();
  if (!context || (connections.size() >= options.most_connections && !make_room())) {
    ::close(client);
    return;
  }
  auto connection = std::make_shared<ServedConnection>(
      world, context, client,
      [this](const apiserver::Request& request, const ServedConnection::Answer& answer) {
        handle(request, answer);
      },
      [this](const std::shared_ptr<ServedConnection>& self) { connections.erase(self); });
  connections.insert(connection);
  connection->start();
}

void HttpsServer::State::handle(const apiserver::Request& request,
                                const ServedConnection::Answer& answer) {
  // The handler may answer late, from another thread, or after the server is gone.
  options.handle(request,
                 [weak = weak_from_this(), answer](std::function<apiserver::Response()> make) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   self->world.loop.post([weak, answer, make = std::move(make)] {
                     if (const auto state = weak.lock()) {
                       answer(make(), {});
                     }
                   });
                 });
}

Result<std::unique_ptr<HttpsServer>> HttpsServer::start(HttpsOptions options) {
  ATHANOR_CHECK(options.handle != nullptr && options.clock != nullptr,
                "a server needs a handler and a clock");
  ATHANOR_TRY(const transport::Listening listening, transport::listen_at(options.address));
  auto state = std::make_shared<State>(std::move(options), listening.socket, listening.host);
  state->world.loop.post([raw = state.get()] {
    raw->acceptor.start();
    raw->release_memory();
  });
  state->thread = std::thread([raw = state.get()] { raw->world.loop.run(); });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<HttpsServer>(new HttpsServer(std::move(state)));
}

HttpsServer::HttpsServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

HttpsServer::~HttpsServer() {
  state_->world.loop.stop();
  state_->thread.join();
  // Tasks that wait hold connections; they go before the loop does.
  for (const auto& connection : std::exchange(state_->connections, {})) {
    connection->close();
  }
  state_->acceptor.close();
  state_->spike_timer.cancel();
  state_->world.loop.close();
}

Result<void> HttpsServer::use(const std::string& certificate, const std::string& key) {
  return state_->tls.use(certificate, key);
}

Result<void> HttpsServer::limit(transport::TlsLimits limits) {
  return state_->tls.limit(std::move(limits));
}

bool HttpsServer::serving() const {
  return state_->tls.current() != nullptr;
}

std::string HttpsServer::address() const {
  return transport::address_text(state_->host, state_->port);
}

}  // namespace athanor::webhook
