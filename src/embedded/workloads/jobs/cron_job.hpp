// SPDX-License-Identifier: Apache-2.0
// The CronJob controller: makes jobs when their time has come.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Reads the bytes of spec.timeZone from the observation "timezone:<name>": {"tzif": base64}; an
// error means that there is no such zone. No zone: UTC.
const Operator& cron_job_operator();

}  // namespace athanor::workloads
