// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/webhooks/conditions.hpp"

namespace athanor::apiserver {

StatusResult<bool> conditions_hold(const Hook& /*hook*/, const AdmissionRequest& /*request*/,
                                   const AdmissionContext& /*context*/) {
  return true;
}

}  // namespace athanor::apiserver
