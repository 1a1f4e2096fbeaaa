// SPDX-License-Identifier: Apache-2.0
// Webhooks of systems as steps of the embedded server's admission: asked in process, on the store
// as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "embedded/apiserver/admission.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::lab {

// One step for each webhook, in their order. `config` is what View::config answers. Rights
// ("subject-access:<spec>") are answered by the server's authorizer; other questions are not.
std::vector<apiserver::AdmissionStep> webhook_steps(
    const std::vector<Webhook>& webhooks, const std::map<std::string, Value, std::less<>>& config);

}  // namespace athanor::lab
