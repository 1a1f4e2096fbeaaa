// SPDX-License-Identifier: Apache-2.0
// The agent's HTTPS port: /metrics, /healthz, /readyz (docs/spec/das.md 1, 11).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace athanor::agent {

struct TlsChoice {
  std::string min_version{};           // "VersionTLS12"; empty: that
  std::vector<std::string> ciphers{};  // IANA names; empty: the library's
  std::string certificate_file{};      // empty: a self-signed one is made
  std::string key_file{};
};

struct StatusEndpointOptions {
  std::string address{};  // "HOST:PORT"; no host: every address
  TlsChoice tls{};
  const Clock* clock = nullptr;              // outlives the endpoint
  std::function<std::string()> metrics{};    // Prometheus' text form
  std::function<std::string()> not_ready{};  // why; empty: ready
};

// Thread-safe.
class StatusEndpoint {
 public:
  // Starts to serve. Errors: no address, or a taken one; an unreadable certificate. An unknown
  // version or cipher is a warning: TLS 1.2 and the library's ciphers are used.
  static Result<std::unique_ptr<StatusEndpoint>> start(StatusEndpointOptions options);
  StatusEndpoint(const StatusEndpoint&) = delete;
  StatusEndpoint& operator=(const StatusEndpoint&) = delete;
  ~StatusEndpoint();  // stops

  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit StatusEndpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
