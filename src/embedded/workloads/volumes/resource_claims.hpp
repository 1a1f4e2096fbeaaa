// SPDX-License-Identifier: Apache-2.0
// resourceclaim-controller: claims of devices that pods ask for by template, and who holds a claim.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Makes the claims of a pod's templates and writes their names into the pod.
const Operator& pod_resource_claim_operator();
// Takes pods that are over out of a claim's reservedFor; a claim of a pod's own goes with it.
const Operator& resource_claim_operator();

}  // namespace athanor::workloads
