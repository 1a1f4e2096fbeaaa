// SPDX-License-Identifier: Apache-2.0
// The reconcilers of the integrated kinds (docs/spec/kueue.md 10).
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::kueue::jobs {

// One for each adapter, then pods, released Workloads, and what is not integrated.
std::span<const Operator* const> operators();

// Plain pods and groups of them (10.3).
const Operator& pod_operator();
// Releases the quota of a Workload whose job is gone.
const Operator& release_operator();
// Objects of kinds that are not integrated: their queue label has no effect, and an event says so.
std::span<const Operator* const> unsupported_operators();
// AppWrappers with a queue label for which no controller makes a Workload: an event says so.
const Operator& unqueued_operator();

}  // namespace athanor::kueue::jobs
