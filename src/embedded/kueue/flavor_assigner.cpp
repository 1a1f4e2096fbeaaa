// SPDX-License-Identifier: Apache-2.0
// Flavor assignment, one resource group after the other.
#include "embedded/kueue/flavor_assigner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "embedded/kueue/node_match.hpp"

namespace athanor::kueue {
namespace {

using Usage = std::map<FlavorResource, Amount>;

struct Candidate {
  Mode mode = Mode::NoFit;
  int borrow_height = 0;
  std::string flavor{};
};

// One group's search for one pod set.
class GroupSearch {
 public:
  GroupSearch(const Snapshot& snapshot, const ClusterQueue& queue, const ResourceGroup& group,
              const Usage& taken)
      : snapshot_(snapshot), queue_(queue), group_(group), taken_(taken) {}

  // The best flavor for all of `requests`, or a NoFit candidate; every flavor tried leaves its
  // reasons.
  Candidate run(const Amounts& requests, const PodSetRequests& pod_set, SelectorKeys keys,
                std::vector<std::string>& reasons) {
    Candidate best;
    std::set<std::string> known = keys_of_group();
    for (const FlavorQuotas& quotas : group_.flavors) {
      const auto flavor = snapshot_.flavors.find(quotas.name);
      if (flavor == snapshot_.flavors.end()) {
        reasons.push_back(fmt::format("flavor {} not found", quotas.name));
        continue;
      }
      if (auto taint = untolerated_taint(flavor->second, pod_set.pod_spec); !taint.empty()) {
        reasons.push_back(std::move(taint));
        continue;
      }
      if (keys == SelectorKeys::Flavor) {  // those of each for itself
        known.clear();
        add_keys(flavor->second, known);
      }
      if (!matches_flavor(pod_set.pod_spec, flavor->second, known)) {
        reasons.push_back(fmt::format("flavor {} doesn't match node affinity", quotas.name));
        continue;
      }
      const Candidate candidate = judge(quotas.name, requests, reasons);
      const bool better =
          best.flavor.empty() || candidate.mode > best.mode ||
          (candidate.mode == best.mode && candidate.borrow_height < best.borrow_height);
      if (better) {
        best = candidate;
      }
      const bool settled = candidate.mode == Mode::Fit &&
                           !(candidate.borrow_height > 0 && queue_.try_next_when_borrowing);
      if (settled) {
        break;
      }
    }
    return best;
  }

 private:
  static void add_keys(const Flavor& flavor, std::set<std::string>& known) {
    for (const Member& label : flavor.node_labels.members()) {
      known.emplace(label.key());
    }
  }

  [[nodiscard]] std::set<std::string> keys_of_group() const {
    std::set<std::string> known;
    for (const FlavorQuotas& quotas : group_.flavors) {
      if (const auto found = snapshot_.flavors.find(quotas.name);
          found != snapshot_.flavors.end()) {
        add_keys(found->second, known);
      }
    }
    return known;
  }

  // The worst mode over the resources, with a reason for each that does not fit.
  Candidate judge(const std::string& flavor, const Amounts& requests,
                  std::vector<std::string>& reasons) const {
    Candidate result{.mode = Mode::Fit, .flavor = flavor};
    for (const auto& [resource, request] : requests) {
      const FlavorResource cell{flavor, resource};
      const auto before = taken_.find(cell);
      const Amount earlier = before == taken_.end() ? 0 : before->second;
      const Amount amount = request + earlier;
      const Amount capacity = snapshot_.quota.max_capacity(queue_.node, cell);
      const Amount available = snapshot_.quota.available(queue_.node, cell);
      if (amount > capacity) {
        reasons.push_back(
            fmt::format("insufficient quota for {} in flavor {}, previously considered podsets "
                        "requests ({}) + current podset request ({}) > maximum capacity ({})",
                        resource, flavor, amount_text(resource, earlier),
                        amount_text(resource, request), amount_text(resource, capacity)));
        result.mode = Mode::NoFit;
      } else if (amount > available) {
        reasons.push_back(
            fmt::format("insufficient unused quota for {} in flavor {}, {} more needed", resource,
                        flavor, amount_text(resource, amount - available)));
        result.mode = std::min(result.mode, Mode::NoPreemptionCandidates);
      } else {
        result.borrow_height = std::max(result.borrow_height,
                                        snapshot_.quota.borrow_height(queue_.node, cell, amount));
      }
    }
    return result;
  }

