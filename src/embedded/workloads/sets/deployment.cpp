// SPDX-License-Identifier: Apache-2.0
// One deployment: its ReplicaSets' sizes, their history, and its status.
#include "embedded/workloads/sets/deployment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "api/builtin.hpp"
#include "embedded/workloads/claim.hpp"
#include "embedded/workloads/closing.hpp"
#include "embedded/workloads/sets/deployment_facts.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr std::int64_t kHistory = 10;
constexpr std::int64_t kProgressSeconds = 600;
constexpr Duration kForEver =
    std::chrono::seconds(std::numeric_limits<std::int32_t>::max());  // no deadline

class DeploymentRun {
 public:
  DeploymentRun(DeploymentFacts facts, Instant now)
      : facts_(std::move(facts)), now_(now), conditions_(facts_.deployment.status()["conditions"]) {
    revision_ = facts_.current ? revision_of(*facts_.current) : 0;
    for (const Object& set : facts_.old) {
      highest_ = std::max(highest_, revision_of(set));
    }
  }

  Plan run() {
    if (!facts_.deployment.deleting()) {
      roll();
      tidy();
    }
    write_status();
    closing_.finish(plan_);
    return std::move(plan_);
  }

 private:
  void emit(std::string note) { closing_.emit("Normal", "ScalingReplicaSet", std::move(note)); }

  void scaled(std::string_view set, std::int64_t from, std::int64_t to) {
    emit(fmt::format("Scaled {} replica set {} from {} to {}", to > from ? "up" : "down", set, from,
                     to));
  }

  void roll() {
    const auto sizes = wanted_sizes(facts_);
    for (const Object& set : facts_.old) {
      resize(set, sizes.at(std::string(set.name())));
    }
    if (facts_.current) {
      // Guarded by the version, so first: what follows changes it.
      resize(*facts_.current, sizes.at(std::string(facts_.current->name())));
      adopt_revision();
      share_annotations();
    } else if (!facts_.paused) {
      revision_ = highest_ + 1;
      const std::int64_t size = sizes.at({});
      Value set = make_replica_set(facts_, size, revision_);
      const std::string name = set["metadata"]["name"].str();
      plan_.then(Create{.target = {&api::kReplicaSet, {std::string(facts_.deployment.ns()), name}},
                        .object = std::move(set)});
      created_ = name;
      if (size > 0) {
        scaled(name, 0, size);
      }
    }
    if (const std::string text = fmt::format("{}", revision_);
        revision_ > 0 && facts_.deployment.annotation(kRevisionAnnotation) != text) {
      plan_.then(Patch{
          .target = {&api::kDeployment, facts_.deployment.key()},
          .merge = Value::object(
              {{"metadata",
                Value::object({{"annotations", Value::object({{kRevisionAnnotation, text}})}})}}),
          .guard = {.uid = std::string(facts_.deployment.uid())}});
    }
  }

  // What the deployment says of itself, its ReplicaSet says, too.
  void share_annotations() {
    Value changes = Value::object();
    const Value shared = shared_annotations(facts_.deployment);
    for (const Member& annotation : shared.members()) {
      if (facts_.current->annotation(annotation.key()) != annotation.value.as_string()) {
        changes.set(annotation.key(), annotation.value);
      }
    }
    Value merge = Value::object();
    if (!changes.empty()) {
      merge.set_path({"metadata", "annotations"}, changes);
    }
    const Value& ready = facts_.deployment.spec()["minReadySeconds"];
    if (facts_.current->spec()["minReadySeconds"].as_int() != ready.as_int()) {
      merge.set_path({"spec", "minReadySeconds"}, ready.as_int());
    }
    if (!merge.empty()) {
      plan_.then(Patch{.target = {&api::kReplicaSet, facts_.current->key()},
                       .merge = std::move(merge),
                       .guard = {.uid = std::string(facts_.current->uid())}});
    }
  }

  // A template that came back (a rollback) is a new revision of its old ReplicaSet.
  void adopt_revision() {
    if (revision_ > highest_) {
      return;
    }
    revision_ = highest_ + 1;
    Value annotations = Value::object({{kRevisionAnnotation, fmt::format("{}", revision_)}});
    if (const std::string_view before = facts_.current->annotation(kRevisionAnnotation);
        !before.empty()) {
      const std::string_view history = facts_.current->annotation(kRevisionHistoryAnnotation);
      annotations.set(kRevisionHistoryAnnotation, history.empty()
                                                      ? std::string(before)
                                                      : fmt::format("{},{}", history, before));
    }
    plan_.then(
        Patch{.target = {&api::kReplicaSet, facts_.current->key()},
              .merge = Value::object({{"metadata", Value::object({{"annotations", annotations}})}}),
              .guard = {.uid = std::string(facts_.current->uid())}});
  }

