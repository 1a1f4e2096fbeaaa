// SPDX-License-Identifier: Apache-2.0
// Kueue's own configuration (docs/spec/kueue.md 12): the text of `controller_manager_config.yaml`,
// from a file or from ConfigMap kueue-manager-config, as settings of the engine. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// The ConfigMap of the configuration, and its key that holds the text.
inline constexpr std::string_view kConfigurationNamespace = "kueue-system";
inline constexpr std::string_view kConfigurationName = "kueue-manager-config";
inline constexpr std::string_view kConfigurationKey = "controller_manager_config.yaml";

// A member of the section: transformations of systems, which hold beside those that a configuration
// names (its own win).
inline constexpr std::string_view kSystemTransformations = "systemTransformations";

// What a configuration says.
struct Configuration {
  Value section{};                      // of settings (settings.hpp, and member `integrations`)
  std::vector<std::string> warnings{};  // a sentence for each group of fields without effect
};
// Reads a configuration on top of `base`. Errors name the line:
// `line 7: unknown field "waitForPodsReady.timout"`.
Result<Configuration> read_configuration(const Value& base, std::string_view text);
// The same without the warnings.
Result<Value> apply_configuration(const Value& base, std::string_view text);

// The settings that hold now: view.config("kueue"), and the ConfigMap on top of it while that can
// be read. Reads a ConfigMap. The webhook refuses one that cannot: what held before stays.
Value configured_section(const View& view);

// Says by an event on the ConfigMap that it is followed and what in it has no effect, or what is
// wrong in it.
const Operator& configuration_operator();

}  // namespace athanor::kueue