  const Snapshot& snapshot_;
  const ClusterQueue& queue_;
  const ResourceGroup& group_;
  const Usage& taken_;
};

Amounts effective_requests(const ClusterQueue& queue, const PodSetRequests& pod_set) {
  Amounts requests = pod_set.total;
  if (queue.covers("pods")) {
    requests["pods"] = pod_set.count;
  }
  std::erase_if(requests,
                [&](const auto& entry) { return entry.second == 0 && !queue.covers(entry.first); });
  return requests;
}

// Assigns one pod set; what it takes is added to `taken`.
Mode assign_pod_set(const Snapshot& snapshot, const ClusterQueue& queue,
                    const PodSetRequests& pod_set, SelectorKeys keys, Usage& taken,
                    PodSetAssignment& out, int& borrow_height) {
  Mode mode = Mode::Fit;
  Amounts open = effective_requests(queue, pod_set);
  out.usage = open;
  for (const ResourceGroup& group : queue.groups) {
    Amounts of_group;
    for (const std::string& resource : group.covered) {
      if (const auto found = open.find(resource); found != open.end()) {
        of_group.insert(open.extract(found));
      }
    }
    if (of_group.empty()) {
      continue;
    }
    std::vector<std::string> reasons;
    const Candidate best =
        GroupSearch(snapshot, queue, group, taken).run(of_group, pod_set, keys, reasons);
    mode = std::min(mode, best.mode);
    if (best.mode != Mode::Fit) {
      out.reasons.insert(out.reasons.end(), reasons.begin(), reasons.end());
      continue;
    }
    borrow_height = std::max(borrow_height, best.borrow_height);
    for (const auto& [resource, amount] : of_group) {
      out.flavors[resource] = best.flavor;
      taken[{best.flavor, resource}] += amount;
    }
  }
  for (const auto& [resource, amount] : open) {
    out.reasons.push_back(fmt::format("resource {} unavailable in ClusterQueue", resource));
    mode = Mode::NoFit;
  }
  return mode;
}

}  // namespace

std::vector<std::pair<FlavorResource, Amount>> Assignment::usage() const {
  std::vector<std::pair<FlavorResource, Amount>> result;
  for (const PodSetAssignment& pod_set : pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      result.push_back({{flavor, resource}, pod_set.usage.find(resource)->second});
    }
  }
  return result;
}

std::string Assignment::message() const {
  std::string text;
  for (const PodSetAssignment& pod_set : pod_sets) {
    if (pod_set.reasons.empty()) {
      continue;
    }
    std::vector<std::string> reasons = pod_set.reasons;
    std::ranges::sort(reasons);
    text += fmt::format("{}couldn't assign flavors to pod set {}: ", text.empty() ? "" : "; ",
                        pod_set.name);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      text += (i == 0 ? "" : ", ") + reasons[i];
    }
  }
  return text;
}

Assignment assign_flavors(const Snapshot& snapshot, const ClusterQueue& queue,
                          const std::vector<PodSetRequests>& pod_sets, SelectorKeys keys) {
  Assignment assignment;
  Usage taken;
  for (const PodSetRequests& pod_set : pod_sets) {
    PodSetAssignment result{.name = pod_set.name, .count = pod_set.count};
    assignment.mode = std::min(
        assignment.mode,
        assign_pod_set(snapshot, queue, pod_set, keys, taken, result, assignment.borrow_height));
    assignment.pod_sets.push_back(std::move(result));
  }
  return assignment;
}

bool still_fits(const Snapshot& snapshot, const ClusterQueue& queue, const Assignment& assignment) {
  std::map<FlavorResource, Amount> total;
  for (const auto& [cell, amount] : assignment.usage()) {
    total[cell] += amount;
  }
  return std::ranges::all_of(total, [&](const auto& entry) {
    return entry.second <= snapshot.quota.available(queue.node, entry.first);
  });
}

}  // namespace athanor::kueue
