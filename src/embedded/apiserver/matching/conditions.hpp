// SPDX-License-Identifier: Apache-2.0
// matchConditions of webhooks (docs/spec/apiserver.md 15.2).
#pragma once

#include "embedded/apiserver/matching/review.hpp"
#include "embedded/apiserver/request/admission.hpp"

namespace athanor::apiserver {

// Checks whether the webhook's matchConditions all hold for what it would be shown. A failing
// expression is a refusal when the webhook's failurePolicy is Fail, and a "no" when it is Ignore.
StatusResult<bool> conditions_hold(const HookCall& call, const AdmissionContext& context);

}  // namespace athanor::apiserver
