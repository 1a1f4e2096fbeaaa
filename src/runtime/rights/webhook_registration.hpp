// SPDX-License-Identifier: Apache-2.0
// The configurations that make an API server ask webhooks.
#pragma once

#include <span>
#include <string>

#include "kube/value/value.hpp"
#include "runtime/view/admission.hpp"

namespace athanor {

// Where the API server reaches the webhooks: a Service, or a URL (tests).
struct WebhookTarget {
  std::string service{};
  std::string ns{};
  int port = 443;
  std::string url{};        // "https://127.0.0.1:9443"; wins over the service
  std::string ca_bundle{};  // PEM; empty: left out
};
// Returns a MutatingWebhookConfiguration of the webhooks that are mutating, or a
// ValidatingWebhookConfiguration of the others; Null where there are none.
Value webhook_configuration(std::span<const Webhook> webhooks, bool mutating,
                            const std::string& name, const WebhookTarget& target);

}  // namespace athanor
