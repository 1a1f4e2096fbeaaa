// SPDX-License-Identifier: Apache-2.0
// The reconcilers of the integrated kinds (docs/spec/kueue.md 10).
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::kueue::jobs {

// Returns one for each adapter, then pods, released Workloads, and what is not integrated.
std::span<const Operator* const> operators();

// Reconciles plain pods and groups of them (10.3).
const Operator& pod_operator();
// Releases the quota of a Workload whose job is gone.
const Operator& release_operator();
// Reports, with an event, that the queue label of a kind that is not integrated has no effect.
std::span<const Operator* const> unsupported_operators();
// AppWrappers with a queue label for which no controller makes a Workload: an event says so.
const Operator& unqueued_operator();

}  // namespace athanor::kueue::jobs
