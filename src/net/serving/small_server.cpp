// SPDX-License-Identifier: Apache-2.0
#include "net/serving/small_server.hpp"

#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/memory.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"

namespace athanor::net {
namespace {

constexpr std::chrono::seconds kMemoryLooks{1};

}  // namespace

struct SmallServer::State : std::enable_shared_from_this<State> {
  State(SmallServerOptions server_options, const Listening& listening)
      : options(std::move(server_options)),
        world{.limits = options.limits},
        host(listening.host),
        port(port_of(listening.socket)),
        acceptor(world.loop, listening.socket, [this](int client) { welcome(client); }),
        spike_timer(world.loop) {
    world.clock = options.clock;
  }

  // Gives back what many large requests left behind.
  void release_memory();
  void welcome(int client);
  // False: every connection has something to do.
  bool make_room();
  void handle(Request request, const ServedConnection::Answer& answer);

  SmallServerOptions options;
  ServedWorld world;
  const std::string host;
  const int port;
  Acceptor acceptor;
  std::set<std::shared_ptr<ServedConnection>> connections{};
  memory::IdleRelease idle{};
  EventLoop::Timer spike_timer;
  std::thread thread{};
};

void SmallServer::State::release_memory() {
  idle.look(std::chrono::steady_clock::now());
  spike_timer.set(kMemoryLooks, [this] { release_memory(); });
}

// Closes the connection that is idle longest: its client sends the next request over a new one, and
// clients that exhaust the connections only hold idle ones.
bool SmallServer::State::make_room() {
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

void SmallServer::State::welcome(int client) {
  const auto context = options.tls == nullptr ? nullptr : options.tls->current();
  const bool locked = options.tls != nullptr && context == nullptr;
  if (locked || (connections.size() >= options.max_connections && !make_room())) {
    ::close(client);
    return;
  }
  auto connection = std::make_shared<ServedConnection>(
      world, context, client,
      [this, peer = peer_of(client)](Request request, const ServedConnection::Answer& answer) {
        request.peer = peer;
        handle(std::move(request), answer);
      },
      [this](const std::shared_ptr<ServedConnection>& self) { connections.erase(self); });
  connections.insert(connection);
  connection->start();
}

void SmallServer::State::handle(Request request, const ServedConnection::Answer& answer) {
  // The handler may answer late, from another thread, or after the server is gone.
  options.handle(std::move(request),
                 [weak = weak_from_this(), answer](std::function<Response()> make) {
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

Result<std::unique_ptr<SmallServer>> SmallServer::start(SmallServerOptions options) {
  ATHANOR_CHECK(options.handle != nullptr && options.clock != nullptr,
                "a server needs a handler and a clock");
  ATHANOR_TRY(const Listening listening, listen_at(options.address));
  auto state = std::make_shared<State>(std::move(options), listening);
  state->world.loop.post([raw = state.get()] {
    raw->acceptor.start();
    raw->release_memory();
  });
  state->thread = std::thread([raw = state.get()] { raw->world.loop.run(); });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<SmallServer>(new SmallServer(std::move(state)));
}

SmallServer::SmallServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

SmallServer::~SmallServer() {
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

std::string SmallServer::address() const {
  return address_text(state_->host, state_->port);
}

int SmallServer::port() const {
  return state_->port;
}

}  // namespace athanor::net
