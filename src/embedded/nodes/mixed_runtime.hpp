// SPDX-License-Identifier: Apache-2.0
// A runtime of two: processes where an image's command is known, time elsewhere (--pods auto).
#pragma once

#include <memory>

#include "embedded/nodes/pod_runtime.hpp"

namespace athanor::nodes {

// Returns true if a pod of sandbox_spec.hpp cannot run as processes because the command of an image
// is not known. Steps (Tekton's pods) are never timed: their work would count as done.
bool is_timed(const Value& spec);

// Makes one of both.
std::unique_ptr<PodRuntime> mixed_runtime(std::unique_ptr<PodRuntime> processes,
                                          std::unique_ptr<PodRuntime> timed);

}  // namespace athanor::nodes
