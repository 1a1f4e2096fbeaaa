// SPDX-License-Identifier: Apache-2.0
// AdmissionReview (admission.k8s.io/v1) as requests and verdicts, and the certificates in the
// configurations that make an API server ask.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/rights/webhook_registration.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::cluster {

// Parses a review. Errors: what is no AdmissionReview of v1 with a request.
Result<AdmissionRequest> parse_review(const Value& review);
// Returns the answer to a request with this uid.
Value answer_review(const std::string& uid, const Verdict& verdict);

// Returns true if a webhook's clientConfig leads to the target: its Service by name and namespace,
// or its URL.
bool names_target(const Value& client_config, const WebhookTarget& target);
// Returns the merge patch that gives the target's CA to those webhooks of a stored configuration
// that name it; Null when they have it. Replaces the whole list: guard it by the resource version.
Value ca_bundle_patch(const Value& configuration, const WebhookTarget& target);
// Returns such a patch for a CustomResourceDefinition whose conversion webhook names the target.
Value conversion_bundle_patch(const Value& crd, const WebhookTarget& target);

}  // namespace athanor::cluster
