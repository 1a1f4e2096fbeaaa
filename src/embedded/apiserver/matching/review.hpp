// SPDX-License-Identifier: Apache-2.0
// One call of one admission webhook: the AdmissionReview that is sent, and what its answer means
// (docs/spec/apiserver.md 15.2).
#pragma once

#include <string>

#include "embedded/apiserver/matching/hook.hpp"
#include "embedded/apiserver/request/admission.hpp"
#include "embedded/apiserver/request/conversion.hpp"

namespace athanor::apiserver {

// A webhook and what it is shown. The references must outlive it.
struct HookCall {
  const Hook& hook;
  const AdmissionAttributes& request;
  const ResourceInfo& version;  // that the webhook is shown
  Value object{};               // in that version
  Value old_object{};
};
// Converts what the webhook is to see.
StatusResult<HookCall> prepare_call(const Hook& hook, const AdmissionAttributes& request,
                                    const ResourceInfo& version, const AdmissionContext& context);
// Returns the review's `request` without its uid.
Value review_request(const HookCall& call);
// Refuses a dry run that the webhook cannot take.
StatusResult<void> check_dry_run(const HookCall& call);

// The answer of a webhook.
struct HookReply {
  bool there = false;     // false: asked, the answer is still to come
  std::string failure{};  // the call failed, or its answer is none
  Value response{};       // of the AdmissionReview
};
// Asks within the request's conversation.
HookReply ask_hook(const HookCall& call, const AdmissionContext& context);

// Checks whether the request may go on after that reply. A failure counts as failurePolicy says; a
// denial is a refusal. Adds warnings to the request, annotations to its audit. `index` is the
// webhook's place among the webhooks looked at.
StatusResult<bool> judge(const Hook& hook, const HookReply& reply, std::size_t index,
                         AdmissionAttributes& request, const AdmissionContext& context);

// Annotates the request's audit under PREFIX.webhook.admission.k8s.io/round_R_index_I.
void annotate_round(std::string_view prefix, const Hook& hook, std::size_t index,
                    const AdmissionAttributes& request, const AdmissionContext& context,
                    std::string value);

// Returns the context for conversions within admission.
VersionContext versions_of(const AdmissionContext& context);
// Converts `object` to another version of its resource.
StatusResult<Value> in_version(const ResourceInfo& from, const ResourceInfo& to,
                               const Value& object, const AdmissionContext& context);

}  // namespace athanor::apiserver
