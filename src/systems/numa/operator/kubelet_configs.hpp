// SPDX-License-Identifier: Apache-2.0
// The KubeletConfig of a MachineConfigPool where several select it.
#pragma once

#include <optional>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::numa {

// Returns true if the KubeletConfig selects the pool and says something.
bool selects(const Object& config, const Object& pool);
// Returns the pool's KubeletConfig: of all that select it the one that precedes the others.
std::optional<Object> kubelet_config_of(const View& view, const Object& pool);

}  // namespace athanor::numa
