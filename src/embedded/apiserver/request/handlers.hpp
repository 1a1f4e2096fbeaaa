// SPDX-License-Identifier: Apache-2.0
// The handlers behind routing: one per verb. `call.resource` is set, the user is allowed, the
// method exists.
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Handles GET of an object (docs/spec/apiserver.md 8).
StatusResult<Response> handle_get(Call& call);
// Handles GET of a collection.
StatusResult<Response> handle_list(Call& call);
// Handles GET of a part of the control plane, and of all of them.
StatusResult<Response> get_component_status(Call& call);
StatusResult<Response> list_component_statuses(Call& call);
// Handles GET with ?watch=true: a stream of changes.
StatusResult<Response> handle_watch(Call& call);
// Handles POST of an object (docs/spec/apiserver.md 9).
StatusResult<Response> handle_create(Call& call);
// Handles PUT of the object or of its status.
StatusResult<Response> handle_update(Call& call);
// Handles PATCH of either.
StatusResult<Response> handle_patch(Call& call);
// Handles DELETE of an object (docs/spec/apiserver.md 10).
StatusResult<Response> handle_delete(Call& call);
// Handles DELETE of the objects of a collection that the selectors match.
StatusResult<Response> handle_delete_collection(Call& call);

}  // namespace athanor::apiserver
