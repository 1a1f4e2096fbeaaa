// SPDX-License-Identifier: Apache-2.0
// What is said of kinds without an integration (docs/spec/kueue.md 1). Pure.
#pragma once

#include <span>
#include <string>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue::jobs {

// Returns the kinds: built-in ones, and those of other projects.
std::span<const Kind* const> unsupported_kinds();
// Returns true if a queue label on the object has no effect. A ReplicaSet of a Deployment has the
// labels of its pods.
bool is_unsupported(const Kind& kind, const Object& object);
// Returns the note of event UnsupportedIntegration about an object of the kind.
std::string unsupported_text(const Kind& kind);

}  // namespace athanor::kueue::jobs
