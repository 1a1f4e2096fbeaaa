// SPDX-License-Identifier: Apache-2.0
// The operators of the admission cycle: what they read and what they need not run for.
#include "embedded/kueue/cycle/scheduler.hpp"

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/cycle.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/requests.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

Plan reconcile(const View& view, const Key& /*key*/, Instant now) {
  return run_cycle(view, now, WaitMessages::Current);
}

Plan reconcile_with_first_messages(const View& view, const Key& /*key*/, Instant now) {
  return run_cycle(view, now, WaitMessages::FirstOnly);
}

// Whether a workload takes part neither before nor after, or holds the same quota and is preempted
// in the same turn.
bool takes_same_part(const Object& before, const Object& after) {
  if (is_waiting(before) || is_waiting(after)) {
    return false;
  }
  const bool held = holds_quota(before);
  return held == holds_quota(after) &&
         (!held || (before.status()["admission"] == after.status()["admission"] &&
                    before.status()["reclaimablePods"] == after.status()["reclaimablePods"] &&
                    before.spec()["priority"] == after.spec()["priority"] &&
                    is_evicted(before) == is_evicted(after)));
}

bool overlooks(const Kind& kind, const Object& before, const Object& after) {
  if (&kind == &api::kueue::kWorkload) {
    return takes_same_part(before, after);
  }
  if (&kind == &api::kNamespace) {
    return before.metadata()["labels"] == after.metadata()["labels"];
  }
  if (&kind == &api::kConfigMap) {
    return before.body()["data"] == after.body()["data"];
  }
  if (&kind == &kRuntimeClass) {
    return before.body()["overhead"] == after.body()["overhead"];
  }
  if (&kind == &api::kLimitRange) {
    return before.spec() == after.spec();
  }
  return makes_same_snapshot(kind, before, after);
}

}  // namespace

const Operator& scheduler_operator() {
  static const Kind* const kReads[] = {&api::kueue::kWorkload,
                                       &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort,
                                       &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck,
                                       &api::kNamespace,
                                       &api::kLimitRange,
                                       &kRuntimeClass,
                                       &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload, &api::kEvent};
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch", "status"},
                                   {&api::kEvent, "create patch"}};
  static const Kind* const kSmall[] = {&api::kueue::kClusterQueue, &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort, &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck};
  static const Index kIndexes[] = {waiting_index(), reserved_index(), not_ready_index()};
  static const Operator kOperator{.name = "kueue-admission",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .singleton = true,
                                  .sees_all = true,
                                  .independent_steps = true,
                                  .overlooks = overlooks,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

const Operator& trace_scheduler_operator() {
  static const Operator kOperator = [] {
    Operator op = scheduler_operator();
    op.reconcile = reconcile_with_first_messages;
    return op;
  }();
  return kOperator;
}

}  // namespace athanor::kueue
