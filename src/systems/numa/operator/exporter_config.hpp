// SPDX-License-Identifier: Apache-2.0
// The exporter's ConfigMap of one pool (docs/spec/numa.md 7).
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"

namespace athanor::numa {

// Returns what is wrong with a kubelet's configuration, where the exporter needs it.
std::optional<Error> kubelet_error(const Value& kubelet);

// Makes it without owner. `kubelet` is a kubelet's configuration.
Value exporter_config_map(const Settings& settings, const std::string& pool, const Value& kubelet,
                          const OperatorSpec& spec);

}  // namespace athanor::numa
