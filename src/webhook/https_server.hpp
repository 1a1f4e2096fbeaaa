// SPDX-License-Identifier: Apache-2.0
// HttpsServer: HTTP/1.1 over TLS 1.2 and newer with a certificate that may change while connections
// last. One thread; answers come from elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/http.hpp"
#include "net/served_connection.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::webhook {

// Address, limits and callbacks of an HttpsServer.
struct HttpsOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  std::size_t most_connections = 0;
  transport::ServedLimits limits{};
  // Makes the response, later on the server's thread; called once, from any thread. Does nothing
  // once the server is gone.
  using Reply = std::function<void(std::function<apiserver::Response()> make)>;
  // Called on the server's thread; must not block.
  std::function<void(const apiserver::Request& request, Reply reply)> handle{};
  const Clock* clock = nullptr;  // required; outlives the server
};

// Thread-safe.
class HttpsServer {
 public:
  // Listens; connections are closed until there is a certificate. Errors: what is no address, or is
  // taken.
  static Result<std::unique_ptr<HttpsServer>> start(HttpsOptions options);
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;
  ~HttpsServer();  // stops

  // Serves connections from now on with this certificate; open ones keep theirs. Errors: PEM texts
  // that cannot be used; the former certificate stays.
  Result<void> use(const std::string& certificate, const std::string& key);
  // Limits the handshakes from now on, see ServedTls.
  Result<void> limit(transport::TlsLimits limits);
  // There is a certificate.
  [[nodiscard]] bool serving() const;
  // "127.0.0.1:9443".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit HttpsServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace athanor::webhook
