// SPDX-License-Identifier: Apache-2.0
#include "agent/status_endpoint.hpp"

#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <utility>

#include "agent/node/cdi_folder.hpp"
#include "base/log.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"
#include "net/pki.hpp"
#include "net/served_connection.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::agent {
namespace {

using transport::ServedConnection;

constexpr std::size_t kMostConnections = 64;
constexpr transport::ServedLimits kLimits{.body = 1024, .answer = std::chrono::seconds(10)};

Result<transport::ServingPair> certificate_of(const TlsChoice& tls, const std::string& host,
                                              Instant now) {
  if (tls.certificate_file.empty()) {
    return transport::ensure_serving_pair({.hosts = {host}, .now = now});
  }
  transport::ServingPair pair{.certificate = read_text(tls.certificate_file),
                              .key = read_text(tls.key_file)};
  return pair;
}

Result<transport::TlsContext> context_of(const TlsChoice& tls, const std::string& host,
                                         Instant now) {
  ATHANOR_TRY(const transport::ServingPair pair, certificate_of(tls, host, now));
  ATHANOR_TRY(auto context,
              transport::TlsContext::create(pair.certificate, pair.key, "", /*http2=*/false));
  const transport::TlsLimits limits{.min_version = tls.min_version, .ciphers = tls.ciphers};
  for (const std::string& problem : transport::problems_of(limits)) {
    log::warn("a TLS flag has no effect", {{"why", problem}});
  }
  ATHANOR_TRY_VOID(transport::apply(limits, context));
  return context;
}

}  // namespace

struct StatusEndpoint::State {
  State(StatusEndpointOptions wanted, const transport::Listening& listening,
        transport::TlsContext tls)
      : options(std::move(wanted)),
        context(std::make_shared<const transport::TlsContext>(std::move(tls))),
        host(listening.host),
        port(transport::port_of(listening.socket)),
        acceptor(world.loop, listening.socket, [this](int client) { welcome(client); }) {
    world.clock = options.clock;
  }

  void welcome(int client) {
    if (connections.size() >= kMostConnections) {
      ::close(client);
      return;
    }
    auto connection = std::make_shared<ServedConnection>(
        world, context, client,
        [this](const apiserver::Request& request, const ServedConnection::Answer& answer) {
          answer(respond(request), {});
        },
        [this](const std::shared_ptr<ServedConnection>& self) { connections.erase(self); });
    connections.insert(connection);
    connection->start();
  }

  apiserver::Response respond(const apiserver::Request& request) const {
    apiserver::Response response;
    response.content_type = "text/plain; charset=utf-8";
    if (request.method != "GET") {
      response.status = 405;
    } else if (request.path == "/metrics") {
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = options.metrics();
    } else if (request.path == "/healthz") {
      response.body = "ok";
    } else if (request.path == "/readyz") {
      response.body = options.not_ready();
      response.status = response.body.empty() ? 200 : 503;
      response.body = response.body.empty() ? "ok" : response.body;
    } else {
      response.status = 404;
    }
    return response;
  }

  StatusEndpointOptions options;
  transport::ServedWorld world{.limits = kLimits};
  std::shared_ptr<const transport::TlsContext> context;
  const std::string host;
  const int port;
  transport::Acceptor acceptor;
  std::set<std::shared_ptr<ServedConnection>> connections{};  // of the loop's thread
  std::thread thread{};
};

Result<std::unique_ptr<StatusEndpoint>> StatusEndpoint::start(StatusEndpointOptions options) {
  ATHANOR_TRY(const transport::Listening listening, transport::listen_at(options.address));
  auto context = context_of(options.tls, listening.host, options.clock->now());
  if (!context.ok()) {
    ::close(listening.socket);
    return std::move(context).error();
  }
  auto state = std::make_unique<State>(std::move(options), listening, *std::move(context));
  state->world.loop.post([raw = state.get()] { raw->acceptor.start(); });
  state->thread = std::thread([raw = state.get()] { raw->world.loop.run(); });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<StatusEndpoint>(new StatusEndpoint(std::move(state)));
}

StatusEndpoint::StatusEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusEndpoint::~StatusEndpoint() {
  state_->world.loop.stop();
  state_->thread.join();
  for (const auto& connection : std::exchange(state_->connections, {})) {
    connection->close();
  }
  state_->acceptor.close();
  state_->world.loop.close();
}

std::string StatusEndpoint::address() const {
  return transport::address_text(state_->host, state_->port);
}

}  // namespace athanor::agent
