// SPDX-License-Identifier: Apache-2.0
#include "extender/serving/server.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "api/scheduler_configuration.hpp"
#include "base/check.hpp"
#include "base/contain.hpp"
#include "kube/text/json.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"
#include "net/response_writer.hpp"
#include "net/served_connection.hpp"
#include "net/serving/served_tls.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::extender {
namespace {

using transport::ServedConnection;

constexpr std::size_t kMostConnections = 256;
constexpr transport::ServedLimits kLimits{
    .body = std::size_t{64} * 1024 * 1024,  // some thousand whole nodes
    .idle = std::chrono::seconds(120),
    .stall = std::chrono::seconds(30),
    .answer = std::chrono::seconds(31),  // schedulers wait 5 s by default
};

// What a request asks. Errors have the HTTP status as their code.
struct Asked {
  Verb verb = Verb::Filter;
  Value body{};
};
Result<Asked> read(const apiserver::Request& request) {
  const auto verb = verb_of(request.path);
  if (!verb) {
    return Error::not_found(
        fmt::format("there is no {}; verbs are {}/filter, prioritize, bind and preempt",
                    request.path, kExtenderPath));
  }
  if (request.method != "POST") {
    return Error{.code = 405, .reason = "MethodNotAllowed", .message = "verbs are asked by POST"};
  }
  const auto* text = std::get_if<std::string>(&request.body);
  auto body = json::parse(text == nullptr ? std::string_view() : std::string_view(*text));
  if (!body.ok()) {
    return Error::bad_request("the body is no JSON: " + body.error().message);
  }
  return Asked{.verb = *verb, .body = *std::move(body)};
}

apiserver::Response response_of(const Result<Value>& answer) {
  apiserver::Response response;
  if (answer.ok()) {
    response.body = json::print(*answer) + "\n";
    return response;
  }
  response.status = answer.error().code;
  response.body = json::print(Value::object({{"Error", answer.error().message}})) + "\n";
  return response;
}

}  // namespace

std::string_view name_of(Verb verb) {
  switch (verb) {
    case Verb::Filter:
      return "filter";
    case Verb::Prioritize:
      return "prioritize";
    case Verb::Bind:
      return "bind";
    case Verb::Preempt:
      return "preempt";
  }
  return "";
}

std::optional<Verb> verb_of(std::string_view path) {
  const std::string_view prefix(kExtenderPath);
  if (!path.starts_with(prefix) || path.substr(prefix.size()).substr(0, 1) != "/") {
    return std::nullopt;
  }
  const std::string_view name = path.substr(prefix.size() + 1);
  for (const Verb verb : {Verb::Filter, Verb::Prioritize, Verb::Bind, Verb::Preempt}) {
    if (name == name_of(verb)) {
      return verb;
    }
  }
  return std::nullopt;
}

struct Server::State : std::enable_shared_from_this<State> {
  State(ServerOptions server_options, const transport::Listening& listening)
      : options(std::move(server_options)),
        host(listening.host),
        port(transport::port_of(listening.socket)),
        acceptor(world.loop, listening.socket, [this](int client) { welcome(client); }) {
    world.clock = options.clock;
  }

  void welcome(int client);
  void handle(const apiserver::Request& request, const ServedConnection::Answer& answer);
  void count(std::string_view verb, int status, Instant began);

  ServerOptions options;
  transport::ServedWorld world{.limits = kLimits};
  const std::string host;
  const int port;
  transport::Acceptor acceptor;
  std::set<std::shared_ptr<ServedConnection>> connections{};
  std::thread thread{};
};

void Server::State::welcome(int client) {
  const auto context = options.tls == nullptr ? nullptr : options.tls->current();
  if ((options.tls != nullptr && !context) || connections.size() >= kMostConnections) {
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
  const Instant began = options.clock->now();
  Result<Asked> asked = Error::internal("not read");
  if (const auto broken = contain([&] { asked = read(request); })) {
    asked = Error::internal(*broken);
  }
  if (!asked.ok()) {
    count("none", asked.error().code, began);
    answer(response_of(asked.error()), {});
    return;
  }
  const Verb verb = asked->verb;
  options.decide(verb, std::move(asked->body),
                 [weak = weak_from_this(), verb, answer, began](Result<Value> decided) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   self->world.loop.post([weak, verb, answer, began, decided = std::move(decided)] {
                     if (const auto state = weak.lock()) {
                       state->count(name_of(verb), decided.ok() ? 200 : decided.error().code,
                                    began);
                       answer(response_of(decided), {});
                     }
                   });
                 });
}

void Server::State::count(std::string_view verb, int status, Instant began) {
  if (options.metrics == nullptr) {
    return;
  }
  options.metrics
      ->counter("athanor_extender_requests_total", "Requests of schedulers, by verb and status.",
                {{"verb", std::string(verb)}, {"code", std::to_string(status)}})
      .add();
  options.metrics
      ->histogram("athanor_extender_duration_seconds",
                  "From a request's last byte to its answer, by verb.", Metrics::duration_buckets(),
                  {{"verb", std::string(verb)}})
      .observe(std::chrono::duration<double>(options.clock->now() - began).count());
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  ATHANOR_CHECK(options.decide != nullptr && options.clock != nullptr,
                "a server needs a decider and a clock");
  ATHANOR_TRY(const transport::Listening listening, transport::listen_at(options.address));
  auto state = std::make_shared<State>(std::move(options), listening);
  state->world.loop.post([raw = state.get()] { raw->acceptor.start(); });
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
  state_->world.loop.close();
}

std::string Server::address() const {
  return transport::address_text(state_->host, state_->port);
}

}  // namespace athanor::extender
