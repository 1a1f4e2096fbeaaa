// SPDX-License-Identifier: Apache-2.0
// What vworkload.kb.io refuses (docs/spec/kueue.md 5.3). Pure.
#pragma once

#include "embedded/kueue/rules/field_rules.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

// Checks a Workload; `old`: nullptr at create.
Errors check_workload(const Value& object, const Value* old);

}  // namespace athanor::kueue
