// SPDX-License-Identifier: Apache-2.0
// The phase Running: the checks R1 to R7 in this order, on one snapshot of components and pods.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "kube/value/condition.hpp"
#include "systems/appwrapper/lifecycle/components.hpp"
#include "systems/appwrapper/lifecycle/phases.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/node_health/autopilot.hpp"

namespace athanor::appwrapper {
namespace {

// Upper bounds of the time until the next look, whatever watches show (5.2).
constexpr Duration kOften = std::chrono::seconds(5);
constexpr Duration kRarely = std::chrono::seconds(60);
// Ready pods that end together change the counts of a condition's message in one write: it waits
// for so long after the last end.
constexpr Duration kCountsSettle = std::chrono::seconds(2);

std::string counts_text(const PodCounts& pods) {
  return fmt::format("{} pods pending; {} pods running; {} pods succeeded", pods.pending,
                     pods.running, pods.succeeded);
}

// "map[a:{} b:{}]".
std::string node_map(const std::set<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) {
    text += (text.empty() ? "" : " ") + node + ":{}";
  }
  return "map[" + text + "]";
}

class Running {
 public:
  explicit Running(const Context& context)
      : context_(context), edit_(context), seen_(survey(context)) {}

  Plan run() {
    // A look that the API server did not answer is repeated soon, also where all is ready.
    const bool calm = context_.is(condition::kPodsReady) && !seen_.asked;
    plan_.wake_at(context_.now + (calm ? kRarely : kOften));
    const std::size_t wanted = context_.app.status.component_status.size();
    if (seen_.deployed < wanted) {
      if (seen_.asked) {
        return std::move(plan_);  // the answer runs it again, or the next look asks again
      }
      const std::string message = fmt::format(
          "Only found {} deployed components, but was expecting {}", seen_.deployed, wanted);
      edit_.set(condition::kUnhealthy, true, "MissingComponent", message).enter(phase::kFailed);
      plan_.then(edit_.step());
      plan_.then(unhealthy_event(context_, "MissingComponent", message));
      return std::move(plan_);
    }
    if (seen_.failed_components > 0) {
      const std::string message =
          fmt::format("Found {} failed components", seen_.failed_components);
      return failed("FailedComponent", message);
    }
    if (seen_.succeeded) {
      return succeed();
    }
    if (!seen_.failed_pods.empty()) {
      return failed_pods();
    }
    if (const auto nodes =
            nodes_to_leave(context_.view, seen_.running_pods, context_.settings.autopilot);
        !nodes.empty()) {
      return leave(fmt::format("Workload contains pods using NoExecute resources on Nodes: {}",
                               node_map(nodes)));
    }
    if (context_.settings.autopilot.enabled && context_.settings.autopilot.evacuate_unreachable) {
      const Unreachable lost = unreachable_nodes(context_.view, seen_.running_pods,
                                                 context_.limits.failure_grace, context_.now);
      if (!lost.nodes.empty()) {
        return leave(
            fmt::format("Workload contains pods on unreachable Nodes: {}", node_map(lost.nodes)));
      }
      if (lost.next) {
        plan_.wake_at(*lost.next);
      }
    }
    edit_.clear(condition::kUnhealthy, "FoundNoFailedPods");
    return readiness();
  }

 private:
  // Unhealthy with an event, then a reset.
  Plan failed(std::string_view reason, const std::string& message) {
    edit_.set(condition::kUnhealthy, true, reason, message);
    reset_or_fail(context_, edit_, {.terminal = is_terminal(seen_.failed_pods, context_.limits)},
                  plan_);
    plan_.then(unhealthy_event(context_, reason, message));
    return std::move(plan_);
  }

  Plan succeed() {
    const std::string message = fmt::format(
        "{} pods succeeded and no running, pending, or failed pods", seen_.pods.succeeded);
    edit_.set(condition::kQuotaReserved, false, "Succeeded", message)
        .set(condition::kResourcesDeployed, true, "Succeeded", message)
        .enter(phase::kSucceeded);
    plan_.then(edit_.step());
    return std::move(plan_);
  }

