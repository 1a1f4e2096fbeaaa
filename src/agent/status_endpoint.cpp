// SPDX-License-Identifier: Apache-2.0
#include "agent/status_endpoint.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "agent/node/cdi_folder.hpp"
#include "base/log.hpp"
#include "net/pki.hpp"
#include "net/serving/page_server.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::agent {
namespace {

constexpr std::size_t kMaxConnections = 64;
constexpr std::chrono::seconds kPatience{10};

Result<net::ServingPair> certificate_of(const TlsChoice& tls, const std::string& host,
                                        Instant now) {
  if (tls.certificate_file.empty()) {
    net::PkiOptions spec{.now = now};
    if (!host.empty()) {  // of ":8443": every address
      spec.hosts = {host};
    }
    return net::ensure_serving_pair(spec);
  }
  net::ServingPair pair{.certificate = read_text(tls.certificate_file),
                        .key = read_text(tls.key_file)};
  return pair;
}

Result<std::shared_ptr<const net::ServedTls>> serving_tls(const TlsChoice& choice,
                                                          const std::string& host, Instant now) {
  ATHANOR_TRY(const net::ServingPair pair, certificate_of(choice, host, now));
  const net::TlsLimits limits{.min_version = choice.min_version, .ciphers = choice.ciphers};
  for (const std::string& problem : net::problems_of(limits)) {
    log::warn("a TLS flag has no effect", {{"why", problem}});
  }
  auto tls = std::make_shared<net::ServedTls>();
  ATHANOR_TRY_VOID(tls->use(pair.certificate, pair.key));
  ATHANOR_TRY_VOID(tls->limit(limits));
  return std::shared_ptr<const net::ServedTls>(std::move(tls));
}

}  // namespace

struct StatusEndpoint::State {
  explicit State(StatusEndpointOptions wanted) : options(std::move(wanted)) {}

  [[nodiscard]] net::Page respond(const net::Request& request) const {
    if (request.path == "/metrics") {
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = options.metrics()};
    }
    if (request.path == "/healthz") {
      return {.body = "ok"};
    }
    if (request.path == "/readyz") {
      std::string why = options.not_ready();
      return why.empty() ? net::Page{.body = "ok"}
                         : net::Page{.status = 503, .body = std::move(why)};
    }
    return net::refusal_page(404);
  }

  StatusEndpointOptions options;
  std::unique_ptr<net::PageServer> server{};  // goes first
};

Result<std::unique_ptr<StatusEndpoint>> StatusEndpoint::start(StatusEndpointOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  const StatusEndpointOptions& wanted = state->options;
  const std::string host = wanted.address.substr(0, wanted.address.rfind(':'));
  ATHANOR_TRY(auto tls, serving_tls(wanted.tls, host, wanted.clock->now()));
  ATHANOR_TRY(state->server,
              net::PageServer::start(
                  {.address = wanted.address,
                   .tls = std::move(tls),
                   .threads = 1,
                   .max_connections = kMaxConnections,
                   .patience = kPatience,
                   .answer = [raw = state.get()](
                                 const net::Request& request) { return raw->respond(request); },
                   .clock = wanted.clock}));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<StatusEndpoint>(new StatusEndpoint(std::move(state)));
}

StatusEndpoint::StatusEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusEndpoint::~StatusEndpoint() = default;

std::string StatusEndpoint::address() const {
  return state_->server->address();
}

}  // namespace athanor::agent
