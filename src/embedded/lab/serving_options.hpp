// SPDX-License-Identifier: Apache-2.0
// How an API server serves, in a lab or alone: kube-apiserver's flags of the same names.
#pragma once

#include <cstddef>

#include "base/time.hpp"
#include "embedded/lab/audit_log.hpp"

namespace athanor::lab {

struct ServingOptions {
  AuditOptions audit{};
  // Requests above these wait a second at most, then 429.
  std::size_t max_requests_inflight = 400;
  std::size_t max_mutating_requests_inflight = 200;
  Duration request_timeout = std::chrono::seconds(60);
};

}  // namespace athanor::lab