  Plan failed_pods() {
    edit_.set(condition::kUnhealthy, true, "FoundFailedPods");
    // A condition from before this phase does not shorten the grace.
    Instant since = context_.now;
    if (context_.is(condition::kUnhealthy)) {
      since = std::max(context_.changed_at(condition::kUnhealthy).value_or(context_.now),
                       context_.entered(condition::kUnhealthy));
    }
    const Instant over = since + context_.limits.failure_grace;
    if (context_.now < over) {
      plan_.then(edit_.step());
      plan_.wake_at(over);
      return std::move(plan_);
    }
    reset_or_fail(context_, edit_, {.terminal = is_terminal(seen_.failed_pods, context_.limits)},
                  plan_);
    plan_.then(unhealthy_event(context_, "FoundFailedPods",
                               fmt::format("{} failed pods", seen_.failed_pods.size())));
    return std::move(plan_);
  }

  // Its pods must leave their nodes: a reset that is not counted.
  Plan leave(const std::string& message) {
    edit_.set(condition::kUnhealthy, true, "AutopilotNoExecute", message);
    reset_or_fail(context_, edit_, {.counts = 0}, plan_);
    plan_.then(context_.event("Unhealthy", message));
    return std::move(plan_);
  }

  // When pods have to be ready at the latest.
  [[nodiscard]] Instant limit() const {
    const PodCounts& pods = seen_.pods;
    const bool admitted = pods.pending + pods.running + pods.succeeded >= seen_.expected;
    const Instant since = context_.changed_at(condition::kResourcesDeployed).value_or(context_.now);
    const Instant latest =
        since + (admitted ? context_.limits.warmup_grace : context_.limits.admission_grace);
    // B-21: who was ready once gets the time of a warm-up again.
    if (context_.is(condition::kPodsReady)) {
      return std::max(latest, context_.now + context_.limits.warmup_grace);
    }
    const Value& ready = find_condition(context_.app.status.conditions, condition::kPodsReady);
    if (ready["reason"].as_string() == "InsufficientPodsReady") {
      const Instant lost = context_.changed_at(condition::kPodsReady).value_or(context_.now);
      return std::max(latest, lost + context_.limits.warmup_grace);
    }
    return latest;
  }

  Plan readiness() {
    const PodCounts& pods = seen_.pods;
    if (pods.running + pods.succeeded >= seen_.expected) {
      const Instant settled = seen_.last_end ? *seen_.last_end + kCountsSettle : context_.now;
      // An end in the future, by a clock that goes ahead, is not waited for.
      const bool settles = context_.now < settled && settled - context_.now <= kCountsSettle;
      if (context_.is(condition::kPodsReady) && settles) {
        plan_.wake_at(settled);
        plan_.then(edit_.step());
        return std::move(plan_);
      }
      edit_.set(condition::kPodsReady, true, "SufficientPodsReady",
                fmt::format("{} pods running; {} pods succeeded", pods.running, pods.succeeded));
      plan_.then(edit_.step());
      return std::move(plan_);
    }
    const std::string message = counts_text(pods);
    const Instant latest = limit();
    if (context_.now < latest) {
      edit_.clear(condition::kPodsReady, "InsufficientPodsReady", message);
      plan_.then(edit_.step());
      plan_.wake_at(latest);
      return std::move(plan_);
    }
    return failed("InsufficientPodsReady", message);
  }

  const Context& context_;
  StatusEdit edit_;
  Survey seen_;
  Plan plan_{};
};

}  // namespace

Plan run_running(const Context& context) {
  if (context.app.spec.suspend) {
    StatusEdit edit(context);
    return begin_suspending(context, edit);
  }
  return Running(context).run();
}

}  // namespace athanor::appwrapper
