// SPDX-License-Identifier: Apache-2.0
// StatusServer: what the controllers show of themselves by HTTP: health, metrics, queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "cluster/cluster_driver.hpp"
#include "cluster/leadership.hpp"
#include "kube/value/kind.hpp"
#include "net/serving/served_tls.hpp"
#include "runtime/metrics/metrics.hpp"
#include "webhook/host.hpp"

namespace athanor::cli {

// One more thing that has to be so before the process is ready.
struct ReadyCheck {
  std::string name{};
  std::function<bool()> good{};
};

// Addresses, checks and collaborators of a StatusServer.
struct StatusServerOptions {
  std::string metrics_address{};  // "0": none
  std::string health_address{};   // likewise; empty: the metrics'
  // Serves metrics over TLS, to clients that the API server authenticates and authorizes.
  bool guarded = false;
  net::TlsLimits tls{};         // of guarded metrics
  std::string liveness_path{};  // answers as /healthz does; may be empty
  std::string lease_name{};     // empty: no election
  // Kinds that are watched and that the cluster need not have.
  std::vector<const Kind*> optional{};
  std::vector<ReadyCheck> checks{};
  // All outlive it; leadership may be null.
  cluster::ClusterDriver* driver = nullptr;
  cluster::Leadership* leadership = nullptr;
  webhook::Host* webhooks = nullptr;  // may be null
  client::ApiClient* client = nullptr;
  Metrics* metrics = nullptr;
  const Clock* clock = nullptr;
  const std::atomic<std::int64_t>* last_answer = nullptr;  // of the API server, µs since 1970
};

// Serves metrics and health checks until destroyed.
class StatusServer {
 public:
  static Result<std::unique_ptr<StatusServer>> open(const StatusServerOptions& options);
  // Limits the handshakes of guarded metrics from now on. Thread-safe.
  virtual Result<void> limit(net::TlsLimits limits) = 0;
  virtual ~StatusServer() = default;
};

}  // namespace athanor::cli