  void resize(const Object& set, std::int64_t size) {
    const Value annotations = size_annotations(facts_);
    const bool annotated = std::ranges::all_of(annotations.members(), [&](const Member& one) {
      return set.annotation(one.key()) == one.value.as_string();
    });
    const bool is_current = facts_.current && set.name() == facts_.current->name();
    if (size_of(set) == size && (annotated || (size == 0 && !is_current))) {
      return;
    }
    Value merge = Value::object({{"metadata", Value::object({{"annotations", annotations}})}});
    if (size_of(set) != size) {
      merge.set_path({"spec", "replicas"}, size);
    }
    plan_.then(Patch{.target = {&api::kReplicaSet, set.key()},
                     .merge = std::move(merge),
                     .guard = {.uid = std::string(set.uid()),
                               .resource_version = std::string(set.resource_version())}});
    if (size_of(set) != size) {
      scaled(set.name(), size_of(set), size);
    }
  }

  // Empty ReplicaSets beyond the history go, oldest revision first.
  void tidy() {
    std::vector<Object> empty;
    std::ranges::copy_if(facts_.old, std::back_inserter(empty), [](const Object& set) {
      return size_of(set) == 0 && status_of(set, "replicas") == 0 && !set.deleting();
    });
    std::ranges::stable_sort(empty, {}, [](const Object& set) { return revision_of(set); });
    const std::int64_t limit = facts_.deployment.spec()["revisionHistoryLimit"].as_int(kHistory);
    const auto many = static_cast<std::int64_t>(facts_.old.size()) - limit;
    for (std::int64_t i = 0; i < many && i < static_cast<std::int64_t>(empty.size()); ++i) {
      const Object& set = empty[static_cast<std::size_t>(i)];
      plan_.then(Delete{.target = {&api::kReplicaSet, set.key()},
                        .guard = {.uid = std::string(set.uid()),
                                  .resource_version = std::string(set.resource_version())}});
    }
  }

  [[nodiscard]] std::int64_t total(const char* counter) const {
    std::int64_t sum = facts_.current ? status_of(*facts_.current, counter) : 0;
    for (const Object& set : facts_.old) {
      sum += status_of(set, counter);
    }
    return sum;
  }

  void set(const char* type, const char* status, const char* reason, std::string message,
           bool news = false) {
    const Value before = find_condition(conditions_, type);
    set_condition(conditions_,
                  {.type = type, .status = status, .reason = reason, .message = std::move(message)},
                  now_);
    const bool changed =
        news || before["status"].as_string() != status || before["reason"].as_string() != reason;
    for (std::size_t i = 0; changed && i < conditions_.size(); ++i) {
      if (conditions_[i]["type"].as_string() == type) {
        conditions_.item(i).set("lastUpdateTime", format_time(now_));
      }
    }
  }

  void judge_availability(std::int64_t available) {
    if (available >= facts_.replicas - (facts_.recreate ? 0 : facts_.max_unavailable)) {
      set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.");
    } else {
      set("Available", "False", "MinimumReplicasUnavailable",
          "Deployment does not have minimum availability.");
    }
  }

