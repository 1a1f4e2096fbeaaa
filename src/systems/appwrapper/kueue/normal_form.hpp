// SPDX-License-Identifier: Apache-2.0
// The reduced pod template of a Workload (docs/spec/appwrapper.md 2.6, B-13). Pure and idempotent.
#pragma once

#include "kube/value/value.hpp"

namespace athanor::appwrapper {

// Returns a template with the fields that decide on quota and placement, and with the API's
// defaults.
Value normal_pod_template(const Value& pod_template);

}  // namespace athanor::appwrapper
