// SPDX-License-Identifier: Apache-2.0
// The rules of HorizontalPodAutoscalers (spec/apiserver.md 14.4).
#pragma once

#include "embedded/apiserver/kinds/checks.hpp"

namespace athanor::apiserver {

// A spec of autoscaling/v2; `old_spec` is Null on create.
FieldErrors check_autoscaler_spec(const Value& spec, const Value& old_spec);

}  // namespace athanor::apiserver
