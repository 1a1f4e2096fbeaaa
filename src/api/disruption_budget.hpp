// SPDX-License-Identifier: Apache-2.0
// What PodDisruptionBudgets say about an eviction (docs/spec/apiserver.md 12.3): rules for the
// eviction API and for what emulates its clients. Values are whole objects.
#pragma once

#include <string_view>

#include "base/time.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/value.hpp"

namespace athanor::api {

// Returns true if the budget's selector matches the pod; both are in one namespace.
bool budget_selects(const Value& budget, const Value& pod);
// Returns true if budgets protect the pod: it has started, has not ended, and is not being deleted.
bool needs_budget(const Value& pod);
// Returns true if the pod may go whatever the budget allows, since it is not ready.
bool unhealthy_may_go(const Value& pod, const Value& budget);

// Returns true if the budget's status describes its newest spec.
bool is_observed(const Value& budget);
// Returns the changed members of the budget's status once one of its disruptions is used for the
// pod of this name. Requires that it allows one.
Value status_after_disruption(const Value& budget, std::string_view pod, Instant now);
// Returns the condition of a pod that the eviction API deletes.
Condition evicted_condition();

}  // namespace athanor::api
