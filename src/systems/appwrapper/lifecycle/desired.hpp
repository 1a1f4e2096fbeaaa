// SPDX-License-Identifier: Apache-2.0
// The object that is created for a component (docs/spec/appwrapper.md 5.4, 5.5). Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Returns the template of component `index` with namespace, label, owner reference, and what
// admission and settings add to its pod templates. Errors are final: the text says why the
// template cannot be created.
Result<Value> desired_object(const AppWrapper& app, std::size_t index,
                             const std::vector<PodSet>& pod_sets, const Settings& settings);

// Returns true if the pods of the AppWrapper are scheduled together (B-8).
bool is_gang(const AppWrapper& app);
// Returns the PodGroup of a gang, owned by the AppWrapper.
Value pod_group_object(const AppWrapper& app, std::int64_t expected_pods);

}  // namespace athanor::appwrapper
