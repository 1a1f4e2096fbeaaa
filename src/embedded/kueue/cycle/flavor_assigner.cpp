// SPDX-License-Identifier: Apache-2.0
// Flavor assignment, one resource group after the other.
#include "embedded/kueue/cycle/flavor_assigner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "embedded/kueue/cycle/node_match.hpp"

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

// How well a flavor takes one resource, or all of them.
struct Fitness {
  Mode mode = Mode::Fit;
  int borrow_height = 0;
  // Whether the other one is worse.
  [[nodiscard]] bool better_than(const Fitness& other) const {
    return mode != other.mode ? mode > other.mode : borrow_height < other.borrow_height;
  }
};

struct FlavorCandidate {
  Fitness worst{.mode = Mode::NoFit};
  int borrow_height = 0;  // the largest
  const FlavorQuotas* quotas = nullptr;
  std::vector<QuotaTree::CellId> scarce{};
  std::size_t next = 0;  // behind the flavor that ended the search; 0: that was the last
};

// One group's search for one pod set.
class GroupSearch {
 public:
  GroupSearch(const QuotaTree& quota, const ClusterQueue& queue, const ResourceGroup& group,
              const Usage& taken, const AssignOptions& options, std::size_t start)
      : quota_(quota),
        queue_(queue),
        group_(group),
        taken_(taken),
        options_(options),
        start_(start) {}

  // The best flavor for all of `requests`, or a NoFit candidate; every flavor tried leaves its
  // reasons.
  FlavorCandidate run(const std::vector<Wanted>& requests, const PodSetRequests& pod_set,
                      std::vector<Reason>& reasons, std::vector<Attempt>& attempts) {
    // Where nothing that preemption makes free comes before what is free, the first look is for
    // that, and mostly the only one.
    simulates_ =
        options_.simulates_all || !queue_.try_next_when_preempting || queue_.prefers_preemption;
    const std::size_t before = attempts.size();
    FlavorCandidate best = scan(requests, pod_set, reasons, attempts);
    if (postponed_ && best.worst.mode != Mode::Fit) {
      simulates_ = true;
      reasons.clear();
      attempts.resize(before);
      best = scan(requests, pod_set, reasons, attempts);
    }
    return best;
  }
  // Whether a flavor was passed over without asking.
  [[nodiscard]] bool guessed() const { return postponed_ && !simulates_; }
  // Returns true if a search that ended with `best` ends so whatever other searches choose.
  [[nodiscard]] bool is_hopeless(const FlavorCandidate& best) const {
    return best.worst.mode <= Mode::NoPreemptionCandidates && start_ == 0 &&
           std::ranges::none_of(taken_, [&](const Taken& one) {
             return std::ranges::any_of(group_.flavors, [&](const FlavorQuotas& quotas) {
               return quotas.name == one.flavor;
             });
           });
  }

 private:
  FlavorCandidate scan(const std::vector<Wanted>& requests, const PodSetRequests& pod_set,
                       std::vector<Reason>& reasons, std::vector<Attempt>& attempts) {
    const FlavorSelector of_group(pod_set.pod_spec, group_.label_keys);
    const auto matches = [&](const Flavor& flavor) {
      return options_.keys == SelectorKeys::Group
                 ? of_group.matches(flavor)
                 : FlavorSelector(pod_set.pod_spec, own_keys(flavor)).matches(flavor);
    };
    FlavorCandidate best;
    reasons.reserve(group_.flavors.size() * requests.size());
    attempts.reserve(attempts.size() + group_.flavors.size());
    std::size_t next = 0;
    for (std::size_t index = start_; index < group_.flavors.size(); ++index) {
      const FlavorQuotas& quotas = group_.flavors[index];
      Attempt& attempt = attempts.emplace_back(Attempt{.flavor = quotas.name});
      if (quotas.flavor == nullptr) {
        reasons.push_back({.why = Reason::Why::NotFound, .flavor = quotas.name});
        continue;
      }
      if (auto taint = untolerated_taint(*quotas.flavor, pod_set.pod_spec); !taint.empty()) {
        reasons.push_back(
            {.why = Reason::Why::Tainted, .flavor = quotas.name, .named = std::move(taint)});
        continue;
      }
      if (!matches(*quotas.flavor)) {
        reasons.push_back({.why = Reason::Why::NoMatch, .flavor = quotas.name});
        continue;
      }
      FlavorCandidate candidate = judge(quotas, requests, reasons);
      const Fitness& worst = candidate.worst;
      attempt.mode = worst.mode;
      attempt.borrow_height = candidate.borrow_height;
      const bool continues = worst.mode <= Mode::NoPreemptionCandidates ||
                             (worst.mode != Mode::Fit && queue_.try_next_when_preempting) ||
                             (worst.borrow_height > 0 && queue_.try_next_when_borrowing);
      if (!continues || best.quotas == nullptr || prefers(candidate.worst, best.worst)) {
        best = std::move(candidate);
      }
      if (!continues) {
        next = (index + 1) % group_.flavors.size();
        break;
      }
    }
    best.next = next;
    return best;
  }

