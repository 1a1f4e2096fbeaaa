// SPDX-License-Identifier: Apache-2.0
// The handlers behind auth_routes().
#pragma once

#include "embedded/apiserver/core/call.hpp"

namespace athanor::apiserver {

// POST serviceaccounts/NAME/token (docs/spec/apiserver.md 16.3).
StatusResult<Response> handle_token_request(Call& call);

// Reviews: answered and forgotten (docs/spec/apiserver.md 16.4).
StatusResult<Response> handle_token_review(Call& call);
// Answer whether a user may do something: any user, any user in one namespace, the caller; then the
// caller's rules, and who the caller is.
StatusResult<Response> handle_subject_access_review(Call& call);
StatusResult<Response> handle_local_subject_access_review(Call& call);
StatusResult<Response> handle_self_subject_access_review(Call& call);
StatusResult<Response> handle_self_subject_rules_review(Call& call);
StatusResult<Response> handle_self_subject_review(Call& call);

}  // namespace athanor::apiserver
