// SPDX-License-Identifier: Apache-2.0
// The engine's writes as requests to the embedded API server, without HTTP; and its answers back.
#pragma once

#include <cstdint>

#include "net/http.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/model/write_request.hpp"

namespace athanor::bridge {

net::Request to_request(const runtime::WriteRequest& write);
// Converts a response. Errors keep code, reason and message of the Status;
// details.retryAfterSeconds becomes retry_after.
runtime::WriteResult to_result(std::uint64_t id, const net::Response& response);

}  // namespace athanor::bridge
