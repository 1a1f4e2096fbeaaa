// SPDX-License-Identifier: Apache-2.0
// The scale subresource of workloads and of custom resources that declare it
// (docs/spec/apiserver.md 12.2).
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Handles GET, PUT and PATCH of an object's scale.
StatusResult<Response> handle_scale_get(Call& call);
StatusResult<Response> handle_scale_put(Call& call);
StatusResult<Response> handle_scale_patch(Call& call);

}  // namespace athanor::apiserver
