// SPDX-License-Identifier: Apache-2.0
// The configuration objects of namespace tekton-pipelines (docs/spec/tekton.md 14): what is there
// after the start, which changes are refused, and which have no effect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns the namespace, config-defaults and feature-flags, with their documented values, or those
// that section "tekton" of the settings has in their place.
std::vector<Value> config_objects(const Value& section = {});

// Returns the denial of a wrong value in one of these ConfigMaps (400, `admission webhook
// "config.webhook.pipeline.tekton.dev" denied the request: validation failed: …`); nullopt for
// every other object.
std::optional<Error> validate_config(const Value& object);
// Returns one sentence for every key of these ConfigMaps, and for every other ConfigMap of the
// namespace, that this engine does not read: what is written there has no effect.
std::vector<std::string> config_warnings(const Value& object);

}  // namespace athanor::tekton
