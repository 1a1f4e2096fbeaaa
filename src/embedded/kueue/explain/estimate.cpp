// SPDX-License-Identifier: Apache-2.0
// A played world holds the Workloads of one tree of cohorts; all else is read through the view.
#include "embedded/kueue/explain/estimate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/cycle.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/workload/workload_status.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

// Workloads looked at, over all steps of one play.
constexpr std::size_t kMostLooks = 200'000;
constexpr double kHalf = 0.5;
constexpr double kMost = 0.9;

enum class Pace : std::uint8_t { Fast, Slow };

QuotaTree::NodeId root_of(const QuotaTree& quota, QuotaTree::NodeId node) {
  while (const auto parent = quota.parent(node)) {
    node = *parent;
  }
  return node;
}

// How long runs took, in order, by the queue that they came from.
class Runs {
 public:
  void add(const Object& workload) {
    const Value& conditions = workload.status()["conditions"];
    const auto began =
        parse_time(find_condition(conditions, "Admitted")["lastTransitionTime"].as_string());
    const auto ended =
        parse_time(find_condition(conditions, "Finished")["lastTransitionTime"].as_string());
    if (began && ended && *ended >= *began) {
      by_queue_[queue_of(workload)].push_back(*ended - *began);
      ++count_;
    }
  }
  void finish() {
    for (auto& [queue, lengths] : by_queue_) {
      std::ranges::sort(lengths);
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }

  // How much longer a run takes that has taken `elapsed`; nullopt: unknown.
  [[nodiscard]] std::optional<Duration> left(const Object& workload, Duration elapsed,
                                             Pace pace) const {
    const std::int64_t seconds = workload.spec()["maximumExecutionTimeSeconds"].as_int();
    const std::optional<Duration> allowed =
        seconds > 0 ? std::optional<Duration>(std::max<Duration>(
                          Duration::zero(), std::chrono::seconds(seconds) - elapsed))
                    : std::nullopt;
    if (pace == Pace::Slow && allowed) {
      return allowed;
    }
    const auto known = by_queue_.find(queue_of(workload));
    if (known == by_queue_.end()) {
      return allowed;
    }
    // Of those that took longer than it has taken.
    const auto longer = std::ranges::upper_bound(known->second, elapsed);
    const auto rest = static_cast<std::size_t>(known->second.end() - longer);
    if (rest == 0) {
      return Duration::zero();  // it may end at any moment
    }
    const double share = pace == Pace::Fast ? kHalf : kMost;
    const auto at = std::min(rest - 1, static_cast<std::size_t>(share * static_cast<double>(rest)));
    const Duration expected = *(longer + static_cast<std::ptrdiff_t>(at)) - elapsed;
    return allowed ? std::min(*allowed, expected) : expected;
  }

 private:
  static Key queue_of(const Object& workload) {
    return {std::string(workload.ns()), workload.spec()["queueName"].str()};
  }
  std::map<Key, std::vector<Duration>> by_queue_{};
  std::size_t count_ = 0;
};

// The Workloads of a play, under the indexes that the cycle asks for.
class PlayedWorld final : public athanor::Snapshot {
 public:
  explicit PlayedWorld(const View& base) : base_(base) {}

  void put(Object workload) {
    remove(workload.key());
    for (const Index& index : scheduler_operator().indexes) {
      for (std::string& value : index.values(workload)) {
        indexed_[{std::string(index.name), std::move(value)}].insert(workload.key());
      }
    }
    workloads_.emplace(workload.key(), std::move(workload));
  }
  void remove(const Key& key) {
    const auto found = workloads_.find(key);
    if (found == workloads_.end()) {
      return;
    }
    for (const Index& index : scheduler_operator().indexes) {
      for (const std::string& value : index.values(found->second)) {
        indexed_[{std::string(index.name), value}].erase(key);
      }
    }
    workloads_.erase(found);
  }
  [[nodiscard]] const std::map<Key, Object>& workloads() const { return workloads_; }

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    if (&kind != &api::kueue::kWorkload) {
      return base_.get(kind, key);
    }
    const auto found = workloads_.find(key);
    return found == workloads_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    if (&kind != &api::kueue::kWorkload) {
      return base_.list(kind, select);
    }
    std::vector<Object> found;
    const auto keys = indexed_.find({select.index, select.index_value});
    if (keys != indexed_.end()) {
      for (const Key& key : keys->second) {
        found.push_back(workloads_.at(key));
      }
    }
    return found;
  }
  [[nodiscard]] std::shared_ptr<const void> derived(const Derivation& derivation) const override {
    return base_.derived<void>(derivation);  // of queues alone
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view section) const override {
    return base_.config(section);
  }

 private:
  const View& base_;
  std::map<Key, Object> workloads_{};
  std::map<std::pair<std::string, std::string>, std::set<Key>> indexed_{};
};

class Play {
 public:
  Play(const View& view, const std::vector<Object>& workloads, const Runs& runs, Pace pace)
      : world_(view), runs_(runs), pace_(pace) {
    for (const Object& workload : workloads) {
      world_.put(workload);
    }
  }

