// SPDX-License-Identifier: Apache-2.0
// The rules of webhook configurations (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Checks a clientConfig: exactly one of url and service.
void check_webhook_client(FieldErrors& errors, const Value& client, const std::string& path);
// Checks a rule (the requests about which a webhook or policy is asked) below `path`.
void check_admission_rule(FieldErrors& errors, const Value& rule, const std::string& path);
// Returns the errors of a Mutating- or ValidatingWebhookConfiguration at create and at update;
// empty: valid.
FieldErrors validate_webhooks(const Value& object, const KindContext& context);
FieldErrors validate_webhooks_update(const Value& object, const Value& old_object,
                                     const KindContext& context);

}  // namespace athanor::apiserver
