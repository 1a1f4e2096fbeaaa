// SPDX-License-Identifier: Apache-2.0
// The rules of ValidatingAdmissionPolicies and their bindings (docs/spec/apiserver.md 15.3).
#pragma once

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the errors of a policy at create; empty: valid, here and below.
FieldErrors validate_policy(const Value& object, const KindContext& context);
// Returns the errors of a policy at update.
FieldErrors validate_policy_update(const Value& object, const Value& old_object,
                                   const KindContext& context);
// Returns the errors of a binding at create.
FieldErrors validate_policy_binding(const Value& object, const KindContext& context);
// Returns the errors of a binding at update.
FieldErrors validate_policy_binding_update(const Value& object, const Value& old_object,
                                           const KindContext& context);
// Checks that matchConditions of policies and webhooks are expressions that compile to a bool.
void check_condition_expressions(FieldErrors& errors, const Value& conditions,
                                 const std::string& path, bool params);

}  // namespace athanor::apiserver
