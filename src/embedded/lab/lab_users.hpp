// SPDX-License-Identifier: Apache-2.0
// Rights of a lab's users.
#pragma once

#include <string>
#include <vector>

#include "embedded/lab/control_plane.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// Returns what binds each user to Kubernetes' role of its name in the jobs' namespace, and to the
// reading of our cluster-scoped kinds.
std::vector<Value> user_bindings(const std::vector<LabUser>& users, const std::string& jobs_ns);

}  // namespace athanor::lab
