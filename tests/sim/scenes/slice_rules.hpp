// SPDX-License-Identifier: Apache-2.0
// Rules of slices of GPUs that more than one scene keeps, and the objects that they are made of.
#pragma once

#include <string>

#include "simulation/world.hpp"

namespace athanor::sim {

// No slot of a GPU belongs to two pods, whatever state their claims are in.
Invariant no_slot_twice();
// At rest every pod that runs has its slices in use, and every claim is of such a pod.
Invariant claims_are_those_of_pods();

// A ReplicaSet of pods that want one slice each.
Value wanting(const std::string& name, int replicas, const std::string& profile);
// What every scene with slices starts with: kinds, namespaces, the DASOperator.
void add_slice_objects(Scene& scene);

}  // namespace athanor::sim