  // A pause is reported once, and so is its end; then progress is judged again.
  bool paused_or_resumed() {
    const Value known = find_condition(conditions_, "Progressing");
    const std::string_view reason = known["reason"].as_string();
    if (facts_.paused) {
      if (reason != "ProgressDeadlineExceeded" && reason != "DeploymentPaused") {
        set("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
      }
      return true;
    }
    if (reason == "DeploymentPaused") {
      set("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
      wake_at_deadline(now_);
      return true;
    }
    return false;
  }

  // A ReplicaSet that cannot make its pods.
  void judge_failure() {
    std::vector<Object> sets = facts_.old;
    if (facts_.current) {
      sets.insert(sets.begin(), *facts_.current);
    }
    for (const Object& one : sets) {
      const Value& failure = find_condition(one.status()["conditions"], "ReplicaFailure");
      if (failure["status"].as_string() == "True") {
        set("ReplicaFailure", "True", failure["reason"].str().c_str(), failure["message"].str());
        return;
      }
    }
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (conditions_[i]["type"].as_string() == "ReplicaFailure") {
        conditions_.erase_item(i);
        return;
      }
    }
  }

  // How far the roll-out is; `updated` pods are of the new template.
  void judge_progress(std::int64_t all, std::int64_t updated, std::int64_t available) {
    if (patience() == kForEver) {
      return;
    }
    if (paused_or_resumed()) {
      return;
    }
    const Value known = find_condition(conditions_, "Progressing");
    if (!created_.empty()) {
      set("Progressing", "True", "NewReplicaSetCreated",
          fmt::format("Created new replica set \"{}\"", created_));
      wake_at_deadline(now_);
      return;
    }
    if (!facts_.current) {
      return;
    }
    const std::string_view name = facts_.current->name();
    if (updated == facts_.replicas && all == facts_.replicas && available == facts_.replicas) {
      set("Progressing", "True", "NewReplicaSetAvailable",
          fmt::format("ReplicaSet \"{}\" has successfully progressed.", name));
      return;
    }
    const Value& before = facts_.deployment.status();
    const std::int64_t old_before =
        before["replicas"].as_int() - before["updatedReplicas"].as_int();
    const bool news = updated > before["updatedReplicas"].as_int() || all - updated < old_before ||
                      available > before["availableReplicas"].as_int() ||
                      total("readyReplicas") > before["readyReplicas"].as_int();
    const auto since = parse_time(known["lastUpdateTime"].as_string());
    const bool was_done = known["reason"].as_string() == "NewReplicaSetAvailable";
    if (news || was_done || !since) {
      set("Progressing", "True", "ReplicaSetUpdated",
          fmt::format("ReplicaSet \"{}\" is progressing.", name), true);
      wake_at_deadline(now_);
    } else if (*since + patience() <= now_) {
      set("Progressing", "False", "ProgressDeadlineExceeded",
          fmt::format("ReplicaSet \"{}\" has timed out progressing.", name));
    } else {
      wake_at_deadline(*since);
    }
  }

  [[nodiscard]] Duration patience() const {
    return std::chrono::seconds(
        facts_.deployment.spec()["progressDeadlineSeconds"].as_int(kProgressSeconds));
  }

  void wake_at_deadline(Instant since) { plan_.wake_at(since + patience()); }

  void write_status() {
    const std::int64_t all = total("replicas");
    const std::int64_t available = total("availableReplicas");
    const std::int64_t updated = facts_.current ? status_of(*facts_.current, "replicas") : 0;
    judge_availability(available);
    judge_progress(all, updated, available);
    judge_failure();
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    const std::int64_t unavailable =
        std::max<std::int64_t>(0, std::max(all, facts_.replicas) - available);
    plan_.then(
        Status{.target = {&api::kDeployment, facts_.deployment.key()},
               .status = Value::object({{"observedGeneration", facts_.deployment.generation()},
                                        {"replicas", count(all)},
                                        {"updatedReplicas", count(updated)},
                                        {"readyReplicas", count(total("readyReplicas"))},
                                        {"availableReplicas", count(available)},
                                        {"unavailableReplicas", count(unavailable)},
                                        {"terminatingReplicas", total("terminatingReplicas")},
                                        {"conditions", conditions_}}),
               .guard = {.uid = std::string(facts_.deployment.uid())}});
  }

  DeploymentFacts facts_;
  Instant now_;
  Value conditions_;
  std::int64_t revision_ = 0;
  std::int64_t highest_ = 0;  // of old ReplicaSets
  std::string created_{};
  Closing closing_{api::kDeployment, facts_.deployment};
  Plan plan_{};
};

Plan reconcile_deployment(const View& view, const Key& key, Instant now) {
  const auto deployment = view.get(api::kDeployment, key);
  if (!deployment) {
    return Plan::done();
  }
  Plan plan;
  const std::vector<Object> sets =
      claim(view, api::kReplicaSet, *deployment, api::kDeployment, plan);
  plan.merge(DeploymentRun(gather_deployment(*deployment, sets), now).run());
  return plan;
}

}  // namespace

const Operator& deployment_operator() {
  static const Kind* const kReads[] = {&api::kDeployment, &api::kReplicaSet};
  static const Kind* const kWrites[] = {&api::kDeployment, &api::kReplicaSet, &api::kEvent};
  static const Operator kOperator{.name = "deployment-controller",
                                  .primary = &api::kDeployment,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_deployment};
  return kOperator;
}

}  // namespace athanor::workloads
