// SPDX-License-Identifier: Apache-2.0
#include "views/appwrapper_view.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"
#include "views/table.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

using appwrapper::AppWrapper;
using appwrapper::Limits;
namespace annotation = appwrapper::annotation;
namespace condition = appwrapper::condition;
namespace phase = appwrapper::phase;

const Value& condition_of(const AppWrapper& app, std::string_view type) {
  return find_condition(app.status.conditions, type);
}

bool is_true(const AppWrapper& app, std::string_view type) {
  return condition_is(app.status.conditions, type, "True");
}

bool belongs(const Object& pod, const Object& app) {
  return pod.ns() == app.ns() && pod.label(appwrapper::name::kLabel) == app.name();
}

bool is_ready(const Object& pod) {
  const std::string_view state = pod.status()["phase"].as_string();
  return state == "Succeeded" || (state == "Running" && !pod.deleting());
}

std::size_t deployed(const AppWrapper& app) {
  return static_cast<std::size_t>(std::ranges::count_if(
      app.status.component_status, [](const appwrapper::ComponentStatus& one) {
        return condition_is(one.conditions, condition::kResourcesDeployed, "True");
      }));
}

// A period that runs now.
struct Timer {
  std::string_view what{};
  std::string_view annotation{};
  std::optional<Instant> since{};
  Duration length{};
};

std::optional<Instant> changed_at(const AppWrapper& app, std::string_view type) {
  return parse_time(condition_of(app, type)["lastTransitionTime"].as_string());
}

bool creation_failed(const AppWrapper& app) {
  return std::ranges::any_of(
      app.status.component_status, [](const appwrapper::ComponentStatus& one) {
        return find_condition(one.conditions, condition::kResourcesDeployed)["reason"] ==
               Value("ComponentCreationErrored");
      });
}

// The end of the wait for pods (docs/spec/appwrapper.md 5.3 R7, B-21).
Timer readiness_timer(const AppWrapper& app, const Limits& limits, std::size_t pods) {
  const auto since = changed_at(app, condition::kResourcesDeployed);
  const auto lost = changed_at(app, condition::kPodsReady);
  const bool all_there =
      static_cast<std::int64_t>(pods) >= appwrapper::expected_pods(appwrapper::pod_sets_of(app));
  const Timer first = all_there ? Timer{"reset unless all pods run", annotation::kWarmupGrace,
                                        since, limits.warmup_grace}
                                : Timer{"reset unless all pods exist", annotation::kAdmissionGrace,
                                        since, limits.admission_grace};
  const bool was_ready =
      condition_of(app, condition::kPodsReady)["reason"].as_string() == "InsufficientPodsReady";
  if (was_ready && lost && since && *lost + limits.warmup_grace > *since + first.length) {
    return {"reset unless all pods run", annotation::kWarmupGrace, lost, limits.warmup_grace};
  }
  return first;
}

// `pods`: those that are pending, running or succeeded.
std::vector<Timer> timers_of(const AppWrapper& app, const Limits& limits, std::size_t pods) {
  const auto entered = changed_at(app, condition::kPhaseChanged);
  const std::string_view now_in = app.status.phase;
  std::vector<Timer> timers;
  if (is_true(app, condition::kDeletingResources)) {
    timers.push_back({"deletion by force", annotation::kForcefulDeletion,
                      changed_at(app, condition::kDeletingResources), limits.forceful_deletion});
  }
  if (now_in == phase::kRunning &&
      condition_of(app, condition::kUnhealthy)["reason"].as_string() == "FoundFailedPods") {
    timers.push_back({"reset for failed pods", annotation::kFailureGrace,
                      changed_at(app, condition::kUnhealthy), limits.failure_grace});
  } else if (now_in == phase::kResuming && creation_failed(app)) {
    timers.push_back({"reset unless all objects are created", annotation::kAdmissionGrace,
                      changed_at(app, condition::kResourcesDeployed), limits.admission_grace});
  } else if (now_in == phase::kRunning && !is_true(app, condition::kPodsReady)) {
    timers.push_back(readiness_timer(app, limits, pods));
  } else if (now_in == phase::kResetting && !is_true(app, condition::kResourcesDeployed)) {
    timers.push_back({"next attempt", annotation::kRetryPause, entered, limits.retry_pause});
  } else if (now_in == phase::kFailed && is_true(app, condition::kResourcesDeployed) &&
             limits.deletion_on_failure > Duration::zero()) {
    timers.push_back({"removal of objects", annotation::kDeletionOnFailure, entered,
                      limits.deletion_on_failure});
  } else if (now_in == phase::kSucceeded && is_true(app, condition::kResourcesDeployed)) {
    timers.push_back({"removal of objects", annotation::kSuccessTtl, entered, limits.success_ttl});
  }
  return timers;
}

