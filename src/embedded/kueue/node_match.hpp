// SPDX-License-Identifier: Apache-2.0
// Whether a pod would run on a flavor's nodes: taints, node selector, required node affinity
// (spec/kueue.md 7.6).
#pragma once

#include <functional>
#include <set>
#include <string>

#include "embedded/kueue/snapshot.hpp"

namespace athanor::kueue {

// "untolerated taint {key value effect <nil>} in flavor f" for the first NoSchedule or NoExecute
// taint that neither the pod nor the flavor tolerates; else empty.
std::string untolerated_taint(const Flavor& flavor, const Value& pod_spec);
// Only `known_keys` of the selector and the affinity count.
bool matches_flavor(const Value& pod_spec, const Flavor& flavor,
                    const std::set<std::string, std::less<>>& known_keys);

}  // namespace athanor::kueue
