// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/openapi_endpoints.hpp"

namespace athanor::apiserver {

std::optional<StatusResult<Response>> serve_openapi(Call& call) {
  if (!call.request.path.starts_with("/openapi")) {
    return std::nullopt;
  }
  return status::page_not_found();
}

}  // namespace athanor::apiserver
