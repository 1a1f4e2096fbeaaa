// SPDX-License-Identifier: Apache-2.0
// Flavor assignment, one resource group after the other.
#include "embedded/kueue/flavor_assigner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "embedded/kueue/node_match.hpp"

namespace athanor::kueue {
namespace {

// What the pod sets before took.
struct Taken {
  std::string_view flavor{};
  std::string_view resource{};
  Amount amount = 0;
};
using Usage = std::vector<Taken>;

Amount taken_of(const Usage& taken, std::string_view flavor, std::string_view resource) {
  Amount amount = 0;
  for (const Taken& one : taken) {
    if (one.flavor == flavor && one.resource == resource) {
      amount += one.amount;
    }
  }
  return amount;
}

// What a pod set wants of the resources of one group.
struct Wanted {
  std::string_view resource{};  // as the group names it
  Amount amount = 0;
};

struct Candidate {
  Mode mode = Mode::NoFit;
  int borrow_height = 0;
  const FlavorQuotas* quotas = nullptr;
};

// One group's search for one pod set.
class GroupSearch {
 public:
  GroupSearch(const QuotaTree& quota, const ClusterQueue& queue, const ResourceGroup& group,
              const Usage& taken)
      : quota_(quota), queue_(queue), group_(group), taken_(taken) {}

