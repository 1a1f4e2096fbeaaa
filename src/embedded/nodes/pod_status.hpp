// SPDX-License-Identifier: Apache-2.0
// The status of a pod from what its runtime says (phase, conditions, container statuses).
#pragma once

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// Returns the whole status to write. `state` as in pod_runtime.hpp, with `user`, the id of
// containers that name none, where it is known.
Value running_status(const Object& pod, const std::string& address, const Value& state,
                     Instant now);
// Returns the status of a pod whose containers cannot start yet: all wait with this reason.
Value waiting_status(const Object& pod, const std::string& address, std::string_view reason,
                     std::string_view message, std::string_view container, Instant now);
// Returns the status of a pod ended by its node: phase Failed with this reason; containers that
// still ran end with exit code 137.
Value failed_status(const Object& pod, const std::string& address, const Value& state,
                    std::string_view reason, std::string_view message, Instant now);

// Returns true by phase Succeeded or Failed.
bool is_terminal(const Object& pod);
// Checks that every container of the runtime's state has ended for good.
bool all_ended(const Value& state);

}  // namespace athanor::nodes
