// SPDX-License-Identifier: Apache-2.0
// Finished jobs go when their time is over.
#include "api/builtin.hpp"
#include "embedded/workloads/jobs/job.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

Plan delete_after_ttl(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto job = view.get(api::kJob, key);
  if (!job || job->deleting() || !job->spec()["ttlSecondsAfterFinished"].is_integer()) {
    return plan;
  }
  for (const char* type : {"Complete", "Failed"}) {
    const Value& condition = find_condition(job->status()["conditions"], type);
    const auto ended = parse_time(condition["lastTransitionTime"].as_string());
    if (condition["status"].as_string() != "True" || !ended) {
      continue;
    }
    const Instant due =
        *ended + std::chrono::seconds(job->spec()["ttlSecondsAfterFinished"].as_int());
    if (due <= now) {
      plan.then(Delete{.target = {&api::kJob, key},
                       .guard = {.uid = std::string(job->uid()),
                                 .resource_version = std::string(job->resource_version())},
                       .mode = Propagation::Foreground});
    } else {
      plan.wake_at(due);
    }
    break;
  }
  return plan;
}

}  // namespace

const Operator& ttl_after_finished_operator() {
  static const Kind* const kKinds[] = {&api::kJob};
  static const Operator kOperator{.name = "ttl-after-finished-controller",
                                  .primary = &api::kJob,
                                  .reads = kKinds,
                                  .writes = kKinds,
                                  .reconcile = delete_after_ttl};
  return kOperator;
}

}  // namespace athanor::workloads
