// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3: the index and the documents of each group-version (docs/spec/apiserver.md 4.6).
#pragma once

#include <optional>

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Serves /openapi; nullopt when the path is not below it.
std::optional<StatusResult<Response>> serve_openapi(Call& call);

}  // namespace athanor::apiserver
