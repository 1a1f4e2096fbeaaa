// SPDX-License-Identifier: Apache-2.0
#include "webhook/server.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "net/response_writer.hpp"
#include "net/serving/small_server.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/metrics/webhook_results.hpp"

namespace athanor::webhook {
namespace {

constexpr std::size_t kMaxConnections = 1024;
constexpr net::ServedLimits kLimits{
    .body = std::size_t{10} * 1024 * 1024,  // an object, old and new
    .idle = std::chrono::seconds(120),      // API servers keep theirs
    .stall = std::chrono::seconds(30),
    .answer = std::chrono::seconds(31),  // API servers wait 30 s at most
};

}  // namespace

struct Server::State : std::enable_shared_from_this<State> {
  explicit State(ServerOptions server_options) : options(std::move(server_options)) {}

  void handle(const net::Request& request, const net::SmallServerOptions::Reply& reply);
  void convert(const net::Request& request, const net::SmallServerOptions::Reply& reply);
  void count(const Question& question, const Verdict& verdict, Instant began) const;

  ServerOptions options;
  const std::shared_ptr<net::ServedTls> tls = std::make_shared<net::ServedTls>();
  std::unique_ptr<net::SmallServer> server{};  // goes first
};

void Server::State::handle(const net::Request& request,
                           const net::SmallServerOptions::Reply& reply) {
  const auto* body = std::get_if<std::string>(&request.body);
  if (options.convert && request.path == kConversionPath) {
    convert(request, reply);
    return;
  }
  Result<Question> read = Error::internal("not read");
  const auto broken = contain([&] {
    read = read_question(options.webhooks, request.method, request.path,
                         request.header("content-type"), body);
  });
  if (broken) {
    read = Error::internal(*broken);
  }
  if (!read.ok()) {
    reply(
        [error = read.error(), review = fault_text(options.webhooks, request.path, read.error())] {
          if (review.empty()) {
            return net::status_response(error);
          }
          net::Response response;
          response.status = error.code;
          response.body = review;
          return response;
        });
    return;
  }
  // The decision may come late, from another thread, or when the server is gone.
  auto question = std::make_shared<const Question>(*read);
  const Instant began = options.clock->now();
  options.decide(*question, [weak = weak_from_this(), question, reply, began](Verdict verdict) {
    reply([weak, question, began, verdict = std::move(verdict)] {
      if (const auto state = weak.lock()) {
        state->count(*question, verdict, began);
      }
      net::Response response;
      response.body = answer_text(*question, verdict);
      return response;
    });
  });
}

void Server::State::convert(const net::Request& request,
                            const net::SmallServerOptions::Reply& reply) {
  const auto* body = std::get_if<std::string>(&request.body);
  Result<std::string> text = Error::internal("not converted");
  const auto broken = contain([&] {
    text = answer_conversion(options.convert, request.method, request.header("content-type"),
                             body == nullptr ? std::string() : *body);
  });
  if (broken) {
    text = Error::internal(*broken);
  }
  reply([text = std::move(text)] {
    if (!text.ok()) {
      return net::status_response(text.error());
    }
    net::Response response;
    response.body = *text;
    return response;
  });
}

void Server::State::count(const Question& question, const Verdict& verdict, Instant began) const {
  if (options.metrics == nullptr) {
    return;
  }
  const std::string name(question.webhook->name);
  options.metrics
      ->counter("athanor_webhook_requests_total", "Questions to webhooks, by verdict.",
                {{"webhook", name}, {"allowed", verdict.allowed ? "true" : "false"}})
      .add();
  count_result(*options.metrics, *question.webhook, verdict);
  options.metrics
      ->histogram("controller_runtime_webhook_latency_seconds",
                  "From a question's last byte to its verdict.", Metrics::duration_buckets(),
                  {{"webhook", name}})
      .observe(std::chrono::duration<double>(options.clock->now() - began).count());
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  ATHANOR_CHECK(options.decide != nullptr && options.clock != nullptr,
                "a webhook server needs a judge and a clock");
  auto state = std::make_shared<State>(std::move(options));
  ATHANOR_TRY(state->server,
              net::SmallServer::start(
                  {.address = state->options.address,
                   .max_connections = kMaxConnections,
                   .limits = kLimits,
                   .tls = state->tls,
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

Result<void> Server::use(const std::string& certificate, const std::string& key) {
  return state_->tls->use(certificate, key);
}

Result<void> Server::limit(net::TlsLimits limits) {
  return state_->tls->limit(std::move(limits));
}

bool Server::serving() const {
  return state_->tls->current() != nullptr;
}

std::string Server::address() const {
  return state_->server->address();
}

}  // namespace athanor::webhook
