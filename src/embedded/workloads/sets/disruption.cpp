// SPDX-License-Identifier: Apache-2.0
// The status of one budget.
#include "embedded/workloads/sets/disruption.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/share.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

// How long an eviction that the budget allowed may take until it no longer counts.
constexpr Duration kDeletionTimeout = std::chrono::minutes(2);

struct Expected {
  std::int64_t pods = 0;     // there should be
  std::int64_t healthy = 0;  // there must be
  bool unmanaged = false;    // some pods have no controller whose size is known
};

class BudgetRun {
 public:
  BudgetRun(const View& view, const Object& budget, Instant now)
      : view_(view), budget_(budget), now_(now) {}

  Plan run() {
    find_pods();
    if (pods_.empty()) {
      emit("Normal", "NoPods", "No matching pods found");
    }
    const Expected expected = expect();
    if (expected.unmanaged) {
      emit(
          "Warning", "UnmanagedPods",
          fmt::format(
              "Pods selected by this PodDisruptionBudget (selector: {}) were found to be "
              "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
              "may result in undefined behavior. To account for these pods please set "
              "\".spec.minAvailable\" field of the PDB to an integer value.",
              selector_text_));
    }
    keep_disrupted();
    write_status(expected);
    return std::move(plan_);
  }

 private:
  void emit(const char* type, const char* reason, std::string note) {
    plan_.then(Emit{.about = {&api::kPodDisruptionBudget, budget_.key()},
                    .about_uid = std::string(budget_.uid()),
                    .type = type,
                    .reason = reason,
                    .note = std::move(note)});
  }

  void find_pods() {
    const Value& spec = budget_.spec()["selector"];
    const auto selector = LabelSelector::from_value(spec);
    if (!selector.ok()) {
      return;
    }
    selector_text_ = selector->text();
    Select select{.ns = std::string(budget_.ns())};
    for (const Member& label : spec["matchLabels"].members()) {
      select.labels.emplace_back(label.key(), label.value.str());
    }
    std::ranges::copy_if(
        view_.list(api::kPod, select), std::back_inserter(pods_),
        [&](const Object& pod) { return selector->matches(pod.metadata()["labels"]); });
  }

  // The size of the workload that made a pod; nullopt: there is none that says.
  std::optional<std::int64_t> scale_of(const OwnerReference& owner, std::string& uid) {
    static constexpr const Kind* kScaled[] = {&api::kReplicaSet, &api::kStatefulSet,
                                              &api::kReplicationController};
    const std::string ns(budget_.ns());
    for (const Kind* kind : kScaled) {
      if (owner.kind != kind->name || owner.api_version != kind->api_version()) {
        continue;
      }
      const auto object = view_.get(*kind, {ns, owner.name});
      if (!object || object->uid() != owner.uid) {
        return std::nullopt;
      }
      const auto above = object->controller();
      if (kind == &api::kReplicaSet && above && above->kind == "Deployment") {
        const auto deployment = view_.get(api::kDeployment, {ns, above->name});
        if (deployment && deployment->uid() == above->uid) {
          uid = std::string(deployment->uid());
          return deployment->spec()["replicas"].as_int(1);
        }
        return std::nullopt;
      }
      uid = std::string(object->uid());
      return object->spec()["replicas"].as_int(1);
    }
    return std::nullopt;
  }

  // The sizes of all workloads the pods come from, together.
  std::int64_t expected_scale(bool& unmanaged) {
    std::map<std::string, std::int64_t> scales;
    for (const Object& pod : pods_) {
      const auto owner = pod.controller();
      std::string uid;
      const auto scale = owner ? scale_of(*owner, uid) : std::nullopt;
      if (scale) {
        scales.insert_or_assign(uid, *scale);
      } else {
        unmanaged = true;
      }
    }
    std::int64_t sum = 0;
    for (const auto& [uid, scale] : scales) {
      sum += scale;
    }
    return sum;
  }

