// SPDX-License-Identifier: Apache-2.0
// A runtime of two: processes where an image's command is known, time elsewhere, and where the
// pod's annotation asks for it (--pods auto).
#pragma once

#include <memory>
#include <string>

#include "embedded/nodes/pod_runtime.hpp"

namespace athanor::nodes {

// Returns true if a pod of sandbox_spec.hpp has the annotation athanor.dev/simulate, or cannot run
// as processes because the command of an image is not known. Without the annotation, steps
// (Tekton's pods) are never timed: their work would count as done.
bool is_timed(const Value& spec);

// Returns why a timed pod is timed, and how to change that; the text of an event.
std::string timed_reason(const Value& spec);

// Makes one of both.
std::unique_ptr<PodRuntime> mixed_runtime(std::unique_ptr<PodRuntime> processes,
                                          std::unique_ptr<PodRuntime> timed);

}  // namespace athanor::nodes
