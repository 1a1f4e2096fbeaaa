// SPDX-License-Identifier: Apache-2.0
// The event that ends an obstacle of a waiting Workload (docs/spec/kueue.md 17). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "embedded/kueue/cycle/flavor_assigner.hpp"

namespace athanor::kueue {

// Returns the event that ends condition Requeued=False with this reason.
std::string requeue_event(std::string_view reason);

// Returns the event that ends an admission check's state other than Ready.
std::string check_event(std::string_view state);

// Returns the event that lets an assignment fit; `targets` is the number of workloads that are
// preempted for it. Flavors that only lack free quota come before those whose quota is too small.
std::string quota_event(const Assignment& assignment, std::size_t targets);

}  // namespace athanor::kueue
