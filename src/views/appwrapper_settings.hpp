// SPDX-License-Identifier: Apache-2.0
// Settings of the AppWrapper controller as its ConfigMap has them (docs/spec/appwrapper.md 8.2).
#pragma once

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::views {

// Returns the settings in a ConfigMap with one data key. Errors name what is wrong.
Result<appwrapper::FaultTolerance> fault_tolerance_in(const Value& config_map);

}  // namespace athanor::views
