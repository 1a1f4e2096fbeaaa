// SPDX-License-Identifier: Apache-2.0
// certificatesigningrequest-*: kubelets' requests approved, approved ones signed, old ones removed.
// The cryptography is asked of the outside world: "certificate-request:" and "certificate:".
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Approves client certificates that kubelets request, their own or by permission of a
// SubjectAccessReview.
const Operator& certificate_approving_operator();
// Issues the certificates of approved requests.
const Operator& certificate_signing_operator();
// Deletes requests 1 hour after their certificate was issued, or they were denied or failed; others
// 24 hours after their creation.
const Operator& certificate_cleaner_operator();

}  // namespace athanor::workloads
