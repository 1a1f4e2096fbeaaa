// SPDX-License-Identifier: Apache-2.0
// Webhooks of systems as steps of the lab's own admission: asked in process, without HTTPS.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "embedded/apiserver/admission.hpp"
#include "kube/value.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::lab {

// One step for each webhook. A webhook reads the store as it is, and `config` by section.
std::vector<apiserver::AdmissionStep> webhook_steps(
    const std::vector<Webhook>& webhooks, const std::map<std::string, Value, std::less<>>& config);

}  // namespace athanor::lab
