// SPDX-License-Identifier: Apache-2.0
// ClusterRoles of people for our kinds, which Kubernetes adds to its own view, edit and admin.
#pragma once

#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/system.hpp"

namespace athanor {

// Returns NAME-view (reads all kinds of these systems), NAME-edit (also changes jobs, AppWrappers
// and what else belongs to one namespace and is made by its users) and NAME-admin (also changes all
// other kinds), aggregated. A role without rules is left out.
std::vector<Value> people_roles(Systems systems, std::string_view name = "athanor");

}  // namespace athanor
