// SPDX-License-Identifier: Apache-2.0
// The admission step ValidatingAdmissionPolicy (docs/spec/apiserver.md 15.3).
#pragma once

#include "embedded/apiserver/admission/admission.hpp"

namespace athanor::apiserver {

AdmissionStep validating_policy_step();

}  // namespace athanor::apiserver
