// SPDX-License-Identifier: Apache-2.0
// The rules of Ingresses and IngressClasses (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Returns the errors of an Ingress's spec, with paths below "spec"; empty: valid.
FieldErrors check_ingress_spec(const Value& spec);
// Returns the errors of an IngressClass's spec in the same way.
FieldErrors check_ingress_class_spec(const Value& spec);
// Checks the addresses of a status.
FieldErrors check_load_balancer(const Value& status);

}  // namespace athanor::apiserver
