// SPDX-License-Identifier: Apache-2.0
// The handlers behind auth_routes().
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Handles POST serviceaccounts/NAME/token (docs/spec/apiserver.md 16.3).
StatusResult<Response> handle_token_request(Call& call);

// Reviews: answered and forgotten (docs/spec/apiserver.md 16.4).
StatusResult<Response> handle_token_review(Call& call);
// Handles POST subjectaccessreviews: whether a user may do something.
StatusResult<Response> handle_subject_access_review(Call& call);
// Handles the same in the namespace of the URL.
StatusResult<Response> handle_local_subject_access_review(Call& call);
// Handles POST selfsubjectaccessreviews: whether the caller may do something.
StatusResult<Response> handle_self_subject_access_review(Call& call);
// Handles POST selfsubjectrulesreviews: the rules that hold for the caller in a namespace.
StatusResult<Response> handle_self_subject_rules_review(Call& call);
// Handles POST selfsubjectreviews: the caller as authenticated.
StatusResult<Response> handle_self_subject_review(Call& call);

}  // namespace athanor::apiserver
