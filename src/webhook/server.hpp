// SPDX-License-Identifier: Apache-2.0
// Server: answers AdmissionReviews over HTTPS (HTTP/1.1, TLS 1.2 and newer) with a certificate that
// may change while connections last. One thread; verdicts come from elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/serving/served_tls.hpp"
#include "runtime/view/admission.hpp"
#include "webhook/conversion.hpp"
#include "webhook/review.hpp"

namespace athanor {
class Metrics;
}

namespace athanor::webhook {

// Address and callbacks of a Server.
struct ServerOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  std::vector<Webhook> webhooks{};
  // Decides; calls `answer` once, from any thread. Called on the server's thread; must not block.
  using Answer = std::function<void(Verdict verdict)>;
  std::function<void(const Question& question, Answer answer)> decide{};
  Convert convert{};             // answers conversions; none: they are not found. Pure
  const Clock* clock = nullptr;  // required; clock and metrics outlive the server
  Metrics* metrics = nullptr;
};

// Thread-safe.
class Server {
 public:
  // Listens. Handshakes fail until there is a certificate. Errors: no address, or a taken one.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops

  // Serves connections from now on with this certificate; open ones keep theirs. Errors: PEM texts
  // that cannot be used; the former certificate stays.
  Result<void> use(const std::string& certificate, const std::string& key);
  // Limits the handshakes from now on, see ServedTls.
  Result<void> limit(net::TlsLimits limits);
  // Returns true if there is a certificate.
  [[nodiscard]] bool serving() const;
  // Returns "127.0.0.1:9443".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace athanor::webhook
