// SPDX-License-Identifier: Apache-2.0
// stepTemplate merged under each step (docs/spec/tekton.md 3.4).
#pragma once

#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns the task spec with the template's fields in every step; the step wins; env is merged by
// name, volumeMounts by mountPath, objects member by member.
Value merged_step_template(Value task_spec);

}  // namespace athanor::tekton
