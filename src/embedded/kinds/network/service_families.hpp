// SPDX-License-Identifier: Apache-2.0
// The families of a service's addresses: this cluster has IPv4 alone.
#pragma once

#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns true if the service has clusterIP None.
bool is_headless(const Value& spec);

// Sets policy and families that the writer leaves out. `old_service`: Null for a create. Not a
// default: what is chosen with the address has no owner.
void choose_families(Value& service, const Value& old_service);

// Returns why the chosen families cannot be had.
std::vector<FieldError> family_errors(const Value& service, const Value& old_service);

}  // namespace athanor::apiserver
