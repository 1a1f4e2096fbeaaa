// SPDX-License-Identifier: Apache-2.0
// The API server on a socket: HTTP/1.1 and HTTP/2 over TLS, with optional client certificates
// (docs/spec/apiserver.md 2).
//
// One thread does all I/O, a few workers run the API server's handle(), so an idle watch costs a
// few KiB and no thread. Answers to writes are held back until the store is durable.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/store/store.hpp"

namespace athanor::transport {

// Certificates, limits and timeouts of the server.
struct HttpsOptions {
  std::string certificate_pem{};  // the serving certificate, a chain is fine
  std::string key_pem{};
  std::string client_ca_pem{};       // empty: client certificates are not asked for
  std::string front_proxy_ca_pem{};  // of proxies that authenticate; may be empty
  bool http2 = true;
  int workers = 4;
  // Waiting and running requests above which one may wait a second only, then 429.
  std::size_t max_reading = 400;
  std::size_t max_mutating = 200;
  std::size_t header_limit = std::size_t{1} << 20;   // more: 431
  std::size_t body_limit = std::size_t{3} << 20;     // more: 413
  std::size_t stream_limit = std::size_t{16} << 20;  // unsent bytes of a stream, see stall_timeout
  // What one user, or one address without a user, makes the server hold, and all together: requests
  // that are not answered, and answers that are not read. More: 429, or the end of a stream.
  std::size_t requests_each = std::size_t{128} << 20;
  std::size_t requests_all = std::size_t{512} << 20;
  std::size_t unread_each = std::size_t{256} << 20;
  std::size_t unread_all = std::size_t{1} << 30;
  // Further connections take the place of those that rest, or are closed.
  std::size_t connections_each = 4096;               // of one address
  std::size_t connections_all = 0;                   // 0: what the limit of descriptors allows
  std::chrono::milliseconds header_timeout{32'000};  // handshake; first to last byte of a head
  std::chrono::milliseconds body_timeout{120'000};
  std::chrono::milliseconds idle_timeout{90'000};   // between requests
  std::chrono::milliseconds write_timeout{60'000};  // no progress in sending an answer
  std::chrono::milliseconds stall_timeout{5'000};   // a stream at its limit without progress
};

// All outlive the HttpsServer.
struct HttpsDependencies {
  apiserver::Server* server = nullptr;
  store::Store* store = nullptr;  // for Response::durable_after; may be null
  Clock* clock = nullptr;
};

// Not thread-safe itself.
class HttpsServer {
 public:
  // Makes a server. Errors: key or certificates that cannot be used.
  static Result<std::unique_ptr<HttpsServer>> create(HttpsOptions options,
                                                     const HttpsDependencies& dependencies);
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;
  // Stops without grace.
  ~HttpsServer();

  // Listens on an address or host name and returns the port (that chosen, for port 0). Before
  // start(); once for each address. Clients may connect from now on.
  Result<int> bind(const std::string& host, int port);
  void start();
  // Accepts nothing more, lets running requests end (streams end when the API server ends them),
  // and closes what is left after `grace`. Call Server::begin_shutdown() before.
  void stop(std::chrono::milliseconds grace);

 private:
  struct State;
  explicit HttpsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::transport
