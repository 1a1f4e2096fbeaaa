// SPDX-License-Identifier: Apache-2.0
// One ReplicaSet: pods made, pods removed, pods counted.
#include "embedded/workloads/replica_set.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

// In one plan; the pods that change run the set again for the rest.
constexpr std::int64_t kMostChanges = 100;

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

class ReplicaSetRun {
 public:
  ReplicaSetRun(const View& view, const Object& set, Instant now)
      : view_(view), set_(set), now_(now) {
    pods_ = view.list(
        api::kPod,
        {.ns = std::string(set.ns()), .index = "owner", .index_value = std::string(set.uid())});
    std::ranges::copy_if(pods_, std::back_inserter(active_),
                         [](const Object& pod) { return !pod.deleting() && !is_over(pod); });
  }

  Plan run() {
    write_status();
    if (!set_.deleting()) {
      const std::int64_t missing =
          set_.spec()["replicas"].as_int(1) - static_cast<std::int64_t>(active_.size());
      if (missing > 0) {
        create(std::min(missing, kMostChanges));
      } else if (missing < 0) {
        remove(std::min(-missing, kMostChanges));
      }
    }
    return std::move(plan_);
  }

 private:
  void emit(const char* type, const char* reason, std::string note) {
    plan_.then(Emit{.about = {&api::kReplicaSet, set_.key()},
                    .about_uid = std::string(set_.uid()),
                    .type = type,
                    .reason = reason,
                    .note = std::move(note)});
  }

  [[nodiscard]] Value make_pod(const std::string& name) const {
    const Value& pod_template = set_.spec()["template"];
    Value metadata = Value::object({{"name", name}, {"namespace", set_.ns()}});
    for (const char* part : {"labels", "annotations"}) {
      if (pod_template["metadata"].contains(part)) {
        metadata.set(part, pod_template["metadata"][part]);
      }
    }
    metadata.set("ownerReferences", Value::list({OwnerReference{.api_version = "apps/v1",
                                                                .kind = "ReplicaSet",
                                                                .name = std::string(set_.name()),
                                                                .uid = std::string(set_.uid()),
                                                                .controller = true,
                                                                .block_owner_deletion = true}
                                                     .to_value()}));
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata", metadata},
                          {"spec", pod_template["spec"]}});
  }

  void create(std::int64_t count) {
    std::set<std::string> taken = names_of(pods_);
    for (std::int64_t ordinal = 0; count > 0; ++ordinal) {
      const std::string name =
          hashed_name(fmt::format("{}-", set_.name()), fmt::format("{}/{}", set_.uid(), ordinal));
      if (!taken.insert(name).second) {
        continue;
      }
      --count;
      Step step =
          Create{.target = {&api::kPod, {std::string(set_.ns()), name}}, .object = make_pod(name)};
      if (const auto error = refused(view_, step)) {
        emit("Warning", "FailedCreate", fmt::format("Error creating: {}", error->message));
        plan_.then(std::move(step));  // last, and again after a while
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

  // Ready for spec.minReadySeconds.
  bool is_available(const Object& pod) {
    if (!is_ready(pod)) {
      return false;
    }
    const Value& ready = find_condition(pod.status()["conditions"], "Ready");
    const auto since = parse_time(ready["lastTransitionTime"].as_string());
    const Duration wanted = std::chrono::seconds(set_.spec()["minReadySeconds"].as_int());
    if (wanted == Duration::zero() || !since || *since + wanted <= now_) {
      return true;
    }
    plan_.wake_at(*since + wanted);
    return false;
  }

  void write_status() {
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t labelled = 0;
    for (const Object& pod : active_) {
      ready += is_ready(pod) ? 1 : 0;
      available += is_available(pod) ? 1 : 0;
      const Value& labels = set_.spec().at({"template", "metadata", "labels"});
      labelled += std::ranges::all_of(labels.members(), [&](const Member& label) {
        return pod.metadata()["labels"][label.key()] == label.value;
      });
    }
    const auto terminating = std::ranges::count_if(
        pods_, [](const Object& pod) { return pod.deleting() && !is_over(pod); });
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    plan_.then(Status{
        .target = {&api::kReplicaSet, set_.key()},
        .status = Value::object({{"replicas", static_cast<std::int64_t>(active_.size())},
                                 {"fullyLabeledReplicas", count(labelled)},
                                 {"readyReplicas", count(ready)},
                                 {"availableReplicas", count(available)},
                                 {"terminatingReplicas", static_cast<std::int64_t>(terminating)},
                                 {"observedGeneration", set_.generation()}}),
        .guard = {.uid = std::string(set_.uid())}});
  }

  const View& view_;
  const Object& set_;
  Instant now_;
  std::vector<Object> pods_{};
  std::vector<Object> active_{};
  Plan plan_{};
};

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto set = view.get(api::kReplicaSet, key);
  return set ? ReplicaSetRun(view, *set, now).run() : Plan::done();
}

}  // namespace

const Operator& replica_set_operator() {
  static const Kind* const kReads[] = {&api::kReplicaSet, &api::kPod};
  static const Kind* const kWrites[] = {&api::kReplicaSet, &api::kPod, &api::kEvent};
  static const Operator kOperator{.name = "replicaset-controller",
                                  .primary = &api::kReplicaSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::workloads
