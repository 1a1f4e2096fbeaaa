// SPDX-License-Identifier: Apache-2.0
// certificatesigningrequest-*: kubelets' requests approved, approved ones signed, old ones removed.
// The cryptography is asked of the outside world: "certificate-request:" and "certificate:".
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

const Operator& certificate_approving_operator();
const Operator& certificate_signing_operator();
const Operator& certificate_cleaner_operator();

}  // namespace athanor::workloads
