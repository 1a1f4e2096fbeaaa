// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps, in their order (spec/apiserver.md 15.1).
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {

std::vector<AdmissionStep> built_in_admission() {
  return {escalation_step()};
}

}  // namespace athanor::apiserver
