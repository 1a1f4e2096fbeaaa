// SPDX-License-Identifier: Apache-2.0
// ClusterRoles of people for our kinds, which Kubernetes adds to its own view, edit and admin.
#pragma once

#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/system.hpp"

namespace athanor {

// Returns athanor-view (reads all kinds of these systems), athanor-edit (also changes jobs,
// AppWrappers and what else belongs to one namespace and is made by its users) and athanor-admin
// (also changes all other kinds), aggregated.
std::vector<Value> people_roles(Systems systems);

}  // namespace athanor
