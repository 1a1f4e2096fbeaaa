// SPDX-License-Identifier: Apache-2.0
// What is said of kinds without an integration (docs/spec/kueue.md 1). Pure.
#pragma once

#include <span>
#include <string>

#include "kube/value/kind.hpp"

namespace athanor::kueue::jobs {

// Returns Deployment, StatefulSet and LeaderWorkerSet.
std::span<const Kind* const> unsupported_kinds();
// Returns the note of event UnsupportedIntegration about an object of the kind.
std::string unsupported_text(const Kind& kind);

}  // namespace athanor::kueue::jobs
