// SPDX-License-Identifier: Apache-2.0
// One StatefulSet: pods made in order, removed in reverse, and rolled from the last to the first.
#include "embedded/workloads/sets/stateful_set.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/claim.hpp"
#include "embedded/workloads/closing.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/revisions.hpp"
#include "embedded/workloads/sets/share.hpp"
#include "embedded/workloads/sets/start_failures.hpp"
#include "embedded/workloads/sets/stateful_set_pods.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kHashLabel = "controller.kubernetes.io/hash";  // of revisions

bool is_member(const Object& set, const Object& object) {
  return ordinal_of(set, object) >= 0;
}

bool runs_ready(const Object& pod) {
  return pod.status()["phase"].as_string() == "Running" && is_ready(pod);
}

bool is_healthy(const Object& pod) {
  return runs_ready(pod) && !pod.deleting();
}

// One run. Invariants:
//   - two pods of one ordinal never run: a pod is made only when the view has none of its ordinal,
//     and removed with its uid as guard;
//   - a pod's claims come before it, in the same plan or an earlier one;
//   - in an ordered set (OrderedReady) a pod is made only when all of lower ordinals are available;
//     pods beyond the size go one a run, the highest ordinal first, after all within the size are
//     available;
//   - an update goes from the highest ordinal down to the partition and takes no more available
//     pods down than maxUnavailable leaves; pods that are down anyway are always replaced.
class StatefulSetRun {
 public:
  StatefulSetRun(const View& view, const Object& set, Instant now)
      : view_(view),
        set_(set),
        now_(now),
        ordered_(set.spec()["podManagementPolicy"].as_string() != "Parallel"),
        rolling_(set.spec()["updateStrategy"]["type"].as_string() != "OnDelete"),
        replicas_(set.spec()["replicas"].as_int(1)),
        start_(set.spec()["ordinals"]["start"].as_int()) {}

  Plan run() {
    for (const Object& pod : claim(view_, api::kPod, set_, api::kStatefulSet, plan_, is_member)) {
      pods_.emplace(ordinal_of(set_, pod), pod);
    }
    revisions_ = revisions_of(view_, set_, api::kStatefulSet, plan_);
    choose_revisions();
    count();
    if (!set_.deleting()) {
      sync();
    }
    if (rolling_ && updated_ == all_ && ready_ == all_ && updated_ == replicas_) {
      current_ = update_;
      current_template_ = set_.spec()["template"];
      of_current_ = updated_;
    }
    write_status();
    forget_history();
    closing_.finish(plan_);
    return std::move(plan_);
  }

 private:
  // The revision of the template as it is now, and the one the set comes from.
  void choose_revisions() {
    update_ = latest_revision(set_, api::kStatefulSet, revisions_, kHashLabel, plan_).name;
    current_ = update_;
    current_template_ = set_.spec()["template"];
    for (const Object& revision : revisions_) {
      if (revision.name() == set_.status()["currentRevision"].as_string()) {
        current_ = std::string(revision.name());
        current_template_ = template_of(revision);
      }
    }
  }

  void count() {
    for (const auto& [ordinal, pod] : pods_) {
      if (pod.status()["phase"].as_string().empty()) {
        continue;
      }
      ++all_;
      ready_ += runs_ready(pod) ? 1 : 0;
      available_ += runs_ready(pod) && is_available(pod, min_ready(set_), now_, plan_) ? 1 : 0;
      if (!pod.deleting()) {
        of_current_ += pod.label(kRevisionHashLabel) == current_ ? 1 : 0;
        updated_ += pod.label(kRevisionHashLabel) == update_ ? 1 : 0;
      }
    }
  }

  [[nodiscard]] bool wanted(std::int64_t ordinal) const {
    return ordinal >= start_ && ordinal < start_ + replicas_;
  }

