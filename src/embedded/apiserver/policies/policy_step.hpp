// SPDX-License-Identifier: Apache-2.0
// The admission step ValidatingAdmissionPolicy (docs/spec/apiserver.md 15.3).
#pragma once

#include "embedded/apiserver/request/admission.hpp"

namespace athanor::apiserver {

// Returns the step: evaluates every bound policy that matches the request, and denies, warns or
// annotates.
AdmissionStep validating_policy_step();

}  // namespace athanor::apiserver
