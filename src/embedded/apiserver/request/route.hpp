// SPDX-License-Identifier: Apache-2.0
// Routing: from a path and a method to the handler (docs/spec/apiserver.md 3).
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Handles a request under /api/VERSION/... or /apis/GROUP/VERSION/...
StatusResult<Response> route_resource(Call& call);
// Handles everything else: discovery, health, version, OpenAPI, metrics, keys.
StatusResult<Response> route_plain(Call& call);
// Returns the user of the Impersonate-* headers, if the caller may (16.1); `user` without them.
StatusResult<UserInfo> impersonate(const Core& core, const Request& request, UserInfo user);

}  // namespace athanor::apiserver