  // The preference of the queue ranks only flavors that admit or preempt.
  [[nodiscard]] bool prefers(const Fitness& a, const Fitness& b) const {
    const Mode worse = std::min(a.mode, b.mode);
    if (worse <= Mode::NoPreemptionCandidates && a.mode != b.mode) {
      return a.mode > b.mode;
    }
    if (worse == Mode::NoFit || !queue_.prefers_preemption) {
      return a.better_than(b);
    }
    return a.borrow_height != b.borrow_height ? a.borrow_height < b.borrow_height : a.mode > b.mode;
  }

  static std::set<std::string, std::less<>> own_keys(const Flavor& flavor) {
    std::set<std::string, std::less<>> own;
    for (const Member& label : flavor.node_labels.members()) {
      own.emplace(label.key());
    }
    return own;
  }

  // nullopt: no ClusterQueue has quota for it.
  [[nodiscard]] std::optional<QuotaTree::CellId> cell_of(const FlavorQuotas& quotas,
                                                         std::string_view resource) const {
    for (std::size_t i = 0; i < quotas.resources.size(); ++i) {
      if (quotas.resources[i] == resource) {
        return quotas.cells[i];
      }
    }
    return quota_.find(quotas.name, resource);
  }

  // How well one resource fits, with a reason if it does not.
  Fitness judge(const FlavorQuotas& quotas, const Wanted& wanted, std::vector<Reason>& reasons,
                std::vector<QuotaTree::CellId>& scarce) {
    const auto refuse = [&](Reason reason) {
      reason.flavor = quotas.name;
      reason.resource = wanted.resource;
      reasons.push_back(std::move(reason));
    };
    const Amount earlier = taken_of(taken_, quotas.name, wanted.resource);
    const Amount amount = wanted.amount + earlier;
    const auto cell = cell_of(quotas, wanted.resource);
    if (!cell || amount > quota_.max_capacity(queue_.node, *cell)) {
      refuse({.why = Reason::Why::NoCapacity,
              .earlier = earlier,
              .request = wanted.amount,
              .limit = cell ? quota_.max_capacity(queue_.node, *cell) : 0});
      return {.mode = Mode::NoFit};
    }
    const QuotaTree::Lowest lowest = quota_.lowest_sufficient(queue_.node, *cell, amount);
    const Amount available = quota_.available(queue_.node, *cell);
    if (amount <= available) {
      return {.mode = Mode::Fit, .borrow_height = lowest.height};
    }
    refuse({.why = Reason::Why::NoneFree, .limit = amount - available});
    scarce.push_back(*cell);
    const bool may_gain = amount <= quota_.nominal(queue_.node, *cell) || lowest.is_part ||
                          queue_.preempts_while_borrowing ||
                          (options_.fair_sharing && queue_.reclaim != PreemptionPolicy::Never);
    if (!may_gain) {
      return {.mode = Mode::NoFit, .borrow_height = lowest.height};
    }
    const bool gains =
        options_.oracle != nullptr && queue_.may_preempt() && options_.oracle->may_gain(*cell);
    if (!gains || !simulates_) {
      postponed_ = postponed_ || gains;
      return {.mode = Mode::NoPreemptionCandidates, .borrow_height = lowest.height};
    }
    const Possibility possible = options_.oracle->simulate(*cell, amount);
    return {.mode = possible.mode, .borrow_height = possible.borrow_height};
  }

  // The worst over the resources.
  FlavorCandidate judge(const FlavorQuotas& quotas, const std::vector<Wanted>& requests,
                        std::vector<Reason>& reasons) {
    FlavorCandidate result{.worst = {}, .quotas = &quotas};
    for (const Wanted& wanted : requests) {
      const Fitness fitness = judge(quotas, wanted, reasons, result.scarce);
      if (result.worst.better_than(fitness)) {
        result.worst = fitness;
      }
      result.borrow_height = std::max(result.borrow_height, fitness.borrow_height);
    }
    return result;
  }

