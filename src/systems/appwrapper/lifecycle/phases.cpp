// SPDX-License-Identifier: Apache-2.0
// All phases but Running.
#include "systems/appwrapper/lifecycle/phases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "kube/value/condition.hpp"
#include "systems/appwrapper/lifecycle/creation.hpp"
#include "systems/appwrapper/lifecycle/removal.hpp"
#include "systems/appwrapper/model/names.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kSuspendFalse = "Suspend is false";
constexpr std::string_view kSuspendTrue = "Suspend is true";
// Resuming stays visible for so long before the first object is created (5.3): afterwards pods may
// run at any moment, and the phase says Running then.
constexpr Duration kShownResuming = std::chrono::milliseconds(100);
constexpr Duration kCreateAgain = std::chrono::seconds(1);

Plan patch_finalizers(const Context& context, Value finalizers) {
  Plan plan;
  plan.then(Patch{.target = context.ref(),
                  .merge = Value::object(
                      {{"metadata", Value::object({{"finalizers", std::move(finalizers)}})}}),
                  .guard = {.uid = std::string(context.object().uid()),
                            .resource_version = std::string(context.object().resource_version())}});
  return plan;
}

Plan add_finalizer(const Context& context) {
  if (context.object().has_finalizer(name::kFinalizer)) {
    return Plan::done();
  }
  Value finalizers = context.object().metadata()["finalizers"];
  finalizers.push_back(name::kFinalizer);
  return patch_finalizers(context, std::move(finalizers));
}

Plan drop_finalizer(const Context& context) {
  if (!context.object().has_finalizer(name::kFinalizer)) {
    return Plan::done();
  }
  Value kept = Value::list();
  for (const Value& finalizer : context.object().metadata()["finalizers"].items()) {
    if (finalizer.as_string() != name::kFinalizer) {
      kept.push_back(finalizer);
    }
  }
  return patch_finalizers(context, std::move(kept));
}

Plan written(const StatusEdit& edit, Plan rest = Plan::done()) {
  Plan plan;
  plan.then(edit.step());
  plan.merge(std::move(rest));
  return plan;
}

// The removal is over or was over before.
bool is_removed(const Context& context, StatusEdit& edit, Plan& deletes) {
  return !context.is(condition::kResourcesDeployed) || remove_components(context, edit, deletes);
}

// Kueue started it, or is to: some are queued without a queue's name of their own.
bool was_queued(const Context& context) {
  return !context.object().label(name::kQueueName).empty() ||
         std::ranges::any_of(context.app.spec.components,
                             [](const Component& one) { return one.pod_set_infos.size() > 0; });
}

// B-19: an annotation with a new value queues a failed AppWrapper again.
Plan retry(const Context& context) {
  const std::string wish(context.object().annotation(std::string(name::kAnnotationPrefix) +
                                                     std::string(annotation::kRetry)));
  const Value& handled = find_condition(context.app.status.conditions, condition::kRetried);
  if (wish.empty() || handled["message"].as_string() == wish) {
    return Plan::done();
  }
  StatusEdit edit(context);
  edit.forget()
      .set(condition::kRetried, true, "Annotation", wish)
      .clear(condition::kUnhealthy, "Suspended")
      .enter(phase::kSuspended);
  Plan plan;
  if (was_queued(context)) {
    plan.then(Patch{.target = context.ref(),
                    .merge = Value::object({{"spec", Value::object({{"suspend", true}})}}),
                    .guard = {.uid = std::string(context.object().uid())}});
  }
  plan.then(edit.step());
  return plan;
}

// B-4: the AppWrapper itself goes after its objects.
Plan end_of_ttl(const Context& context) {
  Plan plan;
  if (context.settings.fault_tolerance.delete_after_success) {
    plan.then(
        Delete{.target = context.ref(), .guard = {.uid = std::string(context.object().uid())}});
  }
  return plan;
}

Plan create_failed(const Context& context, StatusEdit& edit, const std::string& error, bool fatal) {
  const std::string message = fmt::format("error creating components: {}", error);
  edit.set(condition::kUnhealthy, true, "CreateFailed", message);
  Plan plan;
  if (fatal) {
    edit.enter(phase::kFailed);
    plan.then(edit.step());
  } else {
    reset_or_fail(context, edit, {}, plan);
  }
  plan.then(unhealthy_event(context, "CreateFailed", message));
  return plan;
}

}  // namespace

Emit unhealthy_event(const Context& context, std::string_view reason, const std::string& message) {
  return context.event("Unhealthy", fmt::format("{}: {}", reason, message));
}

void reset_or_fail(const Context& context, StatusEdit& edit, Failure failure, Plan& plan) {
  if (!failure.terminal && context.app.status.resetting_count < context.limits.retry_limit) {
    edit.count_reset(failure.counts).enter(phase::kResetting);
  } else {
    edit.enter(phase::kFailed);
  }
  plan.then(edit.step());
}

Plan begin_suspending(const Context& context, StatusEdit& edit) {
  edit.enter(phase::kSuspending);
  Plan plan = written(edit);
  plan.then(context.event("Suspending", fmt::format("Externally suspended while in the {} phase",
                                                    context.app.status.phase)));
  return plan;
}

Plan run_new(const Context& context) {
  return written(StatusEdit(context).enter(phase::kSuspended));
}

