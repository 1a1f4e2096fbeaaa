// SPDX-License-Identifier: Apache-2.0
// Which parts of the console a cluster has objects for (docs/spec/dashboard.md B2, T12). Pure.
#pragma once

#include <string_view>
#include <vector>

#include "console/model/settings.hpp"
#include "console/world/world.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/rights/rbac.hpp"

namespace athanor::console {

// Returns the kinds that the console follows; those of jobs in the namespaces of the settings.
std::vector<FollowedKind> followed_kinds(const Settings& settings);
// Returns what the console does with its own account where viewers log in: it follows kinds, keeps
// logs of jobs' pods, and asks who a viewer is and may do; all else is done as the viewer.
std::vector<runtime::RbacPart> console_rights(const Settings& settings);
// Returns a kind that pages may show one by one; nullptr: it is none of these.
const Kind* find_shown_kind(std::string_view api_version, std::string_view name);
// Returns [{name, present, reason}].
Value feature_list(const Facts& facts, bool history);

}  // namespace athanor::console
