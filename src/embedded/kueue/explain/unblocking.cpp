// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/unblocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace athanor::kueue {
namespace {

using Why = Reason::Why;

// The event that ends one reason against a flavor; a selector or a taint ends by itself never.
std::string event_of(const Reason& reason) {
  switch (reason.why) {
    case Why::NoneFree:
      return fmt::format("{} more {} of flavor {} {} free",
                         amount_text(reason.resource, reason.limit), reason.resource, reason.flavor,
                         amount_text(reason.resource, reason.limit) == "1" ? "becomes" : "become");
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

bool is_closed(const Reason& reason) {
  return reason.why == Why::Tainted || reason.why == Why::NoMatch;
}

// Returns the kind of an obstacle: of several reasons the one that ends soonest.
CauseKind kind_of(const std::vector<const Reason*>& reasons, bool scarce) {
  if (scarce) {
    return CauseKind::QuotaInUse;
  }
  return std::ranges::any_of(reasons, [](const Reason* one) { return one->why == Why::NoCapacity; })
             ? CauseKind::QuotaTooSmall
             : CauseKind::FlavorExcluded;
}

// What one group of flavors lacks for a pod set.
QuotaObstacle group_obstacle(const std::vector<const Reason*>& reasons) {
  std::map<std::string_view, std::vector<const Reason*>> open;
  std::set<std::string_view> scarce;  // lack nothing but free quota
  for (const Reason* reason : reasons) {
    open[reason->flavor].push_back(reason);
  }
  std::erase_if(open, [](const auto& entry) {
    return std::ranges::any_of(entry.second, [](const Reason* one) { return is_closed(*one); });
  });
  for (const auto& [flavor, of_flavor] : open) {
    if (std::ranges::all_of(of_flavor,
                            [](const Reason* one) { return one->why == Why::NoneFree; })) {
      scarce.insert(flavor);
    }
  }
  std::vector<std::string> texts;
  std::vector<std::string> ways;  // one flavor is enough
  for (const auto& [flavor, of_flavor] : open) {
    if (!scarce.empty() && !scarce.contains(flavor)) {
      continue;
    }
    std::vector<std::string> events;  // all must come
    for (const Reason* reason : of_flavor) {
      texts.push_back(reason->text());
      events.push_back(event_of(*reason));
    }
    ways.push_back(fmt::format("{}", fmt::join(events, " and ")));
  }
  if (open.empty()) {
    for (const Reason* reason : reasons) {
      texts.push_back(reason->text());
    }
    ways.emplace_back("the ClusterQueue has quota of a flavor that its pods may use");
  }
  std::ranges::sort(texts);
  return {.kind = kind_of(reasons, !scarce.empty()),
          .text = fmt::format("{}", fmt::join(texts, ", ")),
          .unblocked_by = fmt::format("{}", fmt::join(ways, ", or ")),
          .lasts = scarce.empty()};
}

// The obstacles of one pod set: the resources that the queue does not cover, and its groups.
std::vector<QuotaObstacle> pod_set_obstacles(const PodSetAssignment& pod_set,
                                             const ClusterQueue& queue) {
  std::vector<QuotaObstacle> found;
  std::map<std::size_t, std::vector<const Reason*>> by_group;
  for (const Reason& reason : pod_set.reasons) {
    if (reason.why == Why::NotCovered) {
      found.push_back({.kind = CauseKind::QuotaTooSmall,
                       .text = reason.text(),
                       .unblocked_by = event_of(reason),
                       .lasts = true});
      continue;
    }
    const auto group = std::ranges::find_if(queue.groups, [&](const ResourceGroup& one) {
      return std::ranges::any_of(
          one.flavors, [&](const FlavorQuotas& quotas) { return quotas.name == reason.flavor; });
    });
    by_group[static_cast<std::size_t>(group - queue.groups.begin())].push_back(&reason);
  }
  for (const auto& [group, reasons] : by_group) {
    found.push_back(group_obstacle(reasons));
  }
  return found;
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

std::vector<QuotaObstacle> quota_obstacles(const Assignment& assignment, const ClusterQueue& queue,
                                           std::size_t targets) {
  std::vector<QuotaObstacle> all;
  std::vector<std::string> names;  // of the pod sets of each
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    for (QuotaObstacle& one : pod_set_obstacles(pod_set, queue)) {
      // Pod sets of one shape meet the same obstacles.
      const auto same = std::ranges::find_if(
          all, [&](const QuotaObstacle& other) { return other.text == one.text; });
      if (same == all.end()) {
        all.push_back(std::move(one));
        names.push_back(pod_set.name);
      } else {
        names[static_cast<std::size_t>(same - all.begin())] += ", " + pod_set.name;
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].text = fmt::format("pod set {}: {}", names[i], all[i].text);
    if (targets > 0 && !all[i].lasts) {
      all[i].kind = CauseKind::Preempting;
      all[i].unblocked_by = fmt::format("{} workload{} that it preempts release{} quota", targets,
                                        targets == 1 ? "" : "s", targets == 1 ? "s" : "");
    }
  }
  std::ranges::stable_sort(
      all, [](const QuotaObstacle& a, const QuotaObstacle& b) { return a.lasts && !b.lasts; });
  return all;
}

std::set<std::string> closed_flavors(const Assignment& assignment) {
  std::optional<std::set<std::string>> closed;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    std::set<std::string> here;
    for (const std::vector<Reason>* reasons : {&pod_set.reasons, &pod_set.passed_over}) {
      for (const Reason& reason : *reasons) {
        if (is_closed(reason) || reason.why == Why::NotFound) {
          here.emplace(reason.flavor);
        }
      }
    }
    if (closed) {
      std::erase_if(*closed, [&](const std::string& flavor) { return !here.contains(flavor); });
    } else {
      closed = std::move(here);
    }
  }
  return closed.value_or(std::set<std::string>());
}

}  // namespace athanor::kueue
