// SPDX-License-Identifier: Apache-2.0
// The rules of HorizontalPodAutoscalers (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Sets the fields that are not set; `version`: "v1" or "v2".
void default_autoscaler(Value& object, std::string_view version);
// Sets the default that stays when an object without it is shown in the other version.
void default_metrics(Value& object, std::string_view version);

// Checks a spec of autoscaling/v2; `old_spec` is Null on create.
FieldErrors check_autoscaler_spec(const Value& spec, const Value& old_spec);

}  // namespace athanor::apiserver
