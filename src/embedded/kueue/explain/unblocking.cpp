// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/unblocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace athanor::kueue {
namespace {

using Why = Reason::Why;

// The event that ends one reason against a flavor; a selector or a taint ends by itself never.
std::string event_of(const Reason& reason) {
  switch (reason.why) {
    case Why::NoneFree:
      return fmt::format("{} more {} of flavor {} become free",
                         amount_text(reason.resource, reason.limit), reason.resource,
                         reason.flavor);
    case Why::NoCapacity:
      return fmt::format("the quota of {} in flavor {} is raised to {}", reason.resource,
                         reason.flavor,
                         amount_text(reason.resource, reason.earlier + reason.request));
    case Why::NotFound:
      return fmt::format("ResourceFlavor {} is created", reason.flavor);
    case Why::NotCovered:
      return fmt::format("the ClusterQueue covers resource {}", reason.named);
    case Why::Tainted:
    case Why::NoMatch:
      return {};
  }
  return {};
}

// The events of a pod set: all reasons of one flavor must end, one flavor is enough.
std::string pod_set_event(const PodSetAssignment& pod_set) {
  std::map<std::string_view, std::vector<std::string>> by_flavor;
  std::set<std::string_view> scarce;  // that lack nothing but free quota
  std::set<std::string_view> closed;  // that its pods may not use
  for (const Reason& reason : pod_set.reasons) {
    if (reason.why == Why::NoneFree) {
      scarce.insert(reason.flavor);
    }
  }
  for (const Reason& reason : pod_set.reasons) {
    std::string event = event_of(reason);
    if (reason.why != Why::NoneFree) {
      scarce.erase(reason.flavor);
    }
    if (event.empty()) {
      closed.insert(reason.flavor);
    } else {
      by_flavor[reason.flavor].push_back(std::move(event));
    }
  }
  std::vector<std::string> ways;
  for (const auto& [flavor, events] : by_flavor) {
    if (!closed.contains(flavor) && (scarce.empty() || scarce.contains(flavor))) {
      ways.push_back(fmt::format("{}", fmt::join(events, " and ")));
    }
  }
  return ways.empty() ? "the ClusterQueue has quota of a flavor that its pods may use"
                      : fmt::format("{}", fmt::join(ways, ", or "));
}

}  // namespace

std::string requeue_event(std::string_view reason) {
  if (reason == "ClusterQueueStopped" || reason == "LocalQueueStopped") {
    return fmt::format("spec.stopPolicy of its {} becomes None",
                       reason.substr(0, reason.find("Stopped")));
  }
  if (reason == "PodsReadyTimeout" || reason == "AdmissionCheck") {
    return "its back-off ends";
  }
  if (reason.starts_with("Deactivated")) {
    return "spec.active becomes true";
  }
  return "its condition Requeued becomes True";
}

std::string check_event(std::string_view state) {
  return state == "Pending" ? "its controller sets it to Ready"
                            : fmt::format("its state is no longer {}", state);
}

std::string quota_event(const Assignment& assignment, std::size_t targets) {
  if (targets > 0) {
    return fmt::format("{} workload{} that it preempts release{} quota", targets,
                       targets == 1 ? "" : "s", targets == 1 ? "s" : "");
  }
  std::vector<std::string> events;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    if (!pod_set.reasons.empty()) {
      events.push_back(pod_set_event(pod_set));
    }
  }
  // Pod sets of one shape name the same events.
  const auto doubles = std::ranges::unique(events);
  events.erase(doubles.begin(), doubles.end());
  return fmt::format("{}", fmt::join(events, "; "));
}

}  // namespace athanor::kueue
