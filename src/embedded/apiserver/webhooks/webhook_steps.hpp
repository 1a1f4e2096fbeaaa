// SPDX-License-Identifier: Apache-2.0
// The admission steps MutatingAdmissionWebhook and ValidatingAdmissionWebhook
// (docs/spec/apiserver.md 15.1, 15.2).
#pragma once

#include "embedded/apiserver/request/admission.hpp"

namespace athanor::apiserver {

// Calls one webhook after the other; each sees what the earlier ones made of the object.
AdmissionStep mutating_webhook_step();
// Calls all webhooks at the same time.
AdmissionStep validating_webhook_step();

}  // namespace athanor::apiserver