  // When `wanted` is given quota.
  std::optional<Instant> run(const Key& wanted, Instant now) {
    for (std::size_t looks = 0; looks < kMostLooks; looks += world_.workloads().size() + 1) {
      const std::optional<Instant> wake = admit(now);
      const auto found = world_.workloads().find(wanted);
      if (found == world_.workloads().end()) {
        return std::nullopt;
      }
      if (has_quota(found->second)) {
        return now;
      }
      std::optional<Instant> next = end_of_first(now);
      if (wake && *wake > now && (!next || *wake < *next)) {
        next = wake;
      }
      if (!next) {
        return std::nullopt;
      }
      now = *next;
    }
    return std::nullopt;
  }

 private:
  // Runs the cycle until it changes nothing; victims give their quota back at once.
  std::optional<Instant> admit(Instant now) {
    constexpr int kMostRounds = 20;
    constexpr std::size_t kAllSteps = std::numeric_limits<std::size_t>::max();
    std::optional<Instant> wake;
    for (int round = 0; round < kMostRounds; ++round) {
      Reads reads;
      const View view(world_, reads);
      const Plan plan = run_cycle(view, now, WaitMessages::FirstOnly, kAllSteps);
      wake = plan.wake();
      bool changed = false;
      for (const Step& step : plan.steps()) {
        if (const auto* status = std::get_if<Status>(&step)) {
          changed = take(*status, now) || changed;
        }
      }
      if (!changed) {
        break;
      }
    }
    return wake;
  }

  // Returns true if a workload got quota or gave it back.
  bool take(const Status& step, Instant now) {
    const auto found = world_.workloads().find(step.target.key);
    if (found == world_.workloads().end()) {
      return false;
    }
    Value body = found->second.body();
    Value& status = body.member("status");
    for (const Member& member : step.status.members()) {
      if (member.value.is_null()) {
        status.erase(member.key());
      } else {
        status.set(member.key(), member.value);
      }
    }
    Value conditions = status["conditions"];
    const bool held = has_quota(found->second);
    bool changed = !held && condition_is(conditions, "QuotaReserved", "True");
    if (changed) {
      set_condition(conditions, {"Admitted", "True", "Admitted", "", {}}, now);
      set_condition(conditions, {"PodsReady", "True", "Started", "", {}}, now);
    }
    if (condition_is(conditions, "Evicted", "True") && held) {
      set_condition(conditions, {"QuotaReserved", "False", "Pending", "", {}}, now);
      set_condition(conditions, {"Admitted", "False", "NoReservation", "", {}}, now);
      status.erase("admission");
      changed = true;
    }
    status.set("conditions", std::move(conditions));
    world_.put(Object(std::move(body)));
    return changed;
  }

  // Ends the runs that are over next, and returns when.
  std::optional<Instant> end_of_first(Instant now) {
    std::optional<Instant> first;
    std::vector<Key> over;
    for (const auto& [key, workload] : world_.workloads()) {
      if (!holds_quota(workload)) {
        continue;
      }
      const auto began = parse_time(
          find_condition(workload.status()["conditions"], "Admitted")["lastTransitionTime"]
              .as_string());
      const Duration elapsed = began ? std::max(now - *began, Duration::zero()) : Duration::zero();
      // What it takes is drawn once: by the time that had passed when the play began.
      const auto [at, fresh] = ends_.try_emplace({key, began.value_or(now)});
      if (fresh) {
        if (const auto left = runs_.left(workload, elapsed, pace_)) {
          at->second = now + *left;
        }
      }
      if (!at->second || (first && *at->second > *first)) {
        continue;
      }
      if (!first || *at->second < *first) {
        first = at->second;
        over.clear();
      }
      over.push_back(key);
    }
    for (const Key& key : over) {
      world_.remove(key);
    }
    return first ? std::optional(std::max(*first, now)) : std::nullopt;
  }

  PlayedWorld world_;
  const Runs& runs_;
  Pace pace_;
  std::map<std::pair<Key, Instant>, std::optional<Instant>> ends_{};  // by start
};

}  // namespace

StartEstimate estimate_start(const View& view, const Snapshot& queues, const ClusterQueue& queue,
                             const Object& workload, Instant now) {
  const QuotaTree::NodeId root = root_of(queues.quota, queue.node);
  const auto in_tree = [&](const std::string& name) {
    const auto found = queues.cluster_queues.find(name);
    return found != queues.cluster_queues.end() &&
           root_of(queues.quota, found->second.node) == root;
  };
  Runs runs;
  std::vector<Object> taking_part;
  for (const Object& one : view.list(api::kueue::kWorkload)) {
    const auto local =
        queues.local_queues.find({std::string(one.ns()), one.spec()["queueName"].str()});
    const bool ours = local != queues.local_queues.end() && in_tree(local->second.cluster_queue);
    if (is_finished(one)) {
      if (ours) {
        runs.add(one);
      }
      continue;
    }
    if ((ours && is_waiting(one)) ||
        (holds_quota(one) && in_tree(one.status()["admission"]["clusterQueue"].str()))) {
      taking_part.push_back(one);
    }
  }
  runs.finish();
  StartEstimate estimate{.runs = runs.count()};
  estimate.earliest = Play(view, taking_part, runs, Pace::Fast).run(workload.key(), now);
  estimate.latest = Play(view, taking_part, runs, Pace::Slow).run(workload.key(), now);
  if (estimate.earliest && estimate.latest && *estimate.latest < *estimate.earliest) {
    std::swap(estimate.earliest, estimate.latest);  // another order of ends can help it
  }
  return estimate;
}

}  // namespace athanor::kueue