  const QuotaTree& quota_;
  const ClusterQueue& queue_;
  const ResourceGroup& group_;
  const Usage& taken_;
  const AssignOptions& options_;
  std::size_t start_ = 0;
  bool simulates_ = true;   // asks whom preemption would free
  bool postponed_ = false;  // would have
};

Amounts effective_requests(const ClusterQueue& queue, const PodSetRequests& pod_set,
                           bool ignores_undeclared) {
  Amounts requests = pod_set.total;
  if (queue.covers("pods")) {
    requests["pods"] = pod_set.count;
  }
  std::erase_if(requests, [&](const auto& entry) {
    return (entry.second == 0 || ignores_undeclared) && !queue.covers(entry.first);
  });
  return requests;
}

// An assignment that grows by one pod set after another.
struct Assigning {
  Usage taken{};  // by the pod sets before
  Assignment whole{};
};

// Assigns one pod set; what it takes is added.
PodSetAssignment assign_pod_set(const QuotaTree& quota, const ClusterQueue& queue,
                                const PodSetRequests& pod_set, const AssignOptions& options,
                                Assigning& assigning) {
  Usage& taken = assigning.taken;
  Assignment& whole = assigning.whole;
  PodSetAssignment out{.name = pod_set.name, .count = pod_set.count};
  Amounts open = effective_requests(queue, pod_set, options.ignores_undeclared);
  out.usage = open;
  const std::size_t first_place = whole.next.size();
  whole.next.resize(first_place + queue.groups.size());
  for (std::size_t index = 0; index < queue.groups.size(); ++index) {
    const ResourceGroup& group = queue.groups[index];
    const std::size_t place = first_place + index;
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
    GroupSearch search(quota, queue, group, taken, options,
                       options.starts.empty() ? 0 : options.starts.at(place));
    const FlavorCandidate best = search.run(of_group, pod_set, reasons, out.attempts);
    whole.next[place] = best.next;
    whole.hopeless = whole.hopeless || search.is_hopeless(best);
    whole.mode = std::min(whole.mode, best.worst.mode);
    whole.guessed = whole.guessed || search.guessed();
    std::vector<Reason>& collected = best.worst.mode == Mode::Fit ? out.passed_over : out.reasons;
    collected.insert(collected.end(), std::make_move_iterator(reasons.begin()),
                     std::make_move_iterator(reasons.end()));
    if (best.worst.mode == Mode::NoFit) {
      continue;
    }
    whole.borrow_height = std::max(whole.borrow_height, best.borrow_height);
    whole.scarce.insert(whole.scarce.end(), best.scarce.begin(), best.scarce.end());
    for (const Wanted& wanted : of_group) {
      out.flavors[std::string(wanted.resource)] = best.quotas->name;
      taken.push_back(
          {.flavor = best.quotas->name, .resource = wanted.resource, .amount = wanted.amount});
    }
  }
  for (const auto& [resource, amount] : open) {
    out.reasons.push_back({.why = Reason::Why::NotCovered, .named = resource});
    whole.mode = Mode::NoFit;
    whole.hopeless = true;
  }
  return out;
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

std::vector<std::pair<QuotaTree::CellId, Amount>> Assignment::usage(const QuotaTree& quota) const {
  std::map<QuotaTree::CellId, Amount> total;
  for (const PodSetAssignment& pod_set : pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      if (const auto cell = quota.find(flavor, resource)) {
        total[*cell] += pod_set.usage.find(resource)->second;
      }
    }
  }
  return {total.begin(), total.end()};
}

bool Assignment::leaves_flavors() const {
  return std::ranges::any_of(next, [](std::size_t place) { return place > 0; });
}

bool Assignment::is_partial(const std::vector<PodSetRequests>& requests) const {
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    if (pod_sets[i].count < requests.at(i).count) {
      return true;
    }
  }
  return false;
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
                          const std::vector<PodSetRequests>& pod_sets,
                          const AssignOptions& options) {
  Assigning assigning{.whole = {.starts = options.starts}};
  Assignment& assignment = assigning.whole;
  for (const PodSetRequests& pod_set : pod_sets) {
    assignment.pod_sets.push_back(assign_pod_set(quota, queue, pod_set, options, assigning));
  }
  std::ranges::sort(assignment.scarce);
  const auto doubles = std::ranges::unique(assignment.scarce);
  assignment.scarce.erase(doubles.begin(), doubles.end());
  return std::move(assigning.whole);
}

}  // namespace athanor::kueue
