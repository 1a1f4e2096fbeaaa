// SPDX-License-Identifier: Apache-2.0
// Server: the extender's verbs over HTTP/1.1, plain or with a certificate that may change while
// connections last. One thread; answers come from elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {
class Metrics;
}
namespace athanor::net {
class ServedTls;
}

namespace athanor::extender {

// Verbs of the extender protocol (docs/spec/das.md 7.2).
enum class Verb : std::uint8_t { Filter, Prioritize, Bind, Preempt };
// Returns the last part of the verb's path: "filter".
std::string_view name_of(Verb verb);
// Returns the verb of "/scheduler/filter".
std::optional<Verb> verb_of(std::string_view path);

// Address, callbacks and limits of a Server.
struct ServerOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  // Of HTTPS: connections are closed until it has a certificate. Null: plain HTTP.
  std::shared_ptr<const net::ServedTls> tls{};
  // Answers with JSON, or an error whose code is the HTTP status; called once, from any thread.
  using Answer = std::function<void(Result<Value> answer)>;
  // Called on the server's thread; must not block.
  std::function<void(Verb verb, Value body, Answer answer)> decide{};
  const Clock* clock = nullptr;  // required; clock and metrics outlive the server
  Metrics* metrics = nullptr;
};

// Thread-safe.
class Server {
 public:
  // Listens. Errors: what is no address, or is taken.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops
  // Returns "127.0.0.1:9443".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace athanor::extender
