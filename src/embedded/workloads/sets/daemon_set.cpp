// SPDX-License-Identifier: Apache-2.0
// One DaemonSet: a pod for each node, old ones replaced within the bounds of the update.
#include "embedded/workloads/sets/daemon_set.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/claim.hpp"
#include "embedded/workloads/closing.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/daemon_set_nodes.hpp"
#include "embedded/workloads/sets/revisions.hpp"
#include "embedded/workloads/sets/share.hpp"
#include "embedded/workloads/sets/start_failures.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr std::size_t kMostDaemonChanges = 200;  // of pods in one plan; the rest follows

bool older(const Object& a, const Object& b) {
  return a.creation_time() != b.creation_time() ? a.creation_time() < b.creation_time()
                                                : a.name() < b.name();
}

// The pods of one node that are not being deleted, by template.
struct Placed {
  const Object* fresh = nullptr;
  const Object* old = nullptr;
  bool clear = true;  // at most one of each
};

class DaemonSetRun {
 public:
  DaemonSetRun(const View& view, const Object& set, Instant now)
      : view_(view), set_(set), now_(now), pod_spec_(daemon_pod_spec(set)) {}

  Plan run() {
    pods_ = claim(view_, api::kPod, set_, api::kDaemonSet, plan_);
    for (const Object& pod : pods_) {
      taken_.emplace(pod.name());
      on_node_[node_of(pod)].push_back(pod);
    }
    for (auto& [node, pods] : on_node_) {
      std::ranges::sort(pods, older);
    }
    nodes_ = view_.list(api::kNode);
    revisions_ = revisions_of(view_, set_, api::kDaemonSet, plan_);
    current_ = latest_revision(set_, api::kDaemonSet, revisions_, kRevisionHashLabel, plan_);
    count();
    if (!set_.deleting()) {
      manage();
      if (set_.spec()["updateStrategy"]["type"].as_string() != "OnDelete") {
        roll();
      }
    }
    write_status();
    forget_history();
    closing_.finish(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_fresh(const Object& pod) const {
    return pod.label(kRevisionHashLabel) == current_.hash;
  }

  void count() {
    for (const Object& node : nodes_) {
      const auto found = on_node_.find(std::string(node.name()));
      const bool has = found != on_node_.end();
      if (!daemon_fit(pod_spec_, node).start) {
        misscheduled_ += has ? 1 : 0;
        continue;
      }
      ++desired_;
      if (!has) {
        continue;
      }
      ++current_count_;
      const auto live =
          std::ranges::find_if(found->second, [](const Object& pod) { return !pod.deleting(); });
      const Object& pod = live == found->second.end() ? found->second.front() : *live;
      started_ += has_started(pod) ? 1 : 0;
      if (is_ready(pod)) {
        ++ready_;
        available_ += is_available(pod, min_ready(set_), now_, plan_) ? 1 : 0;
      }
      updated_ += is_fresh(pod) ? 1 : 0;
    }
  }

  void manage() {
    for (const Object& node : nodes_) {
      const DaemonFit fit = daemon_fit(pod_spec_, node);
      const auto found = on_node_.find(std::string(node.name()));
      if (found != on_node_.end() && !fit.stay) {
        for (const Object& pod : found->second) {
          remove(pod);
        }
      } else if (found != on_node_.end()) {
        thin_out(found->second, std::string(node.name()));
      } else if (fit.start) {
        create(std::string(node.name()));
      }
    }
    std::set<std::string_view> known;
    for (const Object& node : nodes_) {
      known.insert(node.name());
    }
    for (const Object& pod : pods_) {
      if (pod.spec()["nodeName"].as_string().empty() && !known.contains(node_of(pod))) {
        remove(pod);  // its node is gone, it will never be scheduled
      }
    }
  }

  // What is over is replaced; of those that run, one stays: one of each template while surging.
  void thin_out(const std::vector<Object>& pods, const std::string& node) {
    std::vector<const Object*> running;
    for (const Object& pod : pods) {
      if (pod.deleting()) {
        continue;
      }
      if (!is_over(pod)) {
        running.push_back(&pod);
        continue;
      }
      if (holds_back(pod)) {
        continue;
      }
      const bool failed = pod.status()["phase"].as_string() == "Failed";
      closing_.emit(failed ? "Warning" : "Normal",
                    failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                    fmt::format("Found {} daemon pod {}/{} on node {}, will try to {} it",
                                failed ? "failed" : "succeeded", pod.ns(), pod.name(), node,
                                failed ? "kill" : "delete"));
      remove(pod);
    }
    bool has_fresh = false;
    bool has_old = false;
    for (const Object* pod : running) {
      bool& has = max_surge() > 0 && is_fresh(*pod) ? has_fresh : has_old;
      if (has) {
        remove(*pod);
      }
      has = true;
    }
  }

  // A pod that its node refused stays for a while: it holds the place of its replacement.
  bool holds_back(const Object& pod) {
    if (!failed_to_start(pod)) {
      return false;
    }
    const Instant due = removal_due(set_.status()["conditions"], pod);
    if (due <= now_) {
      return false;
    }
    plan_.wake_at(due);
    return true;
  }

  [[nodiscard]] Value conditions() const {
    Value conditions = set_.status()["conditions"];
    const auto failed = std::ranges::find_if(pods_, failed_to_start);
    note_start_failure(conditions, failed == pods_.end() ? nullptr : &*failed, started_ == desired_,
                       now_);
    return conditions;
  }

  [[nodiscard]] std::int64_t bound(const char* name) const {
    const Value& update = set_.spec()["updateStrategy"]["rollingUpdate"];
    return share(update[name], desired_, Rounding::Up);
  }
  [[nodiscard]] std::int64_t max_surge() const { return bound("maxSurge"); }
  [[nodiscard]] std::int64_t max_unavailable() const {
    const Value& update = set_.spec()["updateStrategy"]["rollingUpdate"];
    const std::int64_t most = update.contains("maxUnavailable") ? bound("maxUnavailable") : 1;
    return most == 0 && max_surge() == 0 ? 1 : most;
  }

  [[nodiscard]] Placed placed(const std::vector<Object>& pods) const {
    Placed result;
    for (const Object& pod : pods) {
      if (pod.deleting()) {
        continue;
      }
      const Object*& place = is_fresh(pod) ? result.fresh : result.old;
      result.clear = result.clear && place == nullptr;
      place = &pod;
    }
    return result;
  }

  [[nodiscard]] bool serves(const Object* pod) {
    return pod != nullptr && is_available(*pod, min_ready(set_), now_, plan_);
  }

  void roll() {
    for (const Object& node : nodes_) {
      if (daemon_fit(pod_spec_, node).start) {
        on_node_.try_emplace(std::string(node.name()));  // one without a pod is unavailable
      }
    }
    if (max_surge() == 0) {
      replace_in_place();
    } else {
      replace_after_surge();
    }
  }

  void replace_in_place() {
    std::int64_t unavailable = 0;
    std::vector<const Object*> down;
    std::vector<const Object*> up;
    for (const auto& [node, pods] : on_node_) {
      const Placed here = placed(pods);
      if (!here.clear) {
        continue;
      }
      if ((here.old == nullptr) == (here.fresh == nullptr)) {
        ++unavailable;  // it comes, or one of two goes
      } else if (here.fresh != nullptr) {
        unavailable += serves(here.fresh) ? 0 : 1;
      } else if (serves(here.old)) {
        up.push_back(here.old);
      } else {
        ++unavailable;
        down.push_back(here.old);
      }
    }
    for (const Object* pod : down) {
      remove(*pod);
    }
    const std::int64_t room = std::max<std::int64_t>(0, max_unavailable() - unavailable);
    for (std::size_t i = 0; i < up.size() && static_cast<std::int64_t>(i) < room; ++i) {
      remove(*up[i]);
    }
  }

  void replace_after_surge() {
    std::int64_t surging = 0;
    std::vector<const Object*> done;
    std::vector<std::string> at_once;
    std::vector<std::string> candidates;
    for (const auto& [node, pods] : on_node_) {
      const Placed here = placed(pods);
      if (!here.clear || here.old == nullptr) {
        continue;
      }
      if (here.fresh == nullptr) {
        (serves(here.old) ? candidates : at_once).push_back(node);
        continue;
      }
      if (!serves(here.old)) {
        done.push_back(here.old);
      } else {
        ++surging;
        if (serves(here.fresh)) {
          done.push_back(here.old);
        }
      }
    }
    for (const Object* pod : done) {
      remove(*pod);
    }
    for (const std::string& node : at_once) {
      create(node);
    }
    const std::int64_t room = std::max<std::int64_t>(0, max_surge() - surging);
    for (std::size_t i = 0; i < candidates.size() && static_cast<std::int64_t>(i) < room; ++i) {
      create(candidates[i]);
    }
  }

  void create(const std::string& node) {
    if (closing_.retries() || changes_++ >= kMostDaemonChanges) {
      return;
    }
    // The second is part of the name: a pod that replaces another has one of its own.
    std::string name;
    for (int attempt = 0; name.empty() || !taken_.insert(name).second; ++attempt) {
      name = hashed_name(fmt::format("{}-", set_.name()),
                         fmt::format("{}/{}/{}/{}/{}", set_.uid(), node, current_.hash,
                                     format_time(now_), attempt));
    }
    Step step = Create{.target = {&api::kPod, {std::string(set_.ns()), name}},
                       .object = make_daemon_pod(set_, name, node, current_.hash)};
    if (const auto error = refused(view_, step)) {
      closing_.emit("Warning", "FailedCreate", fmt::format("Error creating: {}", error->message));
      closing_.retry_last(std::move(step));
      return;
    }
    plan_.then(std::move(step));
    closing_.emit("Normal", "SuccessfulCreate", fmt::format("Created pod: {}", name));
  }

  void remove(const Object& pod) {
    if (pod.deleting() || removed_.contains(std::string(pod.name())) ||
        changes_++ >= kMostDaemonChanges) {
      return;
    }
    removed_.emplace(pod.name());
    plan_.then(Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
    closing_.emit("Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", pod.name()));
  }

  void write_status() {
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    plan_.then(Status{.target = {&api::kDaemonSet, set_.key()},
                      .status = Value::object({{"currentNumberScheduled", current_count_},
                                               {"numberMisscheduled", misscheduled_},
                                               {"desiredNumberScheduled", desired_},
                                               {"numberReady", ready_},
                                               {"observedGeneration", set_.generation()},
                                               {"updatedNumberScheduled", count(updated_)},
                                               {"numberAvailable", count(available_)},
                                               {"numberUnavailable", count(desired_ - available_)},
                                               {"conditions", conditions()}}),
                      .guard = {.uid = std::string(set_.uid())}});
  }

  void forget_history() {
    if (set_.deleting()) {
      return;
    }
    std::set<std::string> live{current_.name};
    for (const Object& revision : revisions_) {
      const bool used = std::ranges::any_of(pods_, [&](const Object& pod) {
        return pod.label(kRevisionHashLabel) == revision.label(kRevisionHashLabel);
      });
      if (used) {
        live.emplace(revision.name());
      }
    }
    truncate_history(set_, revisions_, live, plan_);
  }

  const View& view_;
  const Object& set_;
  Instant now_;
  Value pod_spec_;
  std::vector<Object> pods_{};
  std::vector<Object> nodes_{};
  std::map<std::string, std::vector<Object>> on_node_{};
  std::set<std::string> taken_{};    // names of pods
  std::set<std::string> removed_{};  // by this plan
  std::vector<Object> revisions_{};
  RevisionName current_{};  // of the template as it is now
  std::int64_t desired_ = 0;
  std::int64_t current_count_ = 0;
  std::int64_t misscheduled_ = 0;
  std::int64_t ready_ = 0;
  std::int64_t started_ = 0;
  std::int64_t available_ = 0;
  std::int64_t updated_ = 0;
  std::size_t changes_ = 0;
  Closing closing_{api::kDaemonSet, set_};
  Plan plan_{};
};

Plan reconcile_daemon_set(const View& view, const Key& key, Instant now) {
  const auto set = view.get(api::kDaemonSet, key);
  return set ? DaemonSetRun(view, *set, now).run() : Plan::done();
}

}  // namespace

const Operator& daemon_set_operator() {
  static const Kind* const kReads[] = {&api::kDaemonSet, &api::kPod, &api::kNode,
                                       &api::kControllerRevision};
  static const Kind* const kWrites[] = {&api::kDaemonSet, &api::kPod, &api::kControllerRevision,
                                        &api::kEvent};
  static const Kind* const kSmall[] = {&api::kNode};
  static const Operator kOperator{.name = "daemonset-controller",
                                  .primary = &api::kDaemonSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_daemon_set,
                                  .user = "system:serviceaccount:kube-system:daemon-set-controller",
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::workloads
