// SPDX-License-Identifier: Apache-2.0
// AdmissionReview (admission.k8s.io/v1) as requests and verdicts, and the configurations that make
// an API server ask.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "kube/value.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::cluster {

// Errors: what is no AdmissionReview of v1 with a request.
Result<AdmissionRequest> parse_review(const Value& review);
// The answer to a request with this uid.
Value answer_review(const std::string& uid, const Verdict& verdict);

// Where the API server reaches the webhooks: a Service, or a URL (tests).
struct WebhookTarget {
  std::string service{};
  std::string ns{};
  int port = 443;
  std::string url{};        // "https://127.0.0.1:9443"; wins over the service
  std::string ca_bundle{};  // PEM
};
// MutatingWebhookConfiguration or ValidatingWebhookConfiguration of those webhooks that are; Null
// when none is.
Value webhook_configuration(std::span<const Webhook> webhooks, bool mutating,
                            const std::string& name, const WebhookTarget& target);
// The merge patch that gives a stored configuration this CA; Null when it has it already.
Value ca_bundle_patch(const Value& configuration, const std::string& ca_bundle);

}  // namespace athanor::cluster
