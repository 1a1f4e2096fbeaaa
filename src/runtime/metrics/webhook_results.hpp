// SPDX-License-Identifier: Apache-2.0
// Counts what webhooks answer, on a cluster and in a lab.
#pragma once

#include "runtime/metrics/metrics.hpp"
#include "runtime/view/admission.hpp"

namespace athanor {

// Adds the answer to the webhook's result_metric, if it has one. Thread-safe.
void count_result(Metrics& metrics, const Webhook& webhook, const Verdict& verdict);

}  // namespace athanor
