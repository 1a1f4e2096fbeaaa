// SPDX-License-Identifier: Apache-2.0
// Pods of Jobs that are gone. The controller of Jobs has keys of Jobs alone: a Job that went while
// it was down would leave its pods with the tracking finalizer for ever.
#include "api/builtin.hpp"
#include "embedded/workloads/jobs/job.hpp"
#include "embedded/workloads/jobs/job_facts.hpp"
#include "embedded/workloads/jobs/job_pods.hpp"
#include "runtime/view/live.hpp"

namespace athanor::workloads {
namespace {

Plan release_orphan(const View& view, const Key& key, Instant now) {
  const auto pod = view.get(api::kPod, key);
  const auto owner = pod ? pod->controller() : std::nullopt;
  if (!owner || owner->kind != api::kJob.name || !pod->has_finalizer(kTrackingFinalizer)) {
    return Plan::done();
  }
  const Key job{key.ns, owner->name};
  if (const auto there = view.get(api::kJob, job); there && there->uid() == owner->uid) {
    return Plan::done();
  }
  // A cache may not show the Job yet.
  const Live live = read_live(view, api::kJob, job, now, pod->resource_version());
  if (!live.known || (!live.objects.empty() && live.objects.front().uid() == owner->uid)) {
    return Plan::done();
  }
  Plan plan;
  plan.then(untracked(*pod));
  return plan;
}

}  // namespace

const Operator& job_orphan_operator() {
  static const Kind* const kReads[] = {&api::kPod, &api::kJob};
  static const Kind* const kWrites[] = {&api::kPod};
  static const Operator kOperator{.name = "job-orphan-controller",
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = release_orphan};
  return kOperator;
}

}  // namespace athanor::workloads
