// SPDX-License-Identifier: Apache-2.0
// Why a pod that waits for long can never start (docs/spec/tekton.md 17, early diagnosis).
#pragma once

#include <optional>
#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// Returns `MountVolume.SetUp failed for volume "<v>" : secret "<s>" not found` of the first volume
// whose source is missing and not optional, or nullopt.
std::optional<std::string> startup_problem(const View& view, const Object& pod);

}  // namespace athanor::tekton
