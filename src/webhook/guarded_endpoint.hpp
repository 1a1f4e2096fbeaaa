// SPDX-License-Identifier: Apache-2.0
// GuardedEndpoint: metrics over HTTPS for clients whose token the API server authenticates
// (TokenReview) and authorizes for the path (SubjectAccessReview). GET alone.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "net/serving/page_server.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::webhook {

// Address and collaborators of a GuardedEndpoint.
struct GuardedOptions {
  std::string address{};  // "HOST:PORT"; no host: every address; port 0: a free one
  // Client and clock outlive the endpoint.
  client::ApiClient* client = nullptr;
  const Clock* clock = nullptr;
  // Called on threads of the endpoint; may block.
  std::function<net::Page(const net::Request& request)> answer{};
};

// The endpoint; serves on threads of its own until destroyed.
class GuardedEndpoint {
 public:
  // Listens, with a certificate of its own that is signed by itself and kept nowhere. Errors: what
  // is no address, or is taken.
  static Result<std::unique_ptr<GuardedEndpoint>> listen(GuardedOptions options);
  GuardedEndpoint(const GuardedEndpoint&) = delete;
  GuardedEndpoint& operator=(const GuardedEndpoint&) = delete;
  ~GuardedEndpoint();  // stops

  // Limits the handshakes from now on, see ServedTls. Thread-safe.
  Result<void> limit(net::TlsLimits limits);
  // Returns "127.0.0.1:8443".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit GuardedEndpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::webhook
