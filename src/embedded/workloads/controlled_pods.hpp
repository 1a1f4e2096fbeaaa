// SPDX-License-Identifier: Apache-2.0
// What all controllers of pods share: names that follow from what the view holds, and which pods go
// first.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::workloads {

// Returns `prefix`, cut to the limit of generated names, and five characters of a hash of `seed`.
std::string hashed_name(std::string_view prefix, std::string_view seed);
// Returns `length` (at most 32) characters of a hash of `seed`, from those of generated names.
std::string hash_text(std::string_view seed, std::size_t length);

// Returns the names of these objects.
std::set<std::string> names_of(const std::vector<Object>& objects);
// Returns true if condition Ready is True.
bool is_ready(const Object& pod);
// Returns true if the pod has succeeded or failed.
bool is_over(const Object& pod);
// Returns true if the pod is neither over nor being deleted.
bool is_active(const Object& pod);
// Returns true if the pod is ready for `least`. If time alone is missing, wakes the plan then.
bool is_available(const Object& pod, Duration least, Instant now, Plan& plan);
// Returns spec.minReadySeconds of a workload.
Duration min_ready(const Object& owner);

// Returns a pod of `pod_template` that `owner`, of `kind`, controls. `prefix` becomes generateName;
// empty: the name is not generated.
Value make_pod(const Object& owner, const Kind& kind, const Value& pod_template,
               const std::string& name, const std::string& prefix = {});
// Returns the ownerReference of a controller, with blockOwnerDeletion.
Value controller_reference(const Object& owner, const Kind& kind);
// Sorts the cheapest losses first: without a node, not running, not ready, youngest.
void by_removal_order(std::vector<Object>& pods);

}  // namespace athanor::workloads
