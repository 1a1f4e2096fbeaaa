// SPDX-License-Identifier: Apache-2.0
// Volumes of a sandbox: what each holds, resolved through the view.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Returns every volume of the pod in the form of sandbox_spec.hpp; what is missing goes to
// `problems` in a kubelet's words.
Value sandbox_volumes(const View& view, const Object& pod, std::vector<std::string>& problems);

// Returns a digest of the contents of such volumes; empty: none has any.
std::string volumes_digest(const Value& volumes);

}  // namespace athanor::nodes
