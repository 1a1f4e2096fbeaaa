// SPDX-License-Identifier: Apache-2.0
// EtcdStandIn: what test suites start beside a kube-apiserver. It is healthy and stores nothing.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace athanor::lab {

// Listens until it is destroyed.
class EtcdStandIn {
 public:
  // Answers GET /health from now on. Port 0: any free one. Errors: the address is not ours, or
  // taken.
  static Result<std::unique_ptr<EtcdStandIn>> start(const std::string& host, int port);
  virtual ~EtcdStandIn() = default;
  [[nodiscard]] virtual int port() const = 0;
};

}  // namespace athanor::lab
