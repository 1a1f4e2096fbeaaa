// SPDX-License-Identifier: Apache-2.0
// The run engine's settings as variables TEKTON_*: of the environment, a lab file or `--set`.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/system.hpp"

namespace athanor::tekton {

// Returns their names.
std::span<const std::string_view> setting_variables();
// Returns section "tekton" as settings_of() reads it. Errors name the variable and the bound.
Result<Value> read_section(const SettingsSource& source);

}  // namespace athanor::tekton
