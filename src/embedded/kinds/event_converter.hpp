// SPDX-License-Identifier: Apache-2.0
// Core events and events.k8s.io events are one store in the core form (docs/spec/apiserver.md
// 14.1).
#pragma once

#include "embedded/kinds/converter.hpp"

namespace athanor::apiserver {

// Converts between "v1" (stored) and "events.k8s.io/v1"; versions are whole apiVersions.
const Converter& event_converter();

}  // namespace athanor::apiserver
