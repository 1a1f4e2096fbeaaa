// SPDX-License-Identifier: Apache-2.0
// AdmissionReview (admission.k8s.io/v1) as requests and verdicts, and the certificates in the
// configurations that make an API server ask.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/webhook_registration.hpp"

namespace athanor::cluster {

// Errors: what is no AdmissionReview of v1 with a request.
Result<AdmissionRequest> parse_review(const Value& review);
// The answer to a request with this uid.
Value answer_review(const std::string& uid, const Verdict& verdict);

// Whether a webhook's clientConfig leads to the target: its Service by name and namespace, or its
// URL.
bool names_target(const Value& client_config, const WebhookTarget& target);
// The merge patch that gives those webhooks of a stored configuration that name the target its CA;
// Null when they have it already. Replaces the whole list: to be guarded by the resource version.
Value ca_bundle_patch(const Value& configuration, const WebhookTarget& target);
// Likewise for a CustomResourceDefinition whose conversion webhook names the target.
Value conversion_bundle_patch(const Value& crd, const WebhookTarget& target);

}  // namespace athanor::cluster
