// SPDX-License-Identifier: Apache-2.0
// How an API server serves, in a lab or alone: kube-apiserver's flags of the same names.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/lab/serving/audit_log.hpp"
#include "embedded/transport/encryption.hpp"

namespace athanor::lab {

// Limits, audit and encryption of a server.
struct ServingOptions {
  AuditOptions audit{};
  // Requests above these wait a second at most, then 429.
  std::size_t max_requests_inflight = 400;
  std::size_t max_mutating_requests_inflight = 200;
  // Connections of one address; a new one beyond this number replaces an idle one.
  std::size_t max_connections_per_address = 4096;
  std::string encryption_config{};  // --encryption-provider-config; empty: nothing is encrypted
  Duration request_timeout = std::chrono::seconds(60);
  // services/NAME/proxy goes where annotation athanor.dev/endpoint or externalName says.
  bool proxy_named_endpoints = false;
};

// Reads the file of --encryption-provider-config.
Result<transport::Encryption> read_encryption(const std::string& path);

}  // namespace athanor::lab
