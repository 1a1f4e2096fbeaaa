// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/webhook_results.hpp"

#include <string>

namespace athanor {

void count_result(Metrics& metrics, const Webhook& webhook, const Verdict& verdict) {
  if (webhook.result_metric.empty()) {
    return;
  }
  const char* const result = !verdict.allowed          ? "denied"
                             : verdict.patch.is_null() ? "unchanged"
                                                       : "mutated";
  metrics
      .counter(std::string(webhook.result_metric), "Answers of the webhook, by result.",
               {{"result", result}})
      .add();
}

}  // namespace athanor
