// SPDX-License-Identifier: Apache-2.0
// matchConditions of webhooks (spec/apiserver.md 15.2).
#pragma once

#include "embedded/apiserver/admission.hpp"
#include "embedded/apiserver/webhooks/hook.hpp"

namespace athanor::apiserver {

// Whether the webhook's matchConditions all hold. An expression that fails is a refusal when the
// webhook's failurePolicy is Fail, and a "no" when it is Ignore.
StatusResult<bool> conditions_hold(const Hook& hook, const AdmissionRequest& request,
                                   const AdmissionContext& context);

}  // namespace athanor::apiserver
