// SPDX-License-Identifier: Apache-2.0
// SmallServer: HTTP/1.1 for programs that serve few clients (webhooks, metrics, probes, the
// console): plain or over TLS with a certificate that may change while connections last.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/http.hpp"
#include "net/served_connection.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::net {

// Address, limits and callbacks of a SmallServer.
struct SmallServerOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  // At this many the connection that is idle longest makes room for a newcomer.
  std::size_t max_connections = 256;
  ServedLimits limits{};
  // Null: plain HTTP. Connections are closed while it has no certificate.
  std::shared_ptr<const ServedTls> tls{};
  // Makes the response, later on the server's thread; called once, from any thread. Does nothing
  // once the server is gone.
  using Reply = std::function<void(std::function<Response()> make)>;
  // Called on the server's thread; must not block. A Response with a stream is pulled whenever the
  // stream calls its wake, until it ends or the client leaves.
  std::function<void(Request request, Reply reply)> handle{};
  const Clock* clock = nullptr;  // required; outlives the server
};

// Thread-safe.
class SmallServer {
 public:
  // Listens. Errors: what is no address, or is taken.
  static Result<std::unique_ptr<SmallServer>> start(SmallServerOptions options);
  SmallServer(const SmallServer&) = delete;
  SmallServer& operator=(const SmallServer&) = delete;
  ~SmallServer();  // stops

  // Returns "127.0.0.1:9443".
  [[nodiscard]] std::string address() const;
  [[nodiscard]] int port() const;

 private:
  struct State;
  explicit SmallServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace athanor::net
