// SPDX-License-Identifier: Apache-2.0
// The params that a binding hands to its policy (docs/spec/apiserver.md 15.3).
#pragma once

#include <string>
#include <vector>

#include "embedded/apiserver/policies/policy.hpp"

namespace athanor::apiserver {

// The param objects, or why there are none.
struct PolicyParams {
  std::vector<Value> found{};  // one Null when the policy takes none
  // Set: "failed to configure policy: ...", "failed to configure binding: ...".
  std::string error{};
  bool of_policy = false;  // the error is the policy's, whatever the binding
  bool pending = false;    // a conversion webhook has to be asked first
};
// Reads the objects that paramRef selects from the store.
PolicyParams collect_params(const Policy& policy, const PolicyBinding& binding,
                            const AdmissionAttributes& request, const AdmissionContext& context);

}  // namespace athanor::apiserver
