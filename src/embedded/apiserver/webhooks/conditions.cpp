// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/webhooks/conditions.hpp"

#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/policies/admission_cel.hpp"

namespace athanor::apiserver {

StatusResult<bool> conditions_hold(const Hook& hook, const AdmissionRequest& request,
                                   const AdmissionContext& context) {
  if (hook.conditions.empty()) {
    return true;
  }
  const AdmissionView view{.request = request,
                           .version = *request.resource,
                           .object = request.object,
                           .old_object = request.old_object};
  const ConditionsVerdict verdict = judge_conditions(hook.conditions, admission_bindings(view),
                                                     RequestAuthority(request, context));
  if (verdict.error.empty() || !verdict.hold) {
    return verdict.hold;
  }
  if (hook.ignores_failure) {
    return false;
  }
  return refuse(request, verdict.error);
}

}  // namespace athanor::apiserver
