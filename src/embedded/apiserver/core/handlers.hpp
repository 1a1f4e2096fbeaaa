// SPDX-License-Identifier: Apache-2.0
// The handlers behind routing: one per verb. `call.resource` is set, the user is allowed, the
// method exists.
#pragma once

#include "embedded/apiserver/core/call.hpp"

namespace athanor::apiserver {

StatusResult<Response> handle_get(Call& call);
StatusResult<Response> handle_list(Call& call);
StatusResult<Response> handle_watch(Call& call);
StatusResult<Response> handle_create(Call& call);
// PUT and PATCH of the object or of its status.
StatusResult<Response> handle_update(Call& call);
StatusResult<Response> handle_patch(Call& call);
StatusResult<Response> handle_delete(Call& call);
StatusResult<Response> handle_delete_collection(Call& call);

}  // namespace athanor::apiserver