  Expected expect() {
    Expected expected;
    if (const Value& most = budget_.spec()["maxUnavailable"]; !most.is_null()) {
      expected.pods = expected_scale(expected.unmanaged);
      expected.healthy =
          std::max<std::int64_t>(0, expected.pods - share(most, expected.pods, Rounding::Up));
    } else if (const Value& least = budget_.spec()["minAvailable"]; least.is_string()) {
      expected.pods = expected_scale(expected.unmanaged);
      expected.healthy = share(least, expected.pods, Rounding::Up);
    } else {
      expected.pods = static_cast<std::int64_t>(pods_.size());
      expected.healthy = least.as_int();
    }
    return expected;
  }

  // Evictions that were allowed and whose pods are still there count until they time out.
  void keep_disrupted() {
    for (const Member& entry : budget_.status()["disruptedPods"].members()) {
      const auto found =
          std::ranges::find_if(pods_, [&](const Object& pod) { return pod.name() == entry.key(); });
      const auto since = parse_time(entry.value.as_string());
      if (found == pods_.end() || found->deleting() || !since) {
        continue;
      }
      if (*since + kDeletionTimeout <= now_) {
        plan_.then(Emit{.about = {&api::kPod, found->key()},
                        .about_uid = std::string(found->uid()),
                        .type = "Warning",
                        .reason = "NotDeleted",
                        .note = fmt::format("Pod was expected by PDB {}/{} to be deleted but it "
                                            "wasn't",
                                            budget_.ns(), budget_.name())});
        continue;
      }
      disrupted_.set(entry.key(), entry.value);
      plan_.wake_at(*since + kDeletionTimeout);
    }
  }

  [[nodiscard]] std::int64_t healthy() const {
    return std::ranges::count_if(pods_, [&](const Object& pod) {
      return !pod.deleting() && !disrupted_.contains(pod.name()) && is_ready(pod);
    });
  }

  void write_status(const Expected& expected) {
    const std::int64_t current = healthy();
    const std::int64_t allowed =
        expected.pods <= 0 ? 0 : std::max<std::int64_t>(0, current - expected.healthy);
    Value conditions = budget_.status()["conditions"];
    set_allowed(conditions, allowed > 0);
    plan_.then(Status{
        .target = {&api::kPodDisruptionBudget, budget_.key()},
        .status = Value::object({{"currentHealthy", current},
                                 {"desiredHealthy", expected.healthy},
                                 {"disruptionsAllowed", allowed},
                                 {"expectedPods", expected.pods},
                                 {"observedGeneration", budget_.generation()},
                                 {"disruptedPods", disrupted_.empty() ? Value() : disrupted_},
                                 {"conditions", conditions}}),
        .guard = {.uid = std::string(budget_.uid()),
                  .resource_version = std::string(budget_.resource_version())}});
  }

  // A metav1.Condition: its message is there even when empty.
  void set_allowed(Value& conditions, bool allowed) const {
    set_condition(conditions,
                  {.type = "DisruptionAllowed",
                   .status = allowed ? "True" : "False",
                   .reason = allowed ? "SufficientPods" : "InsufficientPods",
                   .message = {},
                   .observed_generation = budget_.generation()},
                  now_);
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      if (conditions[i]["type"].as_string() == "DisruptionAllowed") {
        conditions.item(i).set("message", "");
      }
    }
  }

  const View& view_;
  const Object& budget_;
  Instant now_;
  std::string selector_text_{};
  std::vector<Object> pods_{};
  Value disrupted_ = Value::object();
  Plan plan_{};
};

Plan reconcile_budget(const View& view, const Key& key, Instant now) {
  const auto budget = view.get(api::kPodDisruptionBudget, key);
  return budget && !budget->deleting() ? BudgetRun(view, *budget, now).run() : Plan::done();
}

}  // namespace

const Operator& disruption_operator() {
  static const Kind* const kReads[] = {&api::kPodDisruptionBudget, &api::kPod,
                                       &api::kReplicaSet,          &api::kDeployment,
                                       &api::kStatefulSet,         &api::kReplicationController};
  static const Kind* const kWrites[] = {&api::kPodDisruptionBudget, &api::kEvent};
  static const Operator kOperator{.name = "disruption-controller",
                                  .primary = &api::kPodDisruptionBudget,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_budget};
  return kOperator;
}

}  // namespace athanor::workloads
