// SPDX-License-Identifier: Apache-2.0
// Kueue's own configuration (docs/spec/kueue.md 12): the text of `controller_manager_config.yaml`,
// from a file or from ConfigMap kueue-manager-config, as settings of the engine. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

inline constexpr std::string_view kConfigurationNamespace = "kueue-system";
inline constexpr std::string_view kConfigurationName = "kueue-manager-config";
inline constexpr std::string_view kConfigurationKey = "controller_manager_config.yaml";

// The section of settings (settings.hpp, and member `integrations`) that `base` becomes by the
// configuration. Errors name the line: `line 7: unknown field "waitForPodsReady.timout"`.
Result<Value> apply_configuration(const Value& base, std::string_view text);

// The settings that hold now: view.config("kueue"), and the ConfigMap on top of it while that can
// be read. Reads a ConfigMap.
Value configured_section(const View& view);

// Tells by an event on the ConfigMap what is wrong in it.
const Operator& configuration_operator();

}  // namespace athanor::kueue
