// SPDX-License-Identifier: Apache-2.0
// One ReplicaSet or ReplicationController: pods made, pods removed, pods counted.
#include "embedded/workloads/sets/replica_set.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/workloads/claim.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/start_failures.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

// In one plan; the pods that change run the set again for the rest.
constexpr std::int64_t kMostChanges = 100;

class ReplicaSetRun {
 public:
  ReplicaSetRun(const View& view, const Kind& kind, const Object& set, Instant now)
      : view_(view), kind_(kind), set_(set), now_(now) {
    pods_ = claim(view, api::kPod, set, kind, plan_);
    std::ranges::copy_if(pods_, std::back_inserter(active_), is_active);
  }

  Plan run() {
    if (!set_.deleting()) {
      const std::int64_t missing =
          set_.spec()["replicas"].as_int(1) - static_cast<std::int64_t>(active_.size());
      const bool settled = missing <= 0 && std::ranges::all_of(active_, has_started);
      const bool waits = !settled && holds_back();
      if (missing > 0 && !waits) {
        create(std::min(missing, kMostChanges));
      } else if (missing < 0) {
        remove(std::min(-missing, kMostChanges));
      }
    }
    write_status();
    for (Emit& event : events_) {
      plan_.then(std::move(event));
    }
    if (refused_) {
      plan_.then(*std::move(refused_));  // last, and again after a while
    }
    return std::move(plan_);
  }

 private:
  void emit(const char* type, const char* reason, std::string note) {
    events_.push_back({.about = {&kind_, set_.key()},
                       .about_uid = std::string(set_.uid()),
                       .type = type,
                       .reason = reason,
                       .note = std::move(note)});
  }

  // Pods that a node refuses are replaced slowly.
  [[nodiscard]] bool holds_back() {
    const auto trouble = start_trouble(pods_);
    if (!trouble) {
      return false;
    }
    failure_ = {.reason = "PodsFailToStart",
                .message = fmt::format("pods fail before a container starts ({}); their "
                                       "replacements wait 10 s to 5 min",
                                       trouble->cause)};
    if (trouble->due <= now_) {
      return false;
    }
    plan_.wake_at(trouble->due);
    return true;
  }

  void create(std::int64_t count) {
    std::set<std::string> taken = names_of(pods_);
    for (std::int64_t ordinal = 0; count > 0; ++ordinal) {
      // The second is part of the name: a pod that replaces another has one of its own.
      const std::string name =
          hashed_name(fmt::format("{}-", set_.name()),
                      fmt::format("{}/{}/{}", set_.uid(), format_time(now_), ordinal));
      if (!taken.insert(name).second) {
        continue;
      }
      --count;
      Step step = Create{.target = {&api::kPod, {std::string(set_.ns()), name}},
                         .object = make_pod(set_, kind_, set_.spec()["template"], name,
                                            fmt::format("{}-", set_.name()))};
      if (const auto error = refused(view_, step)) {
        emit("Warning", "FailedCreate", fmt::format("Error creating: {}", error->message));
        failure_ = {.reason = "FailedCreate", .message = error->message};
        refused_ = std::move(step);
        return;
      }
      plan_.then(std::move(step));
      emit("Normal", "SuccessfulCreate", fmt::format("Created pod: {}", name));
    }
  }

  void remove(std::int64_t count) {
    by_removal_order(active_);
    for (const Object& pod : active_) {
      if (count-- <= 0) {
        return;
      }
      plan_.then(
          Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
      emit("Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", pod.name()));
    }
  }

  void write_status() {
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t labelled = 0;
    for (const Object& pod : active_) {
      ready += is_ready(pod) ? 1 : 0;
      available += is_available(pod, min_ready(set_), now_, plan_) ? 1 : 0;
      const Value& labels = set_.spec().at({"template", "metadata", "labels"});
      labelled += std::ranges::all_of(labels.members(), [&](const Member& label) {
        return pod.metadata()["labels"][label.key()] == label.value;
      });
    }
    const auto terminating = std::ranges::count_if(
        pods_, [](const Object& pod) { return pod.deleting() && !is_over(pod); });
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    // A ReplicationController does not count them.
    const auto terminated = [&](std::ptrdiff_t number) {
      return &kind_ == &api::kReplicaSet ? Value(static_cast<std::int64_t>(number)) : Value();
    };
    Value conditions = set_.status()["conditions"];
    const bool failing = condition_is(conditions, "ReplicaFailure", "True");
    const bool known =
        failing && find_condition(conditions, "ReplicaFailure")["reason"].str() == failure_.reason;
    if (!failure_.reason.empty() && !known) {
      set_condition(conditions,
                    {.type = "ReplicaFailure",
                     .status = "True",
                     .reason = failure_.reason,
                     .message = failure_.message},
                    now_);
    } else if (failure_.reason.empty() && failing) {
      conditions = Value();  // it is the only one a ReplicaSet has
    }
    plan_.then(
        Status{.target = {&kind_, set_.key()},
               .status = Value::object({{"replicas", static_cast<std::int64_t>(active_.size())},
                                        {"fullyLabeledReplicas", count(labelled)},
                                        {"readyReplicas", count(ready)},
                                        {"availableReplicas", count(available)},
                                        {"terminatingReplicas", terminated(terminating)},
                                        {"conditions", conditions},
                                        {"observedGeneration", set_.generation()}}),
               .guard = {.uid = std::string(set_.uid())}});
  }

  const View& view_;
  const Kind& kind_;
  const Object& set_;
  Instant now_;
  std::vector<Object> pods_{};
  std::vector<Object> active_{};
  struct Failure {
    std::string reason{}, message{};
  };
  Failure failure_{};  // for condition ReplicaFailure; without a reason: none
  std::optional<Step> refused_{};
  std::vector<Emit> events_{};
  Plan plan_{};
};

Plan reconcile_replica_set(const View& view, const Key& key, Instant now) {
  const auto set = view.get(api::kReplicaSet, key);
  return set ? ReplicaSetRun(view, api::kReplicaSet, *set, now).run() : Plan::done();
}

// The same with the older form of a selector: labels alone.
Plan reconcile_controller(const View& view, const Key& key, Instant now) {
  const auto controller = view.get(api::kReplicationController, key);
  if (!controller) {
    return Plan::done();
  }
  Value body = controller->body();
  const Value selector = body["spec"]["selector"];
  body.member("spec").set("selector", Value::object({{"matchLabels", selector}}));
  const Object modern(body);
  return ReplicaSetRun(view, api::kReplicationController, modern, now).run();
}

}  // namespace

const Operator& replica_set_operator() {
  static const Kind* const kReads[] = {&api::kReplicaSet, &api::kPod};
  static const Kind* const kWrites[] = {&api::kReplicaSet, &api::kPod, &api::kEvent};
  static const Operator kOperator{.name = "replicaset-controller",
                                  .primary = &api::kReplicaSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_replica_set};
  return kOperator;
}

const Operator& replication_controller_operator() {
  static const Kind* const kReads[] = {&api::kReplicationController, &api::kPod};
  static const Kind* const kWrites[] = {&api::kReplicationController, &api::kPod, &api::kEvent};
  static const Operator kOperator{
      .name = "replicationcontroller-controller",
      .primary = &api::kReplicationController,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile_controller,
      .user = "system:serviceaccount:kube-system:replication-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
