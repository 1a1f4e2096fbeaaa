// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3: the index and the documents of each group-version (docs/spec/apiserver.md 4.6).
#pragma once

#include <optional>

#include "embedded/apiserver/core/call.hpp"

namespace athanor::apiserver {

// nullopt when the path is not below /openapi.
std::optional<StatusResult<Response>> serve_openapi(Call& call);

}  // namespace athanor::apiserver
