// SPDX-License-Identifier: Apache-2.0
// ServedApi: an API server with its store, on a socket, with time going by: what a lab and an API
// server alone have in common.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/lab/serving/deferred_server.hpp"
#include "embedded/lab/serving/local_services.hpp"
#include "embedded/lab/serving/network.hpp"
#include "embedded/lab/serving/ticker.hpp"
#include "embedded/store/store.hpp"
#include "embedded/transport/https_server.hpp"

namespace athanor::lab {

// What the server listens on and works with.
struct ServedApiOptions {
  std::unique_ptr<store::Journal> journal{};
  std::string host = "127.0.0.1";  // to listen on
  int port = 6443;                 // 0: any free one
  transport::HttpsOptions https{};
  // advertise_host empty: `host`; advertise_port 0: the port listened on.
  apiserver::Options server{};
  // What reaches beyond the server: tokens, logs, metrics, admission, ... The store, the clock, the
  // entropy and the outside world are filled in.
  apiserver::Dependencies dependencies{};
  // Services that are answered in this process; may be empty.
  LocalServices local_services{};
};

// Owns the store, the server, its socket and its ticker.
class ServedApi {
 public:
  // Binds the port; answers requests from start() on. Requires that clock, entropy and what
  // `dependencies` name outlive it.
  static Result<std::unique_ptr<ServedApi>> create(ServedApiOptions options, Clock& clock,
                                                   Entropy& entropy);
  ServedApi(const ServedApi&) = delete;
  ServedApi& operator=(const ServedApi&) = delete;
  ~ServedApi();

  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] apiserver::Server& server() { return *server_; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& address() const { return address_; }  // https://HOST:PORT

  // Starts to answer; `also` runs with each tick, on the ticker's thread.
  void start(std::function<void(Instant)> also = {});
  // Begins to shut down: /readyz answers 500, watches end; other requests are still answered.
  void begin_shutdown() { server_->begin_shutdown(); }
  // Ends calls of webhooks: no request waits for one any more.
  void end_calls();
  // Ends calls of webhooks, then closes the connections, after at most `grace`. The server and the
  // store stay for those in the process until the destructor, which makes the store's last writes
  // durable.
  void stop(std::chrono::milliseconds grace);

 private:
  explicit ServedApi(Clock& clock) : clock_(clock) {}
  Result<void> assemble(ServedApiOptions options, Entropy& entropy);

  Clock& clock_;
  int port_ = 0;
  std::string address_{};
  DeferredServer late_{};
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<apiserver::Server> server_{};
  std::unique_ptr<Network> network_{};
  std::unique_ptr<transport::HttpsServer> https_{};
  std::unique_ptr<Ticker> ticker_{};
};

}  // namespace athanor::lab
