// SPDX-License-Identifier: Apache-2.0
// Plain pods and groups of them: gated until their Workload is admitted, deleted when it is evicted
// (docs/spec/kueue.md 10.3). Of a group the first pod by name acts for all.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/pod_set_info.hpp"
#include "embedded/kueue/jobs/pods.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/workload/reasons.hpp"
#include "kube/apply/patch.hpp"

namespace athanor::kueue::jobs {
namespace {

bool is_ready(const Object& pod) {
  return pod.status()["phase"].as_string() == "Succeeded" ||
         condition_is(pod.status()["conditions"], "Ready", "True");
}

class PodManager {
 public:
  PodManager(const View& view, const Integrations& settings, PodGroup group, Instant now)
      : view_(view), settings_(settings), group_(std::move(group)), now_(now) {}

  Plan run() {
    const auto workload = view_.get(api::kueue::kWorkload, {ns(), workload_key()});
    if (!workload) {
      create();
    } else if (workload->deleting()) {
      end(*workload);
    } else if (says(*workload, "Finished")) {
      let_go(group_.pods);
    } else if (is_finished(*workload)) {
      finish(*workload);
    } else if (!own(*workload)) {
      follow(*workload);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Object& first() const { return group_.pods.front(); }
  [[nodiscard]] std::string ns() const { return std::string(first().ns()); }
  [[nodiscard]] bool single() const { return group_.name.empty(); }
  [[nodiscard]] std::string workload_key() const {
    if (const std::string_view built = first().label(name::kPrebuilt); !built.empty()) {
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

  void emit_for_pods(std::string_view reason, const std::string& note) {
    for (const Object& pod : group_.pods) {
      tell(plan_, api::kPod, pod, reason, note);
    }
  }

  // Takes the finalizer off pods that are over.
  void let_go(const std::vector<Object>& pods) {
    for (const Object& pod : pods) {
      if (is_over(pod) && pod.has_finalizer(name::kManaged)) {
        drop_finalizer(plan_, api::kPod, pod, name::kManaged);
      }
    }
  }

  // True: pods were still there to be deleted.
  bool stop(const std::string& why) {
    bool some = false;
    for (const Object& pod : group_.living()) {
      plan_.then(
          Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
      tell(plan_, api::kPod, pod, "Stopped", why);
      some = true;
    }
    return some;
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
    const std::vector<Object> alive = group_.living();
    if (alive.empty()) {
      let_go(group_.pods);  // no Workload waits for them, nor will one
      return;
    }
    if (!first().label(name::kPrebuilt).empty()) {
      return;  // read: its creation runs this again
    }
    if (static_cast<std::int64_t>(alive.size()) < group_.total) {
      return;  // the group is not complete
    }
    if (drop_excess(alive)) {
      return;
    }
    Value pod_sets = pod_sets_of(group_);
    const auto priority = priority_of(view_, alive.front(), pod_sets);
    if (!priority.ok()) {
      tell(plan_, api::kPod, alive.front(), "WorkloadPriorityClassNotFound",
           priority.error().message, "Warning");
      return;  // the class is read: its creation runs this again
    }
    const Key key{ns(), workload_key()};
    plan_.then(Create{
        .target = {&api::kueue::kWorkload, key},
        .object = new_workload(key.name, alive.front(), owners(), std::move(pod_sets), *priority)});
    emit_for_pods("CreatedWorkload", fmt::format("Created Workload: {}", key.text()));
  }

  // A group has as many pods as it says: the newest of more go.
  bool drop_excess(std::vector<Object> alive) {
    std::ranges::stable_sort(alive, {}, [](const Object& pod) { return pod.creation_time(); });
    bool some = false;
    for (std::size_t i = static_cast<std::size_t>(group_.total); i < alive.size(); ++i) {
      tell(plan_, api::kPod, alive[i], "ExcessPodDeleted", "Excess pod deleted");
      plan_.then(Delete{.target = {&api::kPod, alive[i].key()},
                        .guard = {.uid = std::string(alive[i].uid())}});
      some = true;
    }
    return some;
  }

  // A deleted Workload holds its quota until the pods are over.
  void end(const Object& workload) {
    if (stop("Workload is deleted") || !group_.all_over()) {
      return;
    }
    drop_workload(workload);
    let_go(group_.pods);
  }
  void drop_workload(const Object& workload) {
    if (workload.has_finalizer(api::kueue::kInUseFinalizer)) {
      drop_finalizer(plan_, api::kueue::kWorkload, workload, api::kueue::kInUseFinalizer);
    }
  }

  // A single pod is done when it is over; a group, when as many pods as it has are over and none
  // was evicted, which others may replace.
  [[nodiscard]] bool is_finished(const Object& workload) const {
    if (!group_.all_over()) {
      return false;
    }
    const auto ended = std::ranges::count_if(
        group_.pods, [](const Object& pod) { return !is_living(pod) && !is_gated(pod); });
    return single() || (ended >= group_.total && !says(workload, "Evicted"));
  }

  void finish(const Object& workload) {
    const bool good = group_.succeeded() >= group_.total;
    std::string message = single() ? first().status()["message"].str() : std::string();
    if (message.empty()) {
      message = fmt::format("Pods succeeded: {}/{}.", group_.succeeded(), group_.total);
    }
    write_finished(plan_, workload, good ? "Succeeded" : "Failed", message, now_);
    emit_for_pods("FinishedWorkload",
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
    if (says(workload, "Evicted")) {
      const std::string why =
          find_condition(workload.status()["conditions"], "Evicted")["message"].str();
      if (says(workload, "QuotaReserved")) {
        // Pods that wait behind their gate hold nothing and go on waiting.
        if (!stop_ungated(why) && nothing_runs()) {
          release_quota(plan_, workload, reason_of(Waits::Evaluation, settings_.granular), now_);
        }
        return;
      }
      if (const auto due = api::kueue::retires_at(workload, settings_.keep_deactivated);
          due && *due > now_) {
        plan_.wake_at(*due);
      } else if (due && stop(std::string(api::kueue::kRetired))) {
        return;
      }
    }
    replace_over();
    if (follow_labels(workload) || follow_gate(plan_, workload, first())) {
      return;
    }
    const bool admitted = says(workload, "Admitted");
    if (admitted) {
      start(workload);
    } else if (stop_ungated("Not admitted by cluster queue")) {
      return;
    }
    const auto alive = group_.living();
    const auto ready = std::ranges::count_if(group_.pods, is_ready);
    follow_readiness(plan_, workload,
                     {.admitted = admitted,
                      .ready = admitted && ready >= group_.total,
                      .awaited = settings_.wait_for_pods_ready,
                      .reclaimable = reclaimable_of(group_)},
                     now_);
  }

  // What the labels of the first living pod say of its place in the queue is the Workload's. True:
  // something is written.
  bool follow_labels(const Object& workload) {
    const std::vector<Object> alive = group_.living();
    if (alive.empty()) {
      return false;
    }
    const Object& pod = alive.front();
    const bool prebuilt = !pod.label(name::kPrebuilt).empty();
    const std::string_view queue =
        api::kueue::wanted_queue(workload, pod.label(name::kQueue), prebuilt);
    if (follow_queue(plan_, workload, queue) || (!prebuilt && follow_limit(workload, pod)) ||
        follow_despite_quota(workload, pod, queue)) {
      return true;
    }
    const auto written = follow_priority(plan_, view_, workload, pod);
    if (!written.ok()) {
      tell(plan_, api::kPod, pod, "WorkloadPriorityClassNotFound", written.error().message,
           "Warning");
      return false;
    }
    if (*written) {
      emit_for_pods("UpdatedWorkload",
                    fmt::format("Updated workload priority class: {}", workload.key().text()));
    } else if (auto kept = kept_priority(workload, pod); kept && is_gated(pod)) {
      tell(plan_, api::kPod, pod, api::kueue::kNotUpdated, *std::move(kept), "Warning");
    }
    return *written;
  }

  // A queue or a limit that a Workload with quota cannot take: it is made anew as long as all pods
  // are behind their gates. True: something is written.
  bool follow_despite_quota(const Object& workload, const Object& pod, std::string_view queue) {
    const bool prebuilt = !pod.label(name::kPrebuilt).empty();
    const bool elsewhere = api::kueue::holds_elsewhere(workload, queue);
    const bool limited = !prebuilt && says(workload, "QuotaReserved") &&
                         workload.spec()["maximumExecutionTimeSeconds"] != max_execution_time(pod);
    if ((!elsewhere && !limited) || !is_gated(pod)) {
      return false;
    }
    const std::vector<Object> alive = group_.living();
    if (prebuilt || !std::ranges::all_of(alive, is_gated) ||
        static_cast<std::int64_t>(alive.size()) < group_.total) {
      tell(plan_, api::kPod, pod, api::kueue::kNotUpdated,
           api::kueue::not_updated(workload, elsewhere ? "queue" : "time limit"), "Warning");
      return false;
    }
    // Without its finalizer it goes at once: one that is being deleted stops its pods.
    drop_workload(workload);
    plan_.then(Delete{.target = ref_to(workload), .guard = {.uid = std::string(workload.uid())}});
    emit_for_pods("DeletedWorkload",
                  fmt::format("Deleted not matching Workload: {}", workload.key().text()));
    return true;
  }
  bool follow_limit(const Object& workload, const Object& pod) {
    const Value limit = max_execution_time(pod);
    if (says(workload, "QuotaReserved") ||
        workload.spec()["maximumExecutionTimeSeconds"] == limit) {
      return false;
    }
    plan_.then(Patch{
        .target = ref_to(workload),
        .merge = Value::object({{"spec", Value::object({{"maximumExecutionTimeSeconds", limit}})}}),
        .guard = guard_for(workload)});
    return true;
  }

  bool stop_ungated(const std::string& why) {
    bool some = false;
    for (const Object& pod : group_.living()) {
      if (!is_gated(pod)) {
        plan_.then(
            Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
        tell(plan_, api::kPod, pod, "Stopped", why);
        some = true;
      }
    }
    return some;
  }
  [[nodiscard]] bool nothing_runs() const {
    return std::ranges::all_of(group_.pods,
                               [](const Object& pod) { return is_over(pod) || is_gated(pod); });
  }

  // Pods of a group that others have replaced go.
  void replace_over() {
    if (single()) {
      return;
    }
    auto alive = static_cast<std::int64_t>(group_.living().size()) + group_.succeeded();
    if (alive < group_.total) {
      return;
    }
    for (const Object& pod : group_.pods) {
      if (is_over(pod) && pod.status()["phase"].as_string() != "Succeeded" &&
          pod.has_finalizer(name::kManaged)) {
        drop_finalizer(plan_, api::kPod, pod, name::kManaged);
      }
    }
  }

  void start(const Object& workload) {
    const auto infos = pod_set_infos(view_, workload);
    if (!infos.ok()) {
      write_finished(plan_, workload, "FailedToStart", infos.error().message, now_);
      return;
    }
    for (const Object& pod : group_.living()) {
      if (!is_gated(pod)) {
        continue;
      }
      const auto info = std::ranges::find(*infos, role_of(pod), &PodSetInfo::name);
      if (info != infos->end()) {
        ungate(workload, pod, *info);
      } else {
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

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto pod = view.get(api::kPod, key);
  if (!pod || !is_managed_pod(*pod)) {
    return Plan::done();
  }
  const Integrations settings = integrations_of(view);
  std::vector<Object> pods{*pod};
  if (const std::string group(pod->label(name::kGroup)); !group.empty()) {
    pods = view.list(api::kPod, {.ns = key.ns, .labels = {{std::string(name::kGroup), group}}});
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
                                  .reconcile = reconcile,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue::jobs
