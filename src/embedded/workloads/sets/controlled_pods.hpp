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

// `prefix` cut to what a generated name may have, and five characters of a hash of `seed`.
std::string hashed_name(std::string_view prefix, std::string_view seed);
// `length` characters, those of generated names, of a hash of `seed`; at most 32.
std::string hash_text(std::string_view seed, std::size_t length);

// Returns the names of these objects.
std::set<std::string> names_of(const std::vector<Object>& objects);
// Returns true if condition Ready is True.
bool is_ready(const Object& pod);
// It has succeeded or failed.
bool is_over(const Object& pod);
// Neither over nor being deleted.
bool is_active(const Object& pod);
// Ready for `least`. One that only has to wait for it wakes the plan then.
bool is_available(const Object& pod, Duration least, Instant now, Plan& plan);
// spec.minReadySeconds of a workload.
Duration min_ready(const Object& owner);

// A pod of `pod_template` that `owner`, of `kind`, controls. `prefix`: what the name was made of,
// for those that read it; empty: the name is the pod's own.
Value make_pod(const Object& owner, const Kind& kind, const Value& pod_template,
               const std::string& name, const std::string& prefix = {});
// Returns the ownerReference of a controller, with blockOwnerDeletion.
Value controller_reference(const Object& owner, const Kind& kind);
// Those whose loss costs least first: without a node, not running, not ready, youngest.
void by_removal_order(std::vector<Object>& pods);

}  // namespace athanor::workloads
