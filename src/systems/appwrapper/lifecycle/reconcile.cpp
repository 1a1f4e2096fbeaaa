// SPDX-License-Identifier: Apache-2.0
// The AppWrapper controller: guards, then the rows of the phase (docs/spec/appwrapper.md 5).
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/builtin.hpp"
#include "runtime/view/any_kind.hpp"
#include "systems/appwrapper/lifecycle/components.hpp"
#include "systems/appwrapper/lifecycle/phases.hpp"
#include "systems/appwrapper/model/managed.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/operators.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

namespace athanor::appwrapper {
namespace {

using PhasePlan = Plan (*)(const Context& context);
constexpr std::pair<std::string_view, PhasePlan> kPhases[] = {
    {"", run_new},
    {phase::kSuspended, run_suspended},
    {phase::kResuming, run_resuming},
    {phase::kRunning, run_running},
    {phase::kResetting, run_resetting},
    {phase::kSuspending, run_suspending},
    {phase::kFailed, run_failed},
    {phase::kSucceeded, run_succeeded},
};

// Returns true if the plan writes another phase than there is.
bool enters_phase(const Plan& plan, const AppWrapper& app) {
  return std::ranges::any_of(plan.steps(), [&](const Step& step) {
    const auto* status = std::get_if<Status>(&step);
    return status != nullptr && status->status["phase"].as_string() != app.status.phase;
  });
}

// Warns of each malformed annotation (6.2) at each new phase: the engine logs such an Event when it
// is the first of its text. A run that enters none repeats no warning.
void warn_of_malformed(const Context& context, Plan& plan) {
  if (!enters_phase(plan, context.app)) {
    return;
  }
  for (std::string& note :
       malformed_annotations(context.object(), context.settings.fault_tolerance)) {
    Emit event = context.event("MalformedAnnotation", std::move(note));
    event.type = "Warning";
    plan.then(std::move(event));
  }
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto app = view.get<AppWrapper>(key);
  if (!app || !is_managed_here(*app)) {
    return Plan::done();
  }
  const Settings settings = settings_of(view);
  const Context context{.view = view,
                        .settings = settings,
                        .app = *app,
                        .limits = limits_of(app->object, settings.fault_tolerance),
                        .pod_sets = pod_sets_of(*app),
                        .now = now};
  if (app->object.deleting()) {
    return run_deleting(context);
  }
  for (const auto& [phase, run] : kPhases) {
    if (app->status.phase == phase) {
      Plan plan = run(context);
      warn_of_malformed(context, plan);
      return plan;
    }
  }
  return Plan::done();
}

std::vector<const Kind*> touched(std::initializer_list<const Kind*> others) {
  std::vector<const Kind*> kinds(others);
  kinds.insert(kinds.end(), wrapped_kinds().begin(), wrapped_kinds().end());
  return kinds;
}

}  // namespace

const Operator& appwrapper_operator() {
  static const std::vector<const Kind*> kReads =
      touched({&kAppWrapper, &api::kNode, &api::kCustomResourceDefinition});
  static const std::vector<const Kind*> kWrites = touched({&kAppWrapper, &api::kEvent, &kAnyKind});
  static const std::vector<Access> kAccess = [] {
    std::vector<Access> access{
        {&kAppWrapper, "get patch delete"},     {&kAppWrapper, "patch", "status"},
        {&kAppWrapper, "update", "finalizers"}, {&api::kEvent, "create patch"},
        {&kSubjectAccessReview, "create"},  // its webhook asks
        {&kAnyKind, "get list create delete"}};
    for (const Kind* kind : wrapped_kinds()) {
      access.push_back({kind, "get create delete"});
    }
    return access;
  }();
  static const Kind* const kSmall[] = {&api::kCustomResourceDefinition};
  static const Index kIndexes[] = {pod_index()};
  static const Operator kOperator{.name = "appwrapper",
                                  .primary = &kAppWrapper,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .small = kSmall,
                                  .access = kAccess,
                                  .event_source = "appwrappers"};
  return kOperator;
}

}  // namespace athanor::appwrapper
