// SPDX-License-Identifier: Apache-2.0
#include "extender/serving/server.hpp"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "api/scheduler_configuration.hpp"
#include "base/check.hpp"
#include "base/contain.hpp"
#include "kube/text/json.hpp"
#include "net/serving/served_tls.hpp"
#include "net/serving/small_server.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::extender {
namespace {

constexpr std::size_t kMaxConnections = 256;
constexpr net::ServedLimits kLimits{
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
Result<Asked> read(const net::Request& request) {
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

net::Response response_of(const Result<Value>& answer) {
  net::Response response;
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
  explicit State(ServerOptions server_options) : options(std::move(server_options)) {}

  void handle(const net::Request& request, const net::SmallServerOptions::Reply& reply);
  void count(std::string_view verb, int status, Instant began);

  ServerOptions options;
  std::unique_ptr<net::SmallServer> server{};  // goes first
};

void Server::State::handle(const net::Request& request,
                           const net::SmallServerOptions::Reply& reply) {
  const Instant began = options.clock->now();
  Result<Asked> asked = Error::internal("not read");
  if (const auto broken = contain([&] { asked = read(request); })) {
    asked = Error::internal(*broken);
  }
  if (!asked.ok()) {
    count("none", asked.error().code, began);
    reply([error = asked.error()] { return response_of(error); });
    return;
  }
  const Verb verb = asked->verb;
  // The decision may come late, from another thread, or when the server is gone.
  options.decide(verb, std::move(asked->body),
                 [weak = weak_from_this(), verb, reply, began](Result<Value> decided) {
                   reply([weak, verb, began, decided = std::move(decided)] {
                     if (const auto state = weak.lock()) {
                       state->count(name_of(verb), decided.ok() ? 200 : decided.error().code,
                                    began);
                     }
                     return response_of(decided);
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
  auto state = std::make_shared<State>(std::move(options));
  ATHANOR_TRY(state->server,
              net::SmallServer::start(
                  {.address = state->options.address,
                   .max_connections = kMaxConnections,
                   .limits = kLimits,
                   .tls = state->options.tls,
                   .handle =
                       [raw = state.get()](const net::Request& request,
                                           const net::SmallServerOptions::Reply& reply) {
                         raw->handle(request, reply);
                       },
                   .clock = state->options.clock}));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  state_->server.reset();
}

std::string Server::address() const {
  return state_->server->address();
}

}  // namespace athanor::extender
