// SPDX-License-Identifier: Apache-2.0
// Containers of a pod and the requests of a ResourceClaim that each may use.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::das {

// Requests by container; an empty set: all.
using ClaimUsers = std::map<std::string, std::set<std::string>>;

// Returns the request that containers name of "request/subrequest".
std::string_view parent_of(std::string_view request);
// Returns the name of the ResourceClaim of an entry of spec.resourceClaims; empty: none was made.
std::string claim_of_entry(const Object& pod, const Value& entry);
// Returns the containers of `pod` that use the claim of this name.
ClaimUsers users_of(const Object& pod, std::string_view claim);

}  // namespace athanor::das
