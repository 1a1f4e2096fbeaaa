// SPDX-License-Identifier: Apache-2.0
// The Job controller (batch/v1): runs pods until enough of them have succeeded.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Handles jobs with spec.managedBy unset or kubernetes.io/job-controller. Counts each pod once,
// through the finalizer batch.kubernetes.io/job-tracking.
const Operator& job_operator();
// Releases pods of Jobs that are gone.
const Operator& job_orphan_operator();
// Deletes finished jobs after spec.ttlSecondsAfterFinished.
const Operator& ttl_after_finished_operator();

}  // namespace athanor::workloads
