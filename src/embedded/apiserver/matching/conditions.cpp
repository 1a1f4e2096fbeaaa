// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/matching/conditions.hpp"

#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/matching/admission_cel.hpp"

namespace athanor::apiserver {

StatusResult<bool> conditions_hold(const HookCall& call, const AdmissionContext& context) {
  const Hook& hook = call.hook;
  if (hook.conditions.empty()) {
    return true;
  }
  const AdmissionView view{.request = call.request,
                           .version = call.version,
                           .object = call.object,
                           .old_object = call.old_object};
  RequestBudget budget(context);
  const ConditionsVerdict verdict = judge_conditions(
      hook.conditions, admission_bindings(view), RequestAuthority(call.request, context), budget);
  if (budget.busy()) {
    return RequestBudget::too_busy();
  }
  if (verdict.error.empty() || !verdict.hold) {
    return verdict.hold;
  }
  if (hook.ignores_failure) {
    return false;
  }
  return refuse(call.request, verdict.error);
}

}  // namespace athanor::apiserver
