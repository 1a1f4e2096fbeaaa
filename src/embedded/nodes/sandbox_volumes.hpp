// SPDX-License-Identifier: Apache-2.0
// Volumes of a sandbox: what each holds, resolved through the view.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Every volume of the pod in the form of sandbox_spec.hpp; what is missing goes to `problems` as a
// kubelet says it.
Value sandbox_volumes(const View& view, const Object& pod, std::vector<std::string>& problems);

}  // namespace athanor::nodes
