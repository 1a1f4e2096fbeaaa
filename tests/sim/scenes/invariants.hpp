// SPDX-License-Identifier: Apache-2.0
// The rules of the systems under simulation. A system adds its own here and names them in its
// scenes.
#pragma once

#include <vector>

#include "simulation/world.hpp"

namespace athanor::sim {

// No cell of a ClusterQueue's quota is promised twice.
Invariant quota_holds();
// Kueue evicts what is admitted and not PodsReady in time: our Workloads say it soon.
Invariant ready_in_time();
// Fournos with the queueing engine: no job runs twice, quota, finished jobs and workloads stay.
// A job runs once; what has finished stays so.
std::vector<Invariant> job_invariants();
std::vector<Invariant> fournos_invariants();
// The run engine: finished runs stay, finally runs once, sidecars keep no run alive.
std::vector<Invariant> tekton_invariants();
// Everything of the laptop lab.
std::vector<Invariant> lab_invariants();

}  // namespace athanor::sim