  // Each part may end the run: in an ordered set nothing happens before the step before it is
  // done.
  void sync() {
    find_first_unhealthy();
    for (std::int64_t ordinal = start_; ordinal < start_ + replicas_; ++ordinal) {
      if (keep(ordinal)) {
        return;
      }
    }
    for (const auto& [ordinal, pod] : pods_) {
      if (!wanted(ordinal)) {
        settle_claims(pod, ordinal, true);
      }
    }
    for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
      if (!wanted(at->first) && condemn(at->second)) {
        return;
      }
    }
    if (rolling_ && !closing_.retries()) {
      roll();
    }
  }

  void find_first_unhealthy() {
    for (std::int64_t ordinal = start_; ordinal < start_ + replicas_; ++ordinal) {
      const auto pod = pods_.find(ordinal);
      if (pod == pods_.end() || !is_healthy(pod->second)) {
        first_unhealthy_ = pod_name(set_, ordinal);
        return;
      }
    }
    for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
      if (!wanted(at->first) && !is_healthy(at->second)) {
        first_unhealthy_ = std::string(at->second.name());
        return;
      }
    }
  }

  // Brings the pod of one ordinal nearer to what it should be; true ends the run.
  bool keep(std::int64_t ordinal) {
    const auto found = pods_.find(ordinal);
    if (found == pods_.end()) {
      create(ordinal);
      return ordered_ || closing_.retries();
    }
    const Object& pod = found->second;
    if (is_over(pod)) {
      if (!pod.deleting() && holds_back(pod)) {
        return ordered_;
      }
      if (!pod.deleting()) {
        const bool failed = pod.status()["phase"].as_string() == "Failed";
        closing_.emit(failed ? "Warning" : "Normal",
                      failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
                      fmt::format("StatefulSet {}/{} is recreating {} Pod {}", set_.ns(),
                                  set_.name(), failed ? "failed" : "terminated", pod.name()));
        remove(pod);
      }
      return true;
    }
    if (pod.status()["phase"].as_string() == "Pending") {
      create_claims(ordinal);
    }
    if (ordered_ &&
        (pod.deleting() || !runs_ready(pod) || !is_available(pod, min_ready(set_), now_, plan_))) {
      return true;
    }
    settle_claims(pod, ordinal, false);
    if (!keeps_identity(set_, pod, ordinal)) {
      create_claims(ordinal);
      plan_.then(
          Patch{.target = {&api::kPod, pod.key()},
                .merge = Value::object(
                    {{"metadata",
                      Value::object({{"labels", Value::object({{kPodNameLabel, pod.name()}})}})}}),
                .guard = {.uid = std::string(pod.uid())}});
    }
    return false;
  }

  // A pod that a node refused stays for a while: its replacement has its name.
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

  // A pod made while an update runs is of the old revision below the partition.
  [[nodiscard]] bool starts_from_current(std::int64_t ordinal) const {
    const Value& rolling_update = set_.spec()["updateStrategy"]["rollingUpdate"];
    if (!rolling_) {
      return false;
    }
    return rolling_update.is_object()
               ? ordinal < start_ + rolling_update["partition"].as_int()
               : ordinal < start_ + set_.status()["currentReplicas"].as_int();
  }

  void create(std::int64_t ordinal) {
    if (!create_claims(ordinal)) {
      return;
    }
    const bool from_current = starts_from_current(ordinal);
    Value pod = make_stateful_pod(set_, from_current ? current_template_ : set_.spec()["template"],
                                  ordinal, from_current ? current_ : update_);
    const std::string name = pod_name(set_, ordinal);
    Step step =
        Create{.target = {&api::kPod, {std::string(set_.ns()), name}}, .object = std::move(pod)};
    if (const auto error = refused(view_, step)) {
      closing_.emit("Warning", "FailedCreate",
                    fmt::format("Create Pod {} in StatefulSet {} failed error: {}", name,
                                set_.name(), error->message));
      closing_.retry_last(std::move(step));
      return;
    }
    plan_.then(std::move(step));
    closing_.emit("Normal", "SuccessfulCreate",
                  fmt::format("Create Pod {} in StatefulSet {} successful", name, set_.name()));
  }

  // True when all claims of the ordinal are there, or are being made.
  bool create_claims(std::int64_t ordinal) {
    bool complete = true;
    for (const Value& claim_template : set_.spec()["volumeClaimTemplates"].items()) {
      const std::string name = claim_name(set_, claim_template, ordinal);
      const Ref target{&api::kPersistentVolumeClaim, {std::string(set_.ns()), name}};
      if (const auto claim = view_.get(api::kPersistentVolumeClaim, target.key)) {
        complete = complete && !claim->deleting();  // a new one follows it
        continue;
      }
      Step step = Create{.target = target, .object = make_claim(set_, claim_template, ordinal)};
      const std::string what = fmt::format("Create Claim {} Pod {} in StatefulSet {}", name,
                                           pod_name(set_, ordinal), set_.name());
      if (const auto error = refused(view_, step)) {
        closing_.emit("Warning", "FailedCreate",
                      fmt::format("{} failed error: {}", what, error->message));
        closing_.retry_last(std::move(step));
        return false;
      }
      plan_.then(std::move(step));
      closing_.emit("Normal", "SuccessfulCreate", what + " success");
    }
    return complete;
  }

  void settle_claims(const Object& pod, std::int64_t ordinal, bool condemned) {
    for (const Value& claim_template : set_.spec()["volumeClaimTemplates"].items()) {
      const Key key{std::string(set_.ns()), claim_name(set_, claim_template, ordinal)};
      const auto claim = view_.get(api::kPersistentVolumeClaim, key);
      if (!claim) {
        continue;
      }
      if (const auto other = claim->controller();
          other && other->uid != set_.uid() && other->uid != pod.uid()) {
        closing_.emit(
            "Warning", "ConflictingController",
            fmt::format("PersistentVolumeClaim {} belongs to {} {}: its retention policy is "
                        "not changed",
                        key.name, other->kind, other->name));
        continue;
      }
      Value owners = claim_owners(set_, pod, *claim, condemned);
      const Value& present = claim->metadata()["ownerReferences"];
      if (owners == present || (owners.empty() && present.empty())) {
        continue;
      }
      plan_.then(Patch{.target = {&api::kPersistentVolumeClaim, key},
                       .merge = Value::object(
                           {{"metadata", Value::object({{"ownerReferences",
                                                         owners.empty() ? Value() : owners}})}}),
                       .guard = {.uid = std::string(claim->uid()),
                                 .resource_version = std::string(claim->resource_version())}});
    }
  }

  void remove(const Object& pod) {
    plan_.then(Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
    closing_.emit(
        "Normal", "SuccessfulDelete",
        fmt::format("Delete Pod {} in StatefulSet {} successful", pod.name(), set_.name()));
  }

  // Takes away a pod beyond the set's size; true ends the run.
  bool condemn(const Object& pod) {
    if (pod.deleting()) {
      return ordered_;
    }
    const bool first = pod.name() == first_unhealthy_;
    if (ordered_ && !first &&
        (!runs_ready(pod) || !is_available(pod, min_ready(set_), now_, plan_))) {
      return true;
    }
    remove(pod);
    gone(pod);
    return ordered_;
  }

  void gone(const Object& pod) {
    of_current_ -= pod.label(kRevisionHashLabel) == current_ ? 1 : 0;
    updated_ -= pod.label(kRevisionHashLabel) == update_ ? 1 : 0;
  }

  // From the last pod down to the partition, as many at once as may be unavailable.
  void roll() {
    const Value& rolling_update = set_.spec()["updateStrategy"]["rollingUpdate"];
    const std::int64_t most =
        std::max<std::int64_t>(1, share(rolling_update["maxUnavailable"], replicas_, Rounding::Up));
    std::int64_t unavailable = 0;
    for (std::int64_t ordinal = start_; ordinal < start_ + replicas_; ++ordinal) {
      const auto pod = pods_.find(ordinal);
      const bool up = pod != pods_.end() && is_healthy(pod->second) &&
                      is_available(pod->second, min_ready(set_), now_, plan_);
      unavailable += up ? 0 : 1;
    }
    const std::int64_t least = start_ + rolling_update["partition"].as_int();
    std::int64_t room = most - unavailable;
    for (std::int64_t ordinal = start_ + replicas_ - 1; ordinal >= least; --ordinal) {
      const auto found = pods_.find(ordinal);
      if (found == pods_.end()) {
        continue;
      }
      const Object& pod = found->second;
      if (pod.label(kRevisionHashLabel) != update_ && !pod.deleting()) {
        // One that is down already costs nothing: a broken update can be replaced.
        const bool down = !is_healthy(pod);
        if (!down && room <= 0) {
          return;
        }
        remove(pod);
        of_current_ -= pod.label(kRevisionHashLabel) == current_ ? 1 : 0;
        room -= down ? 0 : 1;
        if (most == 1) {
          return;
        }
      } else if (most == 1 && !is_healthy(pod)) {
        return;
      }
    }
  }

  [[nodiscard]] Value conditions() const {
    Value conditions = set_.status()["conditions"];
    const Object* failed = nullptr;
    std::int64_t started = 0;
    for (const auto& [ordinal, pod] : pods_) {
      failed = failed_to_start(pod) ? &pod : failed;
      started += wanted(ordinal) && has_started(pod) ? 1 : 0;
    }
    note_start_failure(conditions, failed, started == replicas_, now_);
    return conditions;
  }

  void write_status() {
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    plan_.then(Status{
        .target = {&api::kStatefulSet, set_.key()},
        .status = Value::object({{"observedGeneration", set_.generation()},
                                 {"replicas", all_},
                                 {"readyReplicas", count(ready_)},
                                 {"currentReplicas", count(std::max<std::int64_t>(of_current_, 0))},
                                 {"updatedReplicas", count(std::max<std::int64_t>(updated_, 0))},
                                 {"availableReplicas", available_},
                                 {"currentRevision", current_},
                                 {"updateRevision", update_},
                                 {"conditions", conditions()},
                                 {"collisionCount", set_.status()["collisionCount"].as_int()}}),
        .guard = {.uid = std::string(set_.uid())}});
  }

  void forget_history() {
    std::set<std::string> live{current_, update_};
    for (const auto& [ordinal, pod] : pods_) {
      live.emplace(pod.label(kRevisionHashLabel));
    }
    if (!set_.deleting()) {
      truncate_history(set_, revisions_, live, plan_);
    }
  }

  const View& view_;
  const Object& set_;
  Instant now_;
  bool ordered_;
  bool rolling_;
  std::int64_t replicas_;
  std::int64_t start_;
  std::map<std::int64_t, Object> pods_{};
  std::vector<Object> revisions_{};
  std::string update_{};  // the names of revisions
  std::string current_{};
  Value current_template_{};
  std::string first_unhealthy_{};
  std::int64_t all_ = 0;
  std::int64_t ready_ = 0;
  std::int64_t available_ = 0;
  std::int64_t of_current_ = 0;
  std::int64_t updated_ = 0;
  Closing closing_{api::kStatefulSet, set_};
  Plan plan_{};
};

Plan reconcile_stateful_set(const View& view, const Key& key, Instant now) {
  const auto set = view.get(api::kStatefulSet, key);
  return set ? StatefulSetRun(view, *set, now).run() : Plan::done();
}

}  // namespace

const Operator& stateful_set_operator() {
  static const Kind* const kReads[] = {&api::kStatefulSet, &api::kPod, &api::kControllerRevision,
                                       &api::kPersistentVolumeClaim};
  static const Kind* const kWrites[] = {&api::kStatefulSet, &api::kPod, &api::kControllerRevision,
                                        &api::kPersistentVolumeClaim, &api::kEvent};
  static const Operator kOperator{.name = "statefulset-controller",
                                  .primary = &api::kStatefulSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_stateful_set};
  return kOperator;
}

}  // namespace athanor::workloads
