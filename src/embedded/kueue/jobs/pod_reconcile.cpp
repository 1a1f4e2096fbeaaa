// SPDX-License-Identifier: Apache-2.0
// Plain pods and groups of them: gated until their Workload is admitted, deleted when it is evicted
// (docs/spec/kueue.md 10.3). Of a group the first pod by name acts for all.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/pod_labels.hpp"
#include "embedded/kueue/jobs/pod_set_info.hpp"
#include "embedded/kueue/jobs/pods.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/model/reasons.hpp"
#include "kube/apply/patch.hpp"

namespace athanor::kueue::jobs {
namespace {

bool is_ready(const Object& pod) {
  return pod.status()["phase"].as_string() == "Succeeded" ||
         condition_is(pod.status()["conditions"], "Ready", "True");
}

// Time for the pods of a group to come, and for others in the places of evicted ones.
constexpr Duration kAssembly = std::chrono::seconds(5);
constexpr Duration kReplacementPatience = std::chrono::minutes(10);

class PodManager {
 public:
  PodManager(const View& view, const Integrations& settings, PodGroup group, Instant now)
      : view_(view), settings_(settings), group_(std::move(group)), now_(now) {}

  Plan run() {
    const auto workload = view_.get(api::kueue::kWorkload, {ns(), workload_key()});
    if (!workload) {
      create();
    } else if (is_foreign(*workload)) {
      refuse(*workload);
    } else if (workload->deleting()) {
      end(*workload);
    } else if (!says(*workload, "Finished") && is_finished()) {
      finish(*workload);
    } else if (says(*workload, "Finished") || is_dead(*workload)) {
      let_go(group_.pods);  // the garbage collector deletes a dead Workload with its last owner
    } else if (!own(*workload)) {
      follow(*workload);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Object& first() const { return group_.pods.front(); }
  [[nodiscard]] std::string ns() const { return std::string(first().ns()); }
  [[nodiscard]] bool single() const { return group_.name.empty(); }
  // Returns true for a group that waits with its first pod, and takes in the others as they come.
  [[nodiscard]] bool is_fast() const {
    return !single() && first().annotation(name::kFastAdmission) == "true";
  }
  [[nodiscard]] std::string workload_key() const {
    if (const std::string_view built = prebuilt_name(first()); !built.empty()) {
      return std::string(built);
    }
    if (!single()) {
      return group_.name;
    }
    // One that has its Workload keeps it when the gate changes.
    for (const NameLength length : {NameLength::Object, NameLength::Short}) {
      std::string name = workload_name(api::kPod, first(), length);
      if (view_.get(api::kueue::kWorkload, {ns(), name})) {
        return name;
      }
    }
    return workload_name(api::kPod, first(), name_length(settings_));
  }

  // Takes the finalizer off pods that are over.
  void let_go(const std::vector<Object>& pods) {
    for (const Object& pod : pods) {
      if (is_over(pod) && pod.has_finalizer(name::kManaged)) {
        drop_finalizer(plan_, api::kPod, pod, name::kManaged);
      }
    }
  }

  // Deletes these pods and says why. True: there were some.
  bool stop(const std::vector<Object>& pods, const std::string& why) {
    for (const Object& pod : pods) {
      remove(pod);
      tell(plan_, api::kPod, pod, "Stopped", why);
    }
    return !pods.empty();
  }
  void remove(const Object& pod) {
    plan_.then(Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
  }

  // Returns true if a Workload of this name belongs to another owner: a pod group has its own
  // annotation, or pods that own it together.
  [[nodiscard]] bool is_foreign(const Object& workload) const {
    const auto controller = workload.controller();
    const bool prebuilt = !prebuilt_name(first()).empty();
    if (single() || prebuilt) {
      return controller && controller->uid != first().uid();
    }
    const std::vector<OwnerReference> all = workload.owners();
    return workload.annotation(name::kIsGroup) != "true" &&
           std::ranges::none_of(all, [](const OwnerReference& owner) {
             return owner.kind == api::kPod.name && !owner.controller;
           });
  }
  void refuse(const Object& workload) {
    let_go(group_.pods);
    const bool prebuilt = !prebuilt_name(first()).empty();
    tell(plan_, api::kPod, first(), api::kueue::kNameConflict,
         prebuilt ? api::kueue::owned_by_another(workload)
                  : fmt::format(
                        "A Workload named \"{}\" already exists but is not a pod group workload; "
                        "this pod group cannot be admitted",
                        workload.name()),
         "Warning");
  }

  [[nodiscard]] Value owners() const {
    Value list = Value::list();
    for (const Object& pod : group_.living()) {
      list.push_back(OwnerReference{.api_version = "v1",
                                    .kind = "Pod",
                                    .name = std::string(pod.name()),
                                    .uid = std::string(pod.uid()),
                                    .controller = single(),
                                    .block_owner_deletion = single()}
                         .to_value());
    }
    return list;
  }

  void create() {
    let_go(group_.pods);  // no Workload waits for those that are over
    const std::vector<Object> alive = group_.living();
    if (alive.empty() || !prebuilt_name(first()).empty()) {
      return;  // a prebuilt one is read: its creation runs this again
    }
    if (static_cast<std::int64_t>(alive.size()) < group_.total && !is_fast()) {
      tell_incomplete(alive);
      return;
    }
    if (drop_excess(alive)) {
      return;
    }
    Value pod_sets = is_fast() ? pod_set_of_first(group_) : pod_sets_of(group_);
    const auto priority = priority_of(view_, alive.front(), pod_sets);
    if (!priority.ok()) {
      tell(plan_, api::kPod, alive.front(), "WorkloadPriorityClassNotFound",
           priority.error().message, "Warning");
      return;  // the class is read: its creation runs this again
    }
    const Key key{ns(), workload_key()};
    Value workload =
        new_workload(key.name, alive.front(), owners(), std::move(pod_sets), *priority);
    if (!single()) {
      workload.member("metadata").member("annotations").set(name::kIsGroup, "true");
    }
    plan_.then(Create{.target = {&api::kueue::kWorkload, key}, .object = std::move(workload)});
    emit_for_pods(plan_, group_, "CreatedWorkload",
                  fmt::format("Created Workload: {}", key.text()));
  }

  // Emits an event about an incomplete group, kAssembly after its last pod.
  void tell_incomplete(const std::vector<Object>& alive) {
    Instant last = alive.front().creation_time().value_or(now_);
    for (const Object& pod : alive) {
      last = std::max(last, pod.creation_time().value_or(now_));
    }
    if (now_ < last + kAssembly) {
      plan_.wake_at(last + kAssembly);
      return;
    }
    tell(plan_, api::kPod, alive.front(), "ErrWorkloadCompose",
         fmt::format("'{}' group has fewer runnable pods than expected", group_.name), "Warning");
  }

  // A group has as many pods as it says: the newest of more go.
  bool drop_excess(std::vector<Object> alive) {
    std::ranges::stable_sort(alive, {}, [](const Object& pod) { return pod.creation_time(); });
    bool some = false;
    for (std::size_t i = static_cast<std::size_t>(group_.total); i < alive.size(); ++i) {
      remove_excess(alive[i]);
      some = true;
    }
    return some;
  }
  void remove_excess(const Object& pod) {
    tell(plan_, api::kPod, pod, "ExcessPodDeleted", "Excess pod deleted");
    remove(pod);
  }

  // Stops the pods of a deleted Workload, which holds its quota until they are over. Pods that do
  // not own it came later, and get another one.
  void end(const Object& workload) {
    std::vector<Object> living;
    bool some_run = false;
    for (const Object& pod : group_.pods) {
      if (!single() && !workload.owned_by(pod.uid())) {
        continue;
      }
      if (is_living(pod)) {
        living.push_back(pod);
      }
      some_run = some_run || runs(pod);
    }
    if (stop(living, "Workload is deleted") || some_run) {
      return;
    }
    drop_workload(plan_, workload);
    let_go(group_.pods);
  }
  // Returns true while the pod holds what it asked for.
  bool runs(const Object& pod) {
    if (is_gated(pod) || holds_nothing(pod, now_)) {
      return false;
    }
    if (const auto lost = lost_at(pod)) {
      plan_.wake_at(*lost);
    }
    return true;
  }

  // Returns true if the single pod is over, or as many pods of the group as its total have
  // succeeded. Failed ones wait for replacements, unless the group is unretriable.
  [[nodiscard]] bool is_finished() const {
    if (single()) {
      return group_.all_over();
    }
    const bool some_ended = std::ranges::any_of(group_.pods, [](const Object& pod) {
      return is_succeeded(pod) || pod.status()["phase"].as_string() == "Failed";
    });
    return group_.succeeded() >= group_.total ||
           (group_.is_unretriable() && some_ended && group_.all_over());
  }

  // Returns true if every pod of the group is over and being deleted, and nothing will take their
  // places: their owner deleted them, or has not replaced those that lost admission for
  // kReplacementPatience.
  bool is_dead(const Object& workload) {
    if (single() || !std::ranges::all_of(group_.pods, [](const Object& pod) {
          return pod.deleting() && is_over(pod);
        })) {
      return false;
    }
    if (std::ranges::none_of(group_.pods,
                             [&](const Object& pod) { return was_stopped(workload, pod); })) {
      return true;
    }
    const Value& waits =
        find_condition(workload.status()["conditions"], api::kueue::kWaitingForReplacement);
    const auto since = parse_time(waits["lastTransitionTime"].as_string());
    if (waits["status"].as_string() != "True" || !since) {
      return false;
    }
    if (now_ < *since + kReplacementPatience) {
      plan_.wake_at(*since + kReplacementPatience);
      return false;
    }
    return true;
  }
  // Returns true if the pod ended because its Workload lost its admission.
  [[nodiscard]] static bool was_stopped(const Object& workload, const Object& pod) {
    return !is_gated(pod) && (says(workload, "Evicted") || !says(workload, "Admitted"));
  }

  void finish(const Object& workload) {
    const bool good = group_.succeeded() >= group_.total;
    std::string message = single() ? first().status()["message"].str() : std::string();
    if (message.empty()) {
      message = fmt::format("Pods succeeded: {}/{}.", group_.succeeded(), group_.total);
    }
    write_finished(plan_, workload, good ? "Succeeded" : "Failed", message, now_);
    emit_for_pods(plan_, group_, "FinishedWorkload",
                  fmt::format("Workload '{}' is declared finished", workload.key().text()));
    let_go(group_.pods);
  }

  // Every living pod owns the Workload, or it would go with those that are replaced. True: written.
  bool own(const Object& workload) {
    Value list = workload.metadata()["ownerReferences"];
    const std::size_t before = list.size();
    const Value wanted = owners();
    for (const Value& owner : wanted.items()) {
      if (!workload.owned_by(owner["uid"].as_string())) {
        list.push_back(owner);
      }
    }
    if (list.size() == before) {
      return false;
    }
    plan_.then(
        Patch{.target = ref_to(workload),
              .merge = Value::object({{"metadata", Value::object({{"ownerReferences", list}})}}),
              .guard = guard_for(workload)});
    return true;
  }

  void follow(const Object& workload) {
    tidy(workload);
    if (follow_replacements(workload)) {
      return;
    }
    if (says(workload, "Evicted")) {
      const std::string why =
          find_condition(workload.status()["conditions"], "Evicted")["message"].str();
      if (says(workload, "QuotaReserved")) {
        // Pods that wait behind their gate hold nothing and go on waiting.
        if (!stop(ungated(), why) && nothing_runs()) {
          release_quota(plan_, workload, reason_of(Waits::Evaluation, settings_.granular), now_);
        }
        return;
      }
      if (const auto due = api::kueue::retires_at(workload, settings_.keep_deactivated);
          due && *due > now_) {
        plan_.wake_at(*due);
      } else if (due && stop(group_.living(), std::string(api::kueue::kRetired))) {
        return;
      }
    }
    if (follow_labels(plan_, view_, group_, workload) || follow_gate(plan_, workload, first())) {
      return;
    }
    const bool admitted = says(workload, "Admitted");
    if (admitted) {
      start(workload);
    } else if (stop(ungated(), "Not admitted by cluster queue")) {
      return;
    }
    const auto ready = std::ranges::count_if(group_.pods, is_ready);
    follow_readiness(plan_, workload,
                     {.admitted = admitted,
                      .ready = admitted && ready >= group_.total,
                      .awaited = settings_.wait_for_pods_ready,
                      .reclaimable = reclaimable_of(group_)},
                     now_);
  }

  [[nodiscard]] std::vector<Object> ungated() const {
    std::vector<Object> pods = group_.living();
    std::erase_if(pods, is_gated);
    return pods;
  }
  bool nothing_runs() {
    bool some = false;
    for (const Object& pod : group_.pods) {
      some = runs(pod) || some;
    }
    return !some;
  }

  // Deletes pods beyond the count of their role. Removes the finalizer of replaced pods and of
  // deleted ones that failed or never ran. Pods that lost admission keep it until they are
  // replaced: they own the Workload, which keeps its place.
  void tidy(const Object& workload) {
    if (single()) {
      return;
    }
    std::set<std::string_view> dropped;
    const auto drop = [&](const Object& pod) {
      if (pod.has_finalizer(name::kManaged) && dropped.insert(pod.uid()).second) {
        drop_finalizer(plan_, api::kPod, pod, name::kManaged);
      }
    };
    for (const Object& pod : group_.pods) {
      if (pod.deleting() && is_over(pod) && !is_succeeded(pod) && !was_stopped(workload, pod)) {
        drop(pod);
      }
    }
    for (const Value& pod_set : workload.spec()["podSets"].items()) {
      const RoleMembers members = members_in(pod_set);
      std::ranges::for_each(members.replaced, [&](const Object* pod) { drop(*pod); });
      std::ranges::for_each(members.excess, [&](const Object* pod) { remove_excess(*pod); });
    }
  }

  [[nodiscard]] RoleMembers members_in(const Value& pod_set) const {
    return members_of(group_, pod_set["name"].as_string(), pod_set["count"].as_int(1));
  }

  // Writes condition WaitingForReplacementPods: a group that lacks pods takes no part in admission.
  // Returns true if it is written.
  bool follow_replacements(const Object& workload) {
    std::int64_t absent = 0;
    for (const Value& pod_set : workload.spec()["podSets"].items()) {
      absent += single() || is_fast() ? 0 : members_in(pod_set).absent;
    }
    return write_replacements(plan_, workload, absent > 0, now_);
  }

  void start(const Object& workload) {
    const auto infos = pod_set_infos(view_, workload);
    if (!infos.ok()) {
      write_finished(plan_, workload, "FailedToStart", infos.error().message, now_);
      return;
    }
    for (const PodSetInfo& info : *infos) {
      for (const Object* pod : members_of(group_, info.name, info.count).startable) {
        ungate(workload, *pod, info);
      }
    }
    for (const Object& pod : group_.living()) {
      if (is_gated(pod) &&
          std::ranges::find(*infos, role_of(pod), &PodSetInfo::name) == infos->end()) {
        tell(plan_, api::kPod, pod, "PodSetNotFound",
             fmt::format("Workload {} has no pod set of this pod's shape", workload.key().text()),
             "Warning");
      }
    }
  }

  void ungate(const Object& workload, const Object& pod, const PodSetInfo& info) {
    Value wanted = pod.body();
    if (const auto injected = inject(wanted, info); !injected.ok()) {
      write_finished(plan_, workload, "FailedToStart", injected.error().message, now_);
      return;
    }
    Value gates = Value::list();
    for (const Value& gate : pod.spec()["schedulingGates"].items()) {
      if (gate["name"].as_string() != name::kGate) {
        gates.push_back(gate);
      }
    }
    wanted.member("spec").set("schedulingGates", std::move(gates));
    plan_.then(Patch{.target = {&api::kPod, pod.key()},
                     .merge = make_merge_patch(pod.body(), wanted),
                     .guard = guard_for(pod)});
    tell(plan_, api::kPod, pod, "Started",
         fmt::format("Admitted by clusterQueue {}",
                     workload.status()["admission"]["clusterQueue"].as_string()));
  }

  const View& view_;
  const Integrations& settings_;
  PodGroup group_;
  Instant now_;
  Plan plan_{};
};

bool is_managed_pod(const Object& pod) {
  return pod.label(name::kManaged) == "true";
}

Plan reconcile_pod(const View& view, const Key& key, Instant now) {
  const auto pod = view.get(api::kPod, key);
  if (!pod || !is_managed_pod(*pod)) {
    return Plan::done();
  }
  const Integrations settings = integrations_of(view);
  std::vector<Object> pods{*pod};
  if (const std::string group(group_name(*pod)); !group.empty()) {
    pods = view.list(
        api::kPod, {.index = std::string(group_index().name), .index_value = key.ns + "/" + group});
    std::erase_if(pods, [](const Object& one) { return !is_managed_pod(one); });
    if (pods.empty() || pods.front().key() != key) {
      return Plan::done();
    }
  }
  return PodManager(view, settings, group_of(std::move(pods)), now).run();
}

}  // namespace

const Operator& pod_operator() {
  static const Kind* const kReads[] = {&api::kPod,
                                       &api::kueue::kWorkload,
                                       &api::kueue::kWorkloadPriorityClass,
                                       &api::kueue::kResourceFlavor,
                                       &api::kPriorityClass,
                                       &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kPod, &api::kueue::kWorkload, &api::kEvent};
  static const Kind* const kSmall[] = {&api::kPriorityClass};
  static const Access kAccess[] = {{&api::kPod, "patch delete"},
                                   {&api::kPod, "update", "finalizers"},  // the Workload's owner
                                   {&api::kueue::kWorkload, "create patch delete"},
                                   {&api::kueue::kWorkload, "patch", "status"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "kueue-pod",
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = {&group_index(), 1},
                                  .reconcile = reconcile_pod,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue::jobs
