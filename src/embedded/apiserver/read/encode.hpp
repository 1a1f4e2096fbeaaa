// SPDX-License-Identifier: Apache-2.0
// The last stage of an answer: its value as bytes.
#pragma once

#include "embedded/apiserver/request/http.hpp"

namespace athanor::apiserver {

// Makes bytes of `response.value` as the request asked for (JSON, YAML, pretty), where there is
// one, and compresses a large body for a client that takes gzip (docs/spec/apiserver.md 2.5, 2.6).
void encode(const Request& request, Response& response);

}  // namespace athanor::apiserver
