// SPDX-License-Identifier: Apache-2.0
// Routing: from a path and a method to the handler (docs/spec/apiserver.md 3).
#pragma once

#include "embedded/apiserver/core/call.hpp"

namespace athanor::apiserver {

// A request under /api/VERSION/... or /apis/GROUP/VERSION/...
StatusResult<Response> route_resource(Call& call);
// Everything else: discovery, health, version, OpenAPI, metrics, keys.
StatusResult<Response> route_plain(Call& call);
// The user that Impersonate-* headers ask for, when the caller may (16.1); unchanged without them.
StatusResult<UserInfo> impersonate(const Core& core, const Request& request, UserInfo user);

}  // namespace athanor::apiserver
