// SPDX-License-Identifier: Apache-2.0
#include "webhook/server.hpp"

#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "base/memory.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"
#include "net/response_writer.hpp"
#include "net/served_connection.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::webhook {
namespace {

using transport::ServedConnection;

constexpr std::size_t kMostConnections = 1024;
constexpr std::chrono::seconds kMemoryLooks{1};
constexpr transport::ServedLimits kLimits{
    .body = std::size_t{10} * 1024 * 1024,  // an object, old and new
    .idle = std::chrono::seconds(120),      // API servers keep theirs
    .stall = std::chrono::seconds(30),
    .answer = std::chrono::seconds(31),  // API servers wait 30 s at most
};

}  // namespace

struct Server::State : std::enable_shared_from_this<State> {
  State(ServerOptions server_options, int listening, std::string host_name)
      : options(std::move(server_options)),
        host(std::move(host_name)),
        port(transport::port_of(listening)),
        acceptor(world.loop, listening, [this](int client) { welcome(client); }),
        spike_timer(world.loop) {
    world.clock = options.clock;
  }

  // Gives back what many large questions left behind.
  void look_at_memory();
  void welcome(int client);
  // False: every connection has something to do.
  bool make_room();
  void handle(const apiserver::Request& request, const ServedConnection::Answer& answer);
  void count(const Question& question, const Verdict& verdict, Instant began);

  ServerOptions options;
  transport::ServedWorld world{.limits = kLimits};
  const std::string host;
  const int port;
  transport::Acceptor acceptor;
  std::shared_ptr<const transport::TlsContext> context{};  // of the loop's thread
  std::atomic<bool> serving{false};
  std::set<std::shared_ptr<ServedConnection>> connections{};
  memory::IdleRelease idle{};
  transport::EventLoop::Timer spike_timer;
  std::thread thread{};
};

void Server::State::look_at_memory() {
  idle.look(std::chrono::steady_clock::now());
  spike_timer.set(kMemoryLooks, [this] { look_at_memory(); });
}

// API servers ask again when a connection that rests is closed; those who come to take all
// connections only rest.
bool Server::State::make_room() {
  std::shared_ptr<ServedConnection> longest;
  for (const auto& connection : connections) {
    const auto since = connection->resting_since();
    if (since && (longest == nullptr || *since < *longest->resting_since())) {
      longest = connection;
    }
  }
  if (longest != nullptr) {
    longest->give_way();
  }
  return longest != nullptr;
}

void Server::State::welcome(int client) {
  if (!context || (connections.size() >= kMostConnections && !make_room())) {
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

void Server::State::handle(const apiserver::Request& request,
                           const ServedConnection::Answer& answer) {
  const auto* body = std::get_if<std::string>(&request.body);
  Result<Question> read = Error::internal("not read");
  const auto broken = contain([&] {
    read = read_question(options.webhooks, request.method, request.path,
                         request.header("content-type"), body == nullptr ? std::string() : *body);
  });
  if (broken) {
    read = Error::internal(*broken);
  }
  if (!read.ok()) {
    answer(transport::status_response(read.error()), {});
    return;
  }
  // The decision may come late, from another thread, or when the server is gone.
  auto question = std::make_shared<const Question>(*read);
  const Instant began = options.clock->now();
  options.decide(*question, [weak = weak_from_this(), question, answer, began](Verdict verdict) {
    const auto self = weak.lock();
    if (!self) {
      return;
    }
    self->world.loop.post([weak, question, answer, began, verdict = std::move(verdict)] {
      if (const auto state = weak.lock()) {
        state->count(*question, verdict, began);
        apiserver::Response response;
        response.body = answer_text(*question, verdict);
        answer(std::move(response), {});
      }
    });
  });
}

void Server::State::count(const Question& question, const Verdict& verdict, Instant began) {
  if (options.metrics == nullptr) {
    return;
  }
  const std::string name(question.webhook->name);
  options.metrics
      ->counter("athanor_webhook_requests_total", "Questions to webhooks, by verdict.",
                {{"webhook", name}, {"allowed", verdict.allowed ? "true" : "false"}})
      .add();
  options.metrics
      ->histogram("controller_runtime_webhook_latency_seconds",
                  "From a question's last byte to its verdict.", Metrics::duration_buckets(),
                  {{"webhook", name}})
      .observe(std::chrono::duration<double>(options.clock->now() - began).count());
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  ATHANOR_CHECK(options.decide != nullptr && options.clock != nullptr,
                "a webhook server needs a judge and a clock");
  ATHANOR_TRY(const transport::Listening listening, transport::listen_at(options.address));
  auto state = std::make_shared<State>(std::move(options), listening.socket, listening.host);
  state->world.loop.post([raw = state.get()] {
    raw->acceptor.start();
    raw->look_at_memory();
  });
  state->thread = std::thread([raw = state.get()] { raw->world.loop.run(); });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
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

Result<void> Server::use(const std::string& certificate, const std::string& key) {
  ATHANOR_TRY(auto made, transport::TlsContext::create(certificate, key, "", /*http2=*/false));
  auto context = std::make_shared<const transport::TlsContext>(std::move(made));
  state_->serving = true;
  state_->world.loop.post([raw = state_.get(), context = std::move(context)]() mutable {
    raw->context = std::move(context);
  });
  return {};
}

bool Server::serving() const {
  return state_->serving;
}

std::string Server::address() const {
  return transport::address_text(state_->host, state_->port);
}

}  // namespace athanor::webhook
