// SPDX-License-Identifier: Apache-2.0
// Which requests a webhook is called for (docs/spec/apiserver.md 15.2).
#pragma once

#include <string>

#include "embedded/apiserver/matching/hook.hpp"
#include "embedded/apiserver/request/admission.hpp"

namespace athanor::apiserver {

// Requests that no webhook sees: those for admission's own configuration.
bool exempt_from_webhooks(const AdmissionAttributes& request);

// Returns the namespace that a request is about; a Namespace is about itself.
const std::string& request_namespace(const AdmissionAttributes& request);

// Returns the version of the resource that a rule of the webhook names: the request's own or, with
// matchPolicy Equivalent, another one. nullptr: the webhook is not called. Errors: selectors that
// cannot be evaluated.
StatusResult<const ResourceInfo*> match_hook(const Hook& hook, const AdmissionAttributes& request,
                                             const AdmissionContext& context);

}  // namespace athanor::apiserver
