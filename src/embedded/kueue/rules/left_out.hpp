// SPDX-License-Identifier: Apache-2.0
// What an object asks for that the engine leaves out (docs/spec/kueue.md 1, 15): it is stored, and
// the answer warns of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::kueue {

// Returns true if a pod set of a Workload, or a job's pod template below "template", asks for a
// topology.
bool asks_for_topology(const Value& pod_set);

// Returns a sentence for each field of a kind of kueue.x-k8s.io that is set and has no effect.
std::vector<std::string> left_out(const Value& object);
// The same for a job with these pod sets ({template}).
std::vector<std::string> left_out_of_job(const Value& job, const Value& pod_sets);

}  // namespace athanor::kueue