std::string timer_line(const AppWrapper& app, const Timer& timer, Instant now) {
  const Duration left =
      timer.since ? std::max(*timer.since + timer.length - now, Duration::zero()) : timer.length;
  const std::string key =
      std::string(appwrapper::name::kAnnotationPrefix) + std::string(timer.annotation);
  const bool set = !app.object.annotation(key).empty();
  return fmt::format("{} in {} ({}{})", timer.what,
                     format_go_duration(std::chrono::duration_cast<std::chrono::seconds>(left)),
                     key, set ? "" : ", default");
}

// What it waits for, or what is wrong with it; empty: nothing.
std::vector<std::string> reasons(const AppWrapperFacts& facts, const AppWrapper& app) {
  std::vector<std::string> lines;
  if (app.status.phase == phase::kSuspended && facts.workload) {
    const Value& reserved = find_condition(facts.workload->status()["conditions"], "QuotaReserved");
    if (reserved["status"].as_string() == "False") {
      lines.push_back(reserved["message"].str());
    }
  } else if (app.status.phase == phase::kSuspended) {
    lines.emplace_back("suspended, and no Workload queues it");
  }
  if (is_true(app, condition::kUnhealthy)) {
    const Value& unhealthy = condition_of(app, condition::kUnhealthy);
    const std::string_view message = unhealthy["message"].as_string();
    lines.push_back(fmt::format("{}{}{}", unhealthy["reason"].as_string(),
                                message.empty() ? "" : ": ", message));
  }
  if (const std::string message = condition_of(app, condition::kDeletingResources)["message"].str();
      !message.empty()) {
    lines.push_back(message);
  }
  return lines;
}

// The component at the top of a pod's chain of controllers: "Kind/name".
std::string top_of(const Object& pod, const std::vector<Object>& owners) {
  Object current = pod;
  for (int depth = 0; depth < 10; ++depth) {
    const auto owner = current.controller();
    if (!owner || owner->kind == appwrapper::kAppWrapper.name) {
      break;
    }
    const auto next =
        std::ranges::find_if(owners, [&](const Object& one) { return one.uid() == owner->uid; });
    if (next == owners.end()) {
      return owner->kind + "/" + owner->name;
    }
    current = *next;
  }
  return fmt::format("{}/{}", current.kind().empty() ? "Pod" : current.kind(), current.name());
}

std::vector<Timer> timers_now(const AppWrapperFacts& facts) {
  const auto counted =
      static_cast<std::size_t>(std::ranges::count_if(facts.pods, [&](const Object& pod) {
        return is_ready(pod) || pod.status()["phase"].as_string() == "Pending";
      }));
  return timers_of(api::read<AppWrapper>(facts.app),
                   appwrapper::limits_of(facts.app, facts.settings), counted);
}

std::string pod_line(const Object& pod, Instant now) {
  const std::string node = pod.spec()["nodeName"].str();
  return fmt::format("    pod {} {}{}{}, {}\n", pod.name(), pod.status()["phase"].as_string(),
                     pod.deleting() ? ", being deleted" : "", node.empty() ? "" : " on " + node,
                     age_text(pod, now));
}

}  // namespace

std::vector<std::string> appwrapper_header(bool with_namespace) {
  std::vector<std::string> header{"NAME", "PHASE", "QUEUE", "COMPONENTS", "PODS", "RETRIES", "AGE"};
  if (with_namespace) {
    header.insert(header.begin(), "NAMESPACE");
  }
  return header;
}

const std::vector<std::string>& appwrapper_phases() {
  static const std::vector<std::string> kPhases{
      std::string(phase::kSuspended),  std::string(phase::kResuming),
      std::string(phase::kRunning),    std::string(phase::kResetting),
      std::string(phase::kSuspending), std::string(phase::kSucceeded),
      std::string(phase::kFailed),     std::string(phase::kTerminating)};
  return kPhases;
}

