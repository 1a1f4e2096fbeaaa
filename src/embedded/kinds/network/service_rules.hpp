// SPDX-License-Identifier: Apache-2.0
// What a Service must look like, and what one of another type forgets (docs/spec/apiserver.md
// 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks a service; `old_service` is Null on create.
FieldErrors check_service(const Value& service, const Value& old_service);

// Returns true if clients outside the cluster can reach it.
bool is_accessible(const Value& spec);
// Returns true if a load balancer asks the nodes who serves it.
bool needs_health_check(const Value& spec);

// Takes out of `spec` what only the old type had, unless the writer changed it: that is for the
// rules to refuse.
void drop_old_type(Value& spec, const Value& old_spec);

}  // namespace athanor::apiserver
