// SPDX-License-Identifier: Apache-2.0
// The MachineConfig with the exporter's SELinux policy (docs/spec/numa.md 6.4).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/operator/node_groups.hpp"

namespace athanor::numa {

// Returns "51-numaresourcesoperator-<pool>".
std::string machine_config_name(std::string_view pool);
// Creates the pool's MachineConfig where its group asks for it, deletes it elsewhere. Returns true
// once the pool has taken that over. Errors: the pool would not select it.
Result<bool> sync_machine_config(const View& view, const Object& owner, const Pool& pool,
                                 Plan& plan);

}  // namespace athanor::numa