AppWrapperCounts appwrapper_counts(const Object& object, const std::vector<Object>& pods) {
  const auto app = api::read<AppWrapper>(object);
  return {.deployed = static_cast<std::int64_t>(deployed(app)),
          .components = static_cast<std::int64_t>(app.spec.components.size()),
          .ready = std::ranges::count_if(
              pods, [&](const Object& pod) { return belongs(pod, object) && is_ready(pod); }),
          .expected = appwrapper::expected_pods(appwrapper::pod_sets_of(app))};
}

std::vector<AppWrapperTimer> appwrapper_timers(const AppWrapperFacts& facts) {
  std::vector<AppWrapperTimer> timers;
  for (const Timer& timer : timers_now(facts)) {
    timers.push_back(
        {.what = std::string(timer.what),
         .annotation = std::string(timer.annotation),
         .ends = timer.since ? std::optional(*timer.since + timer.length) : std::nullopt});
  }
  return timers;
}

std::vector<std::string> appwrapper_reasons(const AppWrapperFacts& facts) {
  return reasons(facts, api::read<AppWrapper>(facts.app));
}

std::string appwrapper_component(const Object& pod, const std::vector<Object>& owners) {
  return top_of(pod, owners);
}

std::vector<std::string> appwrapper_row(const Object& object, const AppWrapperListing& listing,
                                        Instant now) {
  const auto app = api::read<AppWrapper>(object);
  const AppWrapperCounts counts = appwrapper_counts(object, listing.pods);
  const std::int64_t limit = appwrapper::limits_of(object, listing.settings).retry_limit;
  const std::int64_t left = std::max<std::int64_t>(0, limit - app.status.resetting_count);
  std::vector<std::string> row;
  if (listing.with_namespace) {
    row.emplace_back(object.ns());
  }
  row.emplace_back(object.name());
  row.push_back(or_dash(app.status.phase));
  row.push_back(or_dash(std::string(object.label(appwrapper::name::kQueueName))));
  row.push_back(fmt::format("{}/{}", counts.deployed, counts.components));
  row.push_back(fmt::format("{}/{}", counts.ready, counts.expected));
  row.push_back(fmt::format("{} left", left));
  row.push_back(age_text(object, now));
  return row;
}

std::string appwrapper_page(const AppWrapperFacts& facts, Instant now) {
  const auto app = api::read<AppWrapper>(facts.app);
  Table table(appwrapper_header(false));
  table.add(appwrapper_row(facts.app, {.pods = facts.pods, .settings = facts.settings}, now));
  std::string page = table.text() + "\n";
  if (facts.workload) {
    page += fmt::format("Workload {}\n", facts.workload->name());
  }
  std::vector<const Object*> strays;
  strays.reserve(facts.pods.size());
  for (const Object& pod : facts.pods) {
    strays.push_back(&pod);
  }
  for (std::size_t i = 0; i < app.status.component_status.size(); ++i) {
    const auto& component = app.status.component_status[i];
    const Value& wanted =
        i < app.spec.components.size() ? app.spec.components[i].template_value : Value();
    const std::string kind = component.kind.empty() ? wanted["kind"].str() : component.kind;
    const std::string name =
        component.name.empty() ? wanted["metadata"]["name"].str() : component.name;
    const Value& state = find_condition(component.conditions, condition::kResourcesDeployed);
    page += fmt::format("  {}/{} {}\n", kind, or_dash(name), or_dash(state["reason"].str()));
    if (!state["message"].as_string().empty()) {
      page += fmt::format("    {}\n", state["message"].as_string());
    }
    const std::string top = fmt::format("{}/{}", kind, name);
    for (const Object& pod : facts.pods) {
      if (top_of(pod, facts.owners) == top) {
        page += pod_line(pod, now);
        std::erase(strays, &pod);
      }
    }
  }
  if (!strays.empty()) {
    page += "  pods of no component\n";
  }
  for (const Object* pod : strays) {
    page += pod_line(*pod, now);
  }
  for (const std::string& reason : reasons(facts, app)) {
    page += fmt::format("Why: {}\n", reason);
  }
  for (const Timer& timer : timers_now(facts)) {
    page += fmt::format("Next: {}\n", timer_line(app, timer, now));
  }
  for (const std::string& warning : appwrapper::annotation_warnings(facts.app, facts.settings)) {
    page += fmt::format("Warning: {}\n", warning);
  }
  return page;
}

}  // namespace athanor::views
