// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/served_api.hpp"

#include <fmt/core.h>

#include <utility>

namespace athanor::lab {
namespace {

std::string address_of(const std::string& host, int port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return bare_ipv6 ? fmt::format("https://[{}]:{}", host, port)
                   : fmt::format("https://{}:{}", host, port);
}

}  // namespace

Result<std::unique_ptr<ServedApi>> ServedApi::create(ServedApiOptions options, Clock& clock,
                                                     Entropy& entropy) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::unique_ptr<ServedApi> api(new ServedApi(clock));
  ATHANOR_TRY_VOID(api->assemble(std::move(options), entropy));
  return api;
}

// The port is bound before the server is made, as the server must know it.
Result<void> ServedApi::assemble(ServedApiOptions options, Entropy& entropy) {
  ATHANOR_TRY(store_, store::Store::open(std::move(options.journal), {}));
  ATHANOR_TRY(https_, transport::HttpsServer::create(
                          std::move(options.https),
                          {.server = &late_, .store = store_.get(), .clock = &clock_}));
  ATHANOR_TRY(port_, https_->bind(options.host, options.port));
  address_ = address_of(options.host, port_);
  apiserver::Options& server = options.server;
  if (server.advertise_host.empty()) {
    server.advertise_host = options.host;
  }
  if (server.advertise_port == 0) {
    server.advertise_port = port_;
  }
  apiserver::Dependencies& dependencies = options.dependencies;
  dependencies.store = store_.get();
  dependencies.clock = &clock_;
  dependencies.entropy = &entropy;
  network_ = std::make_unique<Network>(std::move(options.local_services));
  dependencies.outside = network_.get();
  ATHANOR_TRY(server_, apiserver::Server::create(std::move(server), std::move(dependencies)));
  late_.set(*server_);
  return {};
}

ServedApi::~ServedApi() {
  stop(std::chrono::milliseconds(0));
  https_.reset();
  network_.reset();
  server_.reset();
  if (store_) {
    store_->close();
  }
}

void ServedApi::start(std::function<void(Instant)> also) {
  ticker_ = std::make_unique<Ticker>(*server_, clock_, std::move(also));
  https_->start();
}

void ServedApi::end_calls() {
  if (network_) {
    network_->stop();
  }
}

void ServedApi::stop(std::chrono::milliseconds grace) {
  end_calls();
  ticker_.reset();
  if (https_) {
    https_->stop(grace);
  }
}

}  // namespace athanor::lab
