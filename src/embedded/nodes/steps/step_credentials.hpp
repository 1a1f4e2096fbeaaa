// SPDX-License-Identifier: Apache-2.0
// The files by which git, ssh and docker find the credentials of steps (docs/spec/tekton.md 11),
// made from the Secrets that annotation athanor.dev/credentials of a pod names.
#pragma once

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Returns [{path, data, mode}], paths below HOME, data in base64; empty: the pod asks for none.
Value step_credentials(const View& view, const Object& pod);

}  // namespace athanor::nodes
