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
#include "embedded/kueue/cycle/workload_status.hpp"
#include "embedded/kueue/explain/history.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::kueue {
namespace {

// Workloads looked at, over all steps of one play.
constexpr std::size_t kMostLooks = 200'000;
constexpr std::size_t kMostSteps = 5'000;  // of one play
QuotaTree::NodeId root_of(const QuotaTree& quota, QuotaTree::NodeId node) {
  while (const auto parent = quota.parent(node)) {
    node = *parent;
  }
  return node;
}

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
  Play(const View& view, const std::vector<Object>& workloads, const RunHistory& runs, Pace pace)
      : world_(view), runs_(runs), pace_(pace) {
    for (const Object& workload : workloads) {
      world_.put(workload);
    }
  }

  // When `wanted` is given quota.
  std::optional<Instant> run(const Key& wanted, Instant now) {
    std::size_t looks = 0;
    for (std::size_t step = 0; step < kMostSteps && looks < kMostLooks; ++step) {
      looks += world_.workloads().size() + 1;
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
      if (step == 0) {
        make_ready();
      }
      now = *next;
    }
    return std::nullopt;
  }

 private:
  // Pods of a play are ready at once, those of runs that have begun from the second step on: with
  // blockAdmission the cycle would look for them every second.
  void make_ready() {
    std::vector<Object> begun;
    for (const auto& [key, workload] : world_.workloads()) {
      const Value& conditions = workload.status()["conditions"];
      if (condition_is(conditions, "Admitted", "True") &&
          !condition_is(conditions, "PodsReady", "True")) {
        begun.push_back(workload);
      }
    }
    for (const Object& workload : begun) {
      Value conditions = workload.status()["conditions"];
      const auto since =
          parse_time(find_condition(conditions, "Admitted")["lastTransitionTime"].as_string());
      set_condition(conditions, {"PodsReady", "True", "Started", "", {}},
                    since.value_or(Instant()));
      Value body = workload.body();
      body.member("status").set("conditions", std::move(conditions));
      world_.put(Object(std::move(body)));
    }
  }

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
      // What it takes is drawn once: by the time that had passed when the play began.
      const auto [at, fresh] = ends_.try_emplace({key, began.value_or(now)});
      if (fresh) {
        if (const auto left = runs_.left(workload, began.value_or(now), now, pace_)) {
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
  const RunHistory& runs_;
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
  RunHistory runs;
  std::vector<Object> taking_part;
  std::map<std::string, std::set<std::string>> job_queues;  // of FournosJobs, by namespace
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
    if (const auto owner = one.controller();
        ours && owner && owner->kind == api::kFournosJob.name) {
      job_queues[std::string(one.ns())].insert(local->first.name);
    }
    if ((ours && is_waiting(one)) ||
        (holds_quota(one) && in_tree(one.status()["admission"]["clusterQueue"].str()))) {
      taking_part.push_back(one);
    }
  }
  // Their Workloads are deleted at the end.
  for (const auto& [ns, names] : job_queues) {
    for (const Object& job : view.list(api::kFournosJob, {.ns = ns})) {
      runs.add_job(job, names);
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
