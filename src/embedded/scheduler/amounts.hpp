// SPDX-License-Identifier: Apache-2.0
// What pods ask for and nodes have, in integers: cpu in thousandths, everything else in units.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::scheduler {

using Amounts = std::map<std::string, std::int64_t, std::less<>>;

// Reads {"cpu": "100m", "memory": "1Gi"}; what is no quantity counts as nothing.
Amounts amounts_of(const Value& resources);
// Returns what a pod reserves: its containers together, or the largest init container if that is
// more, plus overhead; resources of the pod as a whole win where they are given.
Amounts requests_of(const Value& pod_spec);
// Returns requests for scoring: a container that requests no cpu or memory counts as a small one,
// so that pods without requests spread, too.
Amounts scored_requests_of(const Value& pod_spec);

// Returns the spec by which a pod on a node is counted: its own, with the resources that its
// containers have where it asks for a resize that its node can never grant.
Value counted_spec(const Object& pod);

// Adds the amounts of `more` to `sum`.
void add(Amounts& sum, const Amounts& more);

}  // namespace athanor::scheduler
