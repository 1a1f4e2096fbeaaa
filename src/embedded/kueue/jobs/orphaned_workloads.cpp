// SPDX-License-Identifier: Apache-2.0
// Workloads whose job is gone or being deleted: their quota is free (docs/spec/kueue.md 6.2, 9). A
// deletion in the foreground waits for the Workload, so the Workload never waits for it.
#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"

namespace athanor::kueue::jobs {
namespace {

constexpr Duration kLookAgain = std::chrono::seconds(1);
// The list of jobs may be a moment older than that of Workloads: a younger Workload's job may only
// not be seen yet.
constexpr Duration kCertain = std::chrono::seconds(60);

// The integrated kind of an owner; nullptr: none of ours. AppWrappers have an integration of their
// own.
const Kind* kind_of(const OwnerReference& owner) {
  static constexpr const Kind* kKinds[] = {&api::kJob,   &api::kPod,   &kJobSet,
                                           &kPyTorchJob, &kRayCluster, &kRayJob};
  const auto* const found = std::ranges::find_if(kKinds, [&](const Kind* one) {
    return one->name == owner.kind && one->api_version() == owner.api_version;
  });
  return found == std::end(kKinds) ? nullptr : *found;
}

Plan release(const View& view, const Key& key, Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  if (!workload || !workload->has_finalizer(api::kueue::kInUseFinalizer)) {
    return Plan::done();
  }
  bool ours = false;
  bool ending = false;
  for (const OwnerReference& owner : workload->owners()) {
    const Kind* kind = kind_of(owner);
    if (kind == nullptr) {
      continue;
    }
    ours = true;
    const auto job = view.get(*kind, {key.ns, owner.name});
    if (!job || job->uid() != owner.uid) {
      continue;
    }
    // A pod runs until its end; its own reconciler waits for that.
    if (kind == &api::kPod || !job->deleting()) {
      return Plan::done();
    }
    ending = true;
  }
  // One whose job was deleted without it has no owner any more, and the label of that job.
  const bool orphaned = workload->owners().empty() && !workload->label(name::kJobUid).empty();
  if (!ours && !orphaned) {
    return Plan::done();
  }
  Plan plan;
  const Instant certain = workload->creation_time().value_or(now) + kCertain;
  if (!workload->deleting() && ours && !ending && now < certain) {
    plan.wake_at(now + kLookAgain);  // the garbage collector deletes it
    return plan;
  }
  if (!workload->deleting() && !says(*workload, "Finished")) {
    write_finished(plan, *workload, "OwnerNotFound", "The workload's owner no longer exists", now);
    return plan;
  }
  drop_finalizer(plan, api::kueue::kWorkload, *workload, api::kueue::kInUseFinalizer);
  return plan;
}

}  // namespace

const Operator& release_operator() {
  static const Kind* const kReads[] = {&api::kueue::kWorkload, &api::kJob,   &api::kPod, &kJobSet,
                                       &kPyTorchJob,           &kRayCluster, &kRayJob};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload};
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch"},
                                   {&api::kueue::kWorkload, "patch", "status"}};
  static const Operator kOperator{.name = "kueue-workload-release",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = release,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue::jobs