Plan run_suspended(const Context& context) {
  if (context.app.spec.suspend) {
    return Plan::done();
  }
  StatusEdit edit(context);
  edit.set(condition::kQuotaReserved, true, "Resuming", kSuspendFalse)
      .set(condition::kResourcesDeployed, true, "Resuming", kSuspendFalse)
      .set(condition::kPodsReady, false, "Resuming", kSuspendFalse)
      .set(condition::kUnhealthy, false, "Resuming", kSuspendFalse)
      .enter(phase::kResuming);
  Plan plan = add_finalizer(context);
  plan.then(edit.step());
  return plan;
}

Plan run_resuming(const Context& context) {
  StatusEdit edit(context);
  if (context.app.spec.suspend) {
    return begin_suspending(context, edit);
  }
  const Instant shown = context.entered(condition::kResourcesDeployed) + kShownResuming;
  if (context.now < shown) {
    Plan plan;
    plan.wake_at(shown);
    return plan;
  }
  Creation creation = create_components(context, edit);
  switch (creation.state) {
    case Creation::State::Done:
      return written(edit.enter(phase::kRunning));
    case Creation::State::Working:
      return std::move(creation.plan);
    case Creation::State::Waiting: {
      const Instant limit =
          context.changed_at(condition::kResourcesDeployed).value_or(context.now) +
          context.limits.admission_grace;
      if (!creation.error.empty() && context.now >= limit) {
        return create_failed(context, edit, creation.error, false);
      }
      Plan plan = std::move(creation.plan);
      const Instant again = context.now + kCreateAgain;
      plan.wake_at(context.now < limit ? std::min(again, limit) : again);
      return plan;
    }
    case Creation::State::Fatal:
      return create_failed(context, edit, creation.error, true);
  }
  return Plan::done();
}

Plan run_resetting(const Context& context) {
  StatusEdit edit(context);
  if (context.app.spec.suspend) {
    return begin_suspending(context, edit);
  }
  edit.clear(condition::kPodsReady, "Resetting");
  Plan deletes;
  if (!is_removed(context, edit, deletes)) {
    return written(edit, std::move(deletes));
  }
  if (context.is(condition::kResourcesDeployed)) {
    edit.set(condition::kResourcesDeployed, false, "Resetting",
             "Resources deleted for resetting AppWrapper");
    return written(edit);
  }
  const Instant over = context.entered(condition::kUnhealthy) + context.limits.retry_pause;
  if (context.now < over) {
    Plan plan = written(edit);
    plan.wake_at(over);
    return plan;
  }
  return written(
      edit.set(condition::kResourcesDeployed, true, "Resuming", "Reset complete; resuming")
          .enter(phase::kResuming));
}

Plan run_suspending(const Context& context) {
  StatusEdit edit(context);
  Plan deletes;
  if (!is_removed(context, edit, deletes)) {
    return written(edit, std::move(deletes));
  }
  return written(edit.set(condition::kResourcesDeployed, false, "Suspended", kSuspendTrue)
                     .set(condition::kQuotaReserved, false, "Suspended", kSuspendTrue)
                     .clear(condition::kPodsReady, "Suspended")
                     .clear(condition::kUnhealthy, "Suspended")
                     .enter(phase::kSuspended));
}

Plan run_failed(const Context& context) {
  if (!context.is(condition::kResourcesDeployed) && !context.is(condition::kQuotaReserved)) {
    return retry(context);
  }
  StatusEdit edit(context);
  const Duration delay = context.limits.deletion_on_failure;
  const Instant until = context.entered(condition::kUnhealthy) + delay;
  if (delay > Duration::zero() && !context.app.spec.suspend && context.now < until) {
    edit.set(condition::kDeletingResources, false, "DeletionPaused",
             fmt::format("{}{} has value {}", name::kAnnotationPrefix,
                         annotation::kDeletionOnFailure, format_go_duration(delay)));
    Plan plan = written(edit);
    plan.wake_at(until);
    return plan;
  }
  Plan deletes;
  if (!is_removed(context, edit, deletes)) {
    return written(edit, std::move(deletes));
  }
  const bool forced = delay > Duration::zero() && context.app.spec.suspend;
  return written(edit.set(condition::kResourcesDeployed, false, "Failed",
                          forced ? "Kueue forced resource deletion by suspending AppWrapper"
                                 : "Resources deleted for failed AppWrapper")
                     .set(condition::kQuotaReserved, false, "Failed", "No resources deployed"));
}

Plan run_succeeded(const Context& context) {
  if (!context.is(condition::kResourcesDeployed)) {
    return end_of_ttl(context);
  }
  const Instant over = context.entered(condition::kQuotaReserved) + context.limits.success_ttl;
  if (context.now < over) {
    Plan plan;
    plan.wake_at(over);
    return plan;
  }
  StatusEdit edit(context);
  Plan deletes;
  if (!remove_components(context, edit, deletes)) {
    return written(edit, std::move(deletes));
  }
  edit.set(condition::kResourcesDeployed, false, "Succeeded",
           fmt::format("Time to live after success of {} expired",
                       format_go_duration(context.limits.success_ttl)));
  return written(edit, end_of_ttl(context));
}

Plan run_deleting(const Context& context) {
  if (!context.is(condition::kResourcesDeployed)) {
    return drop_finalizer(context);
  }
  StatusEdit edit(context);
  Plan deletes;
  if (!remove_components(context, edit, deletes)) {
    if (context.app.status.phase != phase::kTerminating) {
      edit.enter(phase::kTerminating);
    }
    return written(edit, std::move(deletes));
  }
  edit.set(condition::kResourcesDeployed, false, "Terminating", "Resources successfully deleted")
      .clear(condition::kQuotaReserved, "Terminating", "No resources deployed");
  return written(edit);
}

}  // namespace athanor::appwrapper
