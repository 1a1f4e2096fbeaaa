// SPDX-License-Identifier: Apache-2.0
// Unary gRPC calls over a unix socket, plaintext: what a kubelet's podresources API speaks.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace athanor::client {

// Limits of a call: its duration and the bytes of its answer.
struct GrpcLimits {
  std::chrono::milliseconds timeout{10'000};
  std::size_t answer = std::size_t{16} << 20;
};

// Calls `method` ("/v1.PodResourcesLister/List") with an encoded message; blocks. Returns the
// answer's message. Errors: no such socket, no answer in time, a status other than OK, with the
// server's words.
Result<std::string> call_unix_grpc(const std::string& socket, const std::string& method,
                                   const std::string& message, const GrpcLimits& limits = {});

}  // namespace athanor::client
