// SPDX-License-Identifier: Apache-2.0
// The configuration objects of namespace tekton-pipelines (docs/spec/tekton.md 14): what is there
// after the start, and which changes are refused.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// The namespace, config-defaults and feature-flags, with their documented values.
std::vector<Value> config_objects();

// The denial of a wrong value in one of these ConfigMaps (400, `admission webhook
// "config.webhook.pipeline.tekton.dev" denied the request: validation failed: …`); nullopt for
// every other object.
std::optional<Error> validate_config(const Value& object);

}  // namespace athanor::tekton
