// SPDX-License-Identifier: Apache-2.0
// Kueue's own configuration (docs/spec/kueue.md 12): the text of `controller_manager_config.yaml`,
// from a file or from ConfigMap kueue-manager-config, as settings of the embedded engine and of
// integrations beside it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::api::kueue {

// The section of the settings that it lies on top of.
inline constexpr std::string_view kConfigurationSection = "kueue";
inline constexpr std::string_view kConfigurationNamespace = "kueue-system";
inline constexpr std::string_view kConfigurationName = "kueue-manager-config";
inline constexpr std::string_view kConfigurationKey = "controller_manager_config.yaml";

// A member of the section: transformations of systems, which hold beside those that a configuration
// names (its own win).
inline constexpr std::string_view kSystemTransformations = "systemTransformations";

inline constexpr std::string_view kPodFramework = "pod";
inline constexpr std::string_view kAppWrapperFramework = "workload.codeflare.dev/appwrapper";
// Returns every framework that is integrated, sorted.
std::span<const std::string_view> known_frameworks();

// Returns what is wrong with a list of transformations; empty: nothing.
std::string wrong_transformations(const Value& value);

// What a configuration says.
struct Configuration {
  Value section{};                      // of settings, and member `integrations`
  std::vector<std::string> warnings{};  // a sentence for each group of fields without effect
};
// Reads a configuration on top of `base`. Errors name the line:
// `line 7: unknown field "waitForPodsReady.timout"`.
Result<Configuration> read_configuration(const Value& base, std::string_view text);
// Returns the section of read_configuration() without the warnings.
Result<Value> apply_configuration(const Value& base, std::string_view text);

// Returns `section` with what the ConfigMap says on top of it, or as it is where `config_map` is
// Null or cannot be read.
Value configured_by(const Value& section, const Value& config_map);
// Returns the key of the ConfigMap.
Key configuration_map();

}  // namespace athanor::api::kueue
