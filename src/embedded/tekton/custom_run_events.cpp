// SPDX-License-Identifier: Apache-2.0
// The controller of CloudEvents about CustomRuns, whose status other controllers write
// (docs/tekton.md, CloudEvents).
#include <string>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/cloud_events.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/settings.hpp"

namespace athanor::tekton {
namespace {

constexpr Duration kOldEnd = std::chrono::minutes(5);

// Returns true for a run that ended before this process can have begun to watch it: its events
// were sent then.
bool ended_long_ago(const Object& run, Instant now) {
  const auto end = time_of(succeeded(run)["lastTransitionTime"]);
  return is_done(run) && end && *end + kOldEnd < now;
}

Plan reconcile_events(const View& view, const Key& key, Instant now) {
  const Settings settings = read_settings(view);
  const auto run = settings.custom_run_events ? view.get(api::kCustomRun, key) : std::nullopt;
  if (!run || run->deleting() || ended_long_ago(*run, now)) {
    return Plan::done();
  }
  Plan plan;
  report_undelivered(view, plan, *run, settings);
  announce(view, plan, *run, settings, now);
  return plan;
}

}  // namespace

const Operator& custom_run_events_operator() {
  static constexpr const Kind* kReads[] = {&api::kCustomRun, &api::kConfigMap};
  static constexpr Access kAccess[] = {{&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "tekton-customrun-events",
                                  .primary = &api::kCustomRun,
                                  .reads = kReads,
                                  .reconcile = reconcile_events,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::tekton