  // The best flavor for all of `requests`, or a NoFit candidate; every flavor tried leaves its
  // reasons.
  Candidate run(const std::vector<Wanted>& requests, const PodSetRequests& pod_set,
                SelectorKeys keys, std::vector<Reason>& reasons) {
    const FlavorSelector of_group(pod_set.pod_spec, group_.label_keys);
    const auto matches = [&](const Flavor& flavor) {
      return keys == SelectorKeys::Group
                 ? of_group.matches(flavor)
                 : FlavorSelector(pod_set.pod_spec, own_keys(flavor)).matches(flavor);
    };
    Candidate best;
    reasons.reserve(group_.flavors.size() * requests.size());
    for (const FlavorQuotas& quotas : group_.flavors) {
      if (quotas.flavor == nullptr) {
        reasons.push_back({.why = Reason::Why::NotFound, .flavor = quotas.name});
        continue;
      }
      if (auto taint = untolerated_taint(*quotas.flavor, pod_set.pod_spec); !taint.empty()) {
        reasons.push_back({.why = Reason::Why::Tainted, .named = std::move(taint)});
        continue;
      }
      if (!matches(*quotas.flavor)) {
        reasons.push_back({.why = Reason::Why::NoMatch, .flavor = quotas.name});
        continue;
      }
      const Candidate candidate = judge(quotas, requests, reasons);
      const bool better =
          best.quotas == nullptr || candidate.mode > best.mode ||
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
  static std::set<std::string, std::less<>> own_keys(const Flavor& flavor) {
    std::set<std::string, std::less<>> own;
    for (const Member& label : flavor.node_labels.members()) {
      own.emplace(label.key());
    }
    return own;
  }

  // nullopt: nobody has quota of it.
  [[nodiscard]] std::optional<QuotaTree::CellId> cell_of(const FlavorQuotas& quotas,
                                                         std::string_view resource) const {
    for (std::size_t i = 0; i < quotas.resources.size(); ++i) {
      if (quotas.resources[i] == resource) {
        return quotas.cells[i];
      }
    }
    return quota_.find(quotas.name, resource);
  }

  // The worst mode over the resources, with a reason for each that does not fit.
  Candidate judge(const FlavorQuotas& quotas, const std::vector<Wanted>& requests,
                  std::vector<Reason>& reasons) const {
    Candidate result{.mode = Mode::Fit, .quotas = &quotas};
    const auto refuse = [&](Reason reason) {
      reason.flavor = quotas.name;
      reasons.push_back(std::move(reason));
    };
    for (const Wanted& wanted : requests) {
      const Amount earlier = taken_of(taken_, quotas.name, wanted.resource);
      const Amount amount = wanted.amount + earlier;
      const auto cell = cell_of(quotas, wanted.resource);
      const FlavorResource unknown =
          cell ? FlavorResource() : FlavorResource{quotas.name, std::string(wanted.resource)};
      const Amount capacity = cell ? quota_.max_capacity(queue_.node, *cell) : 0;
      const Amount available =
          cell ? quota_.available(queue_.node, *cell) : quota_.available(queue_.node, unknown);
      if (amount > capacity) {
        refuse({.why = Reason::Why::NoCapacity,
                .resource = wanted.resource,
                .earlier = earlier,
                .request = wanted.amount,
                .limit = capacity});
        result.mode = Mode::NoFit;
      } else if (amount > available) {
        refuse({.why = Reason::Why::NoneFree,
                .resource = wanted.resource,
                .limit = amount - available});
        result.mode = std::min(result.mode, Mode::NoPreemptionCandidates);
      } else {
        result.borrow_height = std::max(result.borrow_height,
                                        cell ? quota_.borrow_height(queue_.node, *cell, amount)
                                             : quota_.borrow_height(queue_.node, unknown, amount));
      }
    }
    return result;
  }

  const QuotaTree& quota_;
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
Mode assign_pod_set(const QuotaTree& quota, const ClusterQueue& queue,
                    const PodSetRequests& pod_set, SelectorKeys keys, Usage& taken,
                    PodSetAssignment& out, int& borrow_height) {
  Mode mode = Mode::Fit;
  Amounts open = effective_requests(queue, pod_set);
  out.usage = open;
  for (const ResourceGroup& group : queue.groups) {
    std::vector<Wanted> of_group;
    for (const std::string& resource : group.covered) {
      if (const auto found = open.find(resource); found != open.end()) {
        of_group.push_back({.resource = resource, .amount = found->second});
        open.erase(found);
      }
    }
    if (of_group.empty()) {
      continue;
    }
    std::vector<Reason> reasons;
    const Candidate best =
        GroupSearch(quota, queue, group, taken).run(of_group, pod_set, keys, reasons);
    mode = std::min(mode, best.mode);
    if (best.mode != Mode::Fit) {
      out.reasons.insert(out.reasons.end(), std::make_move_iterator(reasons.begin()),
                         std::make_move_iterator(reasons.end()));
      continue;
    }
    borrow_height = std::max(borrow_height, best.borrow_height);
    for (const Wanted& wanted : of_group) {
      out.flavors[std::string(wanted.resource)] = best.quotas->name;
      taken.push_back(
          {.flavor = best.quotas->name, .resource = wanted.resource, .amount = wanted.amount});
    }
  }
  for (const auto& [resource, amount] : open) {
    out.reasons.push_back({.why = Reason::Why::NotCovered, .named = resource});
    mode = Mode::NoFit;
  }
  return mode;
}

}  // namespace

std::string Reason::text() const {
  switch (why) {
    case Why::NotFound:
      return fmt::format("flavor {} not found", flavor);
    case Why::Tainted:
      return named;
    case Why::NoMatch:
      return fmt::format("flavor {} doesn't match node affinity", flavor);
    case Why::NoCapacity:
      return fmt::format(
          "insufficient quota for {} in flavor {}, previously considered podsets "
          "requests ({}) + current podset request ({}) > maximum capacity ({})",
          resource, flavor, amount_text(resource, earlier), amount_text(resource, request),
          amount_text(resource, limit));
    case Why::NoneFree:
      return fmt::format("insufficient unused quota for {} in flavor {}, {} more needed", resource,
                         flavor, amount_text(resource, limit));
    case Why::NotCovered:
      return fmt::format("resource {} unavailable in ClusterQueue", named);
  }
  return {};
}

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
    std::vector<std::string> reasons;
    reasons.reserve(pod_set.reasons.size());
    for (const Reason& reason : pod_set.reasons) {
      reasons.push_back(reason.text());
    }
    std::ranges::sort(reasons);
    text += fmt::format("{}couldn't assign flavors to pod set {}: ", text.empty() ? "" : "; ",
                        pod_set.name);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      text += (i == 0 ? "" : ", ") + reasons[i];
    }
  }
  return text;
}

Assignment assign_flavors(const QuotaTree& quota, const ClusterQueue& queue,
                          const std::vector<PodSetRequests>& pod_sets, SelectorKeys keys) {
  Assignment assignment;
  Usage taken;
  for (const PodSetRequests& pod_set : pod_sets) {
    PodSetAssignment result{.name = pod_set.name, .count = pod_set.count};
    assignment.mode = std::min(assignment.mode, assign_pod_set(quota, queue, pod_set, keys, taken,
                                                               result, assignment.borrow_height));
    assignment.pod_sets.push_back(std::move(result));
  }
  return assignment;
}

bool still_fits(const QuotaTree& quota, const ClusterQueue& queue, const Assignment& assignment) {
  std::map<FlavorResource, Amount> total;
  for (const auto& [cell, amount] : assignment.usage()) {
    total[cell] += amount;
  }
  return std::ranges::all_of(total, [&](const auto& entry) {
    return entry.second <= quota.available(queue.node, entry.first);
  });
}

}  // namespace athanor::kueue
