// SPDX-License-Identifier: Apache-2.0
// Workloads whose job is gone: their quota is free (docs/spec/kueue.md 6.2, 9).
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
  for (const OwnerReference& owner : workload->owners()) {
    const Kind* kind = kind_of(owner);
    if (kind == nullptr) {
      continue;
    }
    ours = true;
    const auto job = view.get(*kind, {key.ns, owner.name});
    if (job && job->uid() == owner.uid) {
      return Plan::done();
    }
  }
  // One whose job was deleted without it has no owner any more, and the label of that job.
  const bool orphaned = workload->owners().empty() && !workload->label(name::kJobUid).empty();
  if (!ours && !orphaned) {
    return Plan::done();
  }
  Plan plan;
  const Instant certain = workload->creation_time().value_or(now) + kCertain;
  if (workload->deleting()) {
    drop_finalizer(plan, api::kueue::kWorkload, *workload, api::kueue::kInUseFinalizer);
  } else if (ours && now < certain) {
    plan.wake_at(now + kLookAgain);  // the garbage collector deletes it
  } else {
    if (!says(*workload, "Finished")) {
      write_finished(plan, *workload, "OwnerNotFound", "The workload's owner no longer exists",
                     now);
    }
    drop_finalizer(plan, api::kueue::kWorkload, *workload, api::kueue::kInUseFinalizer);
  }
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
