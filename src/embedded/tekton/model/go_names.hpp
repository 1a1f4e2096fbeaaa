// SPDX-License-Identifier: Apache-2.0
// Names of fields as Go's JSON reads them: without regard to case. Tekton's programs are in Go, so
// `mountpath` in an inline spec works there, where no schema of the API server is in the way.
#pragma once

#include "kube/value/value.hpp"

namespace athanor::tekton {

// Renames the fields below a spec of a Tekton kind to their declared spelling. Keys of maps
// (labels, params, limits) and of specs of other kinds stay.
void use_declared_names(Value& spec);

}  // namespace athanor::tekton
