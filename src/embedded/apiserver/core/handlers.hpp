// SPDX-License-Identifier: Apache-2.0
// The handlers behind routing: one per verb. `call.resource` is set, the user is allowed, the
// method exists.
#pragma once

#include "embedded/apiserver/core/call.hpp"

namespace athanor::apiserver {

// Read an object, a list, a stream of changes (docs/spec/apiserver.md 8).
StatusResult<Response> handle_get(Call& call);
StatusResult<Response> handle_list(Call& call);
StatusResult<Response> handle_watch(Call& call);
// POST of an object (docs/spec/apiserver.md 9).
StatusResult<Response> handle_create(Call& call);
// PUT and PATCH of the object or of its status.
StatusResult<Response> handle_update(Call& call);
StatusResult<Response> handle_patch(Call& call);
// DELETE of an object, or of those that a selection matches (docs/spec/apiserver.md 10).
StatusResult<Response> handle_delete(Call& call);
StatusResult<Response> handle_delete_collection(Call& call);

}  // namespace athanor::apiserver
