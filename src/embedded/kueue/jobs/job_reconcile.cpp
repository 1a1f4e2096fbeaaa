// SPDX-License-Identifier: Apache-2.0
// The job reconciler: one Workload for each managed job, suspended until that is admitted
// (docs/spec/kueue.md 8.2, 10.1).
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/child_jobs.hpp"
#include "embedded/kueue/jobs/follow.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/pod_set_info.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/model/reasons.hpp"
#include "kube/apply/patch.hpp"

namespace athanor::kueue::jobs {
namespace {

class Manager {
 public:
  Manager(const View& view, const Adapter& adapter, const Integrations& settings, Instant now)
      : view_(view), adapter_(adapter), settings_(settings), now_(now) {}

  Plan run(const Object& job) {
    job_ = &job;
    std::vector<Object> all = view_.list(api::kueue::kWorkload,
                                         {.index = "owner", .index_value = std::string(job.uid())});
    std::erase_if(all, [&](const Object& one) {
      const auto owner = one.controller();
      return !owner || owner->uid != job.uid();
    });
    if (!prebuilt().empty() && !adopt(all)) {
      return std::move(plan_);
    }
    for (const Object& workload : all) {
      if (workload.deleting()) {
        end(workload);
        return std::move(plan_);
      }
    }
    decide(all.empty() ? nullptr : &all.front());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::string prebuilt() const { return std::string(prebuilt_name(*job_)); }
  [[nodiscard]] bool suspended() const { return is_suspended(adapter_, job_->body()); }
  [[nodiscard]] bool active() const { return adapter_.active(view_, *job_); }

  void decide(const Object* workload) {
    if (const auto outcome = adapter_.outcome(*job_)) {
      if (workload != nullptr && !says(*workload, "Finished")) {
        write_finished(plan_, *workload, outcome->succeeded ? "Succeeded" : "Failed",
                       outcome->message, now_);
        emit_for_job("FinishedWorkload",
                     fmt::format("Workload '{}' is declared finished", workload->key().text()));
      }
    } else if (workload == nullptr) {
      create();
    } else if (says(*workload, "Finished")) {
      stop("Workload is finished", *workload);
    } else if (!is_equivalent(adapter_, settings_, *workload, *job_)) {
      replace(*workload);
    } else {
      follow(*workload);
    }
  }

  // Makes a prebuilt Workload the job's. False: there is nothing to follow yet.
  bool adopt(std::vector<Object>& all) {
    const auto found = view_.get(api::kueue::kWorkload, {std::string(job_->ns()), prebuilt()});
    if (!found || found->deleting()) {
      stop("missing workload", std::nullopt);
      return false;
    }
    std::erase_if(all, [&](const Object& one) { return one.name() != found->name(); });
    if (!all.empty()) {
      return true;
    }
    if (found->controller() || says(*found, "Finished")) {
      stop("missing workload", std::nullopt);
      if (found->controller()) {
        emit_for_job(api::kueue::kNameConflict, api::kueue::owned_by_another(*found), "Warning");
      } else {
        const Value& end = find_condition(found->status()["conditions"], "Finished");
        emit_for_job("FinishedWorkload",
                     fmt::format("Workload '{}' is declared finished: {}", found->key().text(),
                                 end["message"].as_string()),
                     "Warning");
      }
      return false;
    }
    if (!is_equivalent(adapter_, settings_, *found, *job_)) {
      write_finished(plan_, *found, "OutOfSync",
                     "The prebuilt workload is out of sync with its user job", now_);
      return false;
    }
    Value owners = found->metadata()["ownerReferences"];
    owners.push_back(owner_reference());
    Value finalizers = found->metadata()["finalizers"];
    if (!found->has_finalizer(api::kueue::kInUseFinalizer)) {
      finalizers.push_back(api::kueue::kInUseFinalizer);
    }
    plan_.then(
        Patch{.target = ref_to(*found),
              .merge = Value::object(
                  {{"metadata",
                    Value::object({{"ownerReferences", std::move(owners)},
                                   {"finalizers", std::move(finalizers)},
                                   {"labels", Value::object({{name::kJobUid, job_->uid()}})}})}}),
              .guard = guard_for(*found)});
    return false;
  }

  [[nodiscard]] Value owner_reference() const {
    return OwnerReference{.api_version = adapter_.kind->api_version(),
                          .kind = std::string(adapter_.kind->name),
                          .name = std::string(job_->name()),
                          .uid = std::string(job_->uid()),
                          .controller = true,
                          .block_owner_deletion = true}
        .to_value();
  }

  void emit_for_job(std::string_view reason, std::string note, std::string_view type = "Normal") {
    tell(plan_, *adapter_.kind, *job_, reason, std::move(note), type);
  }

  // Writes the job as it shall be.
  void write_job(const Value& wanted) {
    Value merge = make_merge_patch(job_->body(), wanted);
    if (!merge.is_null()) {
      plan_.then(Patch{.target = {adapter_.kind, job_->key()},
                       .merge = std::move(merge),
                       .guard = guard_for(*job_)});
    }
  }

  // Suspends a running job, then takes back what admission gave it. True: something is written,
  // and there may be more to do.
  bool stop(const std::string& why, const std::optional<Object>& workload) {
    if (!suspended()) {
      Value wanted = job_->body();
      set_suspended(adapter_, wanted, true);
      if (workload && !adapter_.has_start_time) {
        give_back(wanted, *workload);
      }
      write_job(wanted);
      emit_for_job("Stopped", why);
      return true;
    }
    if (!workload) {
      return false;
    }
    Value wanted = job_->body();
    give_back(wanted, *workload);
    if (wanted == job_->body()) {
      return false;
    }
    // A template changes only while the job never started.
    if (adapter_.has_start_time && !job_->status()["startTime"].is_null()) {
      plan_.then(Status{.target = {adapter_.kind, job_->key()},
                        .status = Value::object({{"startTime", nullptr}}),
                        .guard = guard_for(*job_)});
      return true;
    }
    write_job(wanted);
    return true;
  }

  void give_back(Value& wanted, const Object& workload) const {
    const std::vector<PodSetPlace> places = adapter_.pod_sets(*job_);
    const Value& pod_sets = workload.spec()["podSets"];
    if (pod_sets.size() != places.size()) {
      return;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (Value* pod_template = reach(wanted, places[i].pod_template)) {
        restore(*pod_template, pod_sets[i]["template"]);
      }
      // Only partial admission runs other numbers of pods than the job asks for; what differs
      // otherwise is a change of its owner's.
      if (adapter_.set_count != nullptr && !pod_sets[i]["minCount"].is_null() &&
          pod_sets[i]["count"] != Value(places[i].count)) {
        adapter_.set_count(wanted, places[i], pod_sets[i]["count"].as_int());
      }
    }
  }

  // A deleted Workload holds its quota until the pods are gone.
  void end(const Object& workload) {
    if (!adapter_.outcome(*job_) && (stop("Workload is deleted", workload) || active())) {
      return;
    }
    if (workload.has_finalizer(api::kueue::kInUseFinalizer)) {
      drop_finalizer(plan_, api::kueue::kWorkload, workload, api::kueue::kInUseFinalizer);
    }
  }

  void create() {
    if (stop("Not admitted by cluster queue", std::nullopt) || active()) {
      return;
    }
    Value pod_sets = pod_sets_of(adapter_, settings_, *job_);
    const auto priority = priority_of(view_, *job_, pod_sets);
    if (!priority.ok()) {
      emit_for_job("WorkloadPriorityClassNotFound", priority.error().message, "Warning");
      return;  // the class is read: its creation runs this again
    }
    const std::string name = workload_name(*adapter_.kind, *job_, name_length(settings_));
    Value workload =
        new_workload(name, *job_, Value::list({owner_reference()}), std::move(pod_sets), *priority);
    const Key key{std::string(job_->ns()), name};
    plan_.then(Create{.target = {&api::kueue::kWorkload, key}, .object = std::move(workload)});
    emit_for_job("CreatedWorkload", fmt::format("Created Workload: {}", key.text()));
  }

  void replace(const Object& workload) {
    if (!prebuilt().empty()) {
      stop("No matching Workload", workload);
      write_finished(plan_, workload, "OutOfSync",
                     "The prebuilt workload is out of sync with its user job", now_);
      return;
    }
    if (suspended() && !says(workload, "QuotaReserved")) {
      plan_.then(Patch{
          .target = ref_to(workload),
          .merge = Value::object(
              {{"spec",
                Value::object({{"podSets", pod_sets_of(adapter_, settings_, *job_)},
                               {"maximumExecutionTimeSeconds", max_execution_time(*job_)}})}}),
          .guard = guard_for(workload)});
      emit_for_job("UpdatedWorkload",
                   fmt::format("Updated not matching Workload for suspended job: {}",
                               workload.key().text()));
      return;
    }
    stop("No matching Workload", std::nullopt);
    plan_.then(Delete{.target = ref_to(workload), .guard = {.uid = std::string(workload.uid())}});
    emit_for_job("DeletedWorkload",
                 fmt::format("Deleted not matching Workload: {}", workload.key().text()));
  }

  void follow(const Object& workload) {
    if (says(workload, "Evicted")) {
      evict(workload);
      return;
    }
    if (suspended() && api::kueue::holds_elsewhere(workload, queue_for(workload))) {
      if (prebuilt().empty()) {
        replace(workload);
        return;
      }
      emit_for_job(api::kueue::kNotUpdated, api::kueue::not_updated(workload, "queue"), "Warning");
    }
    if (follow_waiting(workload)) {
      return;
    }
    const bool admitted = says(workload, "Admitted");
    if (admitted && suspended()) {
      start(workload);
      return;
    }
    if (!admitted && stop("Not admitted by cluster queue", workload)) {
      return;
    }
    Readiness readiness{.admitted = admitted,
                        .ready = admitted && adapter_.ready(view_, *job_),
                        .awaited = settings_.wait_for_pods_ready};
    if (admitted && adapter_.reclaimable != nullptr) {
      readiness.reclaimable = adapter_.reclaimable(*job_);
    }
    follow_readiness(plan_, workload, readiness, now_);
  }

  // What the job says of its place in the queue is its Workload's. True: something is written.
  bool follow_waiting(const Object& workload) {
    return follow_queue(workload) || follow_priority(workload) ||
           (suspended() && follow_gate(plan_, workload, *job_));
  }

  [[nodiscard]] std::string_view queue_for(const Object& workload) const {
    return api::kueue::wanted_queue(workload, job_->label(name::kQueue), !prebuilt().empty());
  }

  // The queue label moves a Workload that holds nothing.
  bool follow_queue(const Object& workload) {
    return suspended() && jobs::follow_queue(plan_, workload, queue_for(workload));
  }

  bool follow_priority(const Object& workload) {
    const auto written = jobs::follow_priority(plan_, view_, workload, *job_);
    if (!written.ok()) {
      emit_for_job("WorkloadPriorityClassNotFound", written.error().message, "Warning");
      return false;
    }
    if (*written) {
      emit_for_job("UpdatedWorkload",
                   fmt::format("Updated workload priority class: {}", workload.key().text()));
    } else if (auto kept = kept_priority(workload, *job_); kept && suspended()) {
      emit_for_job(api::kueue::kNotUpdated, *std::move(kept), "Warning");
    }
    return *written;
  }

  // The job as admission wants it to run.
  Result<Value> started(const Object& workload) const {
    ATHANOR_TRY(const std::vector<PodSetInfo> infos, pod_set_infos(view_, workload));
    const std::vector<PodSetPlace> places = adapter_.pod_sets(*job_);
    if (infos.size() != places.size()) {
      return Error::bad_request(fmt::format("invalid podset infos: expecting {} podsets, got {}",
                                            places.size(), infos.size()));
    }
    Value wanted = job_->body();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (Value* pod_template = reach(wanted, places[i].pod_template)) {
        ATHANOR_TRY_VOID(inject(*pod_template, infos[i]));
      }
      if (adapter_.set_count != nullptr && infos[i].count != places[i].count) {
        adapter_.set_count(wanted, places[i], infos[i].count);
      }
    }
    set_suspended(adapter_, wanted, false);
    return wanted;
  }

  void start(const Object& workload) {
    const auto wanted = started(workload);
    if (!wanted.ok()) {
      write_finished(plan_, workload, "FailedToStart", wanted.error().message, now_);
      emit_for_job("FailedToStart", wanted.error().message, "Warning");
      return;
    }
    // Of an earlier round: its pods' placement could not change.
    if (adapter_.has_start_time && !job_->status()["startTime"].is_null()) {
      plan_.then(Status{.target = {adapter_.kind, job_->key()},
                        .status = Value::object({{"startTime", nullptr}}),
                        .guard = guard_for(*job_)});
      return;
    }
    write_job(*wanted);
    emit_for_job("Started",
                 fmt::format("Admitted by clusterQueue {}",
                             workload.status()["admission"]["clusterQueue"].as_string()));
  }

  // Marked as evicted: stop, and release the quota once no pod runs any more.
  void evict(const Object& workload) {
    const std::string message =
        find_condition(workload.status()["conditions"], "Evicted")["message"].str();
    if (stop(message, workload) || active()) {
      return;
    }
    if (says(workload, "QuotaReserved")) {
      release_quota(plan_, workload, reason_of(Waits::Evaluation, settings_.granular), now_);
    } else if (!retire(workload)) {
      follow_waiting(workload);
    }
  }

  // Deletes a job that the engine deactivated long enough ago (9). False: it stays for now.
  bool retire(const Object& workload) {
    const auto due = api::kueue::retires_at(workload, settings_.keep_deactivated);
    if (!due || *due > now_) {
      if (due) {
        plan_.wake_at(*due);
      }
      return false;
    }
    emit_for_job("Deleted", std::string(api::kueue::kRetired));
    plan_.then(
        Delete{.target = {adapter_.kind, job_->key()}, .guard = {.uid = std::string(job_->uid())}});
    return true;
  }

  const View& view_;
  const Adapter& adapter_;
  const Integrations& settings_;
  Instant now_;
  const Object* job_ = nullptr;
  Plan plan_{};
};

Plan reconcile_job(const Adapter& adapter, const View& view, const Key& key, Instant now) {
  const auto job = view.get(*adapter.kind, key);
  if (!job || job->deleting()) {
    return Plan::done();
  }
  const Integrations settings = integrations_of(view);
  if (!settings.has(adapter.framework) || is_system_namespace(job->ns())) {
    return Plan::done();
  }
  if (!is_managed(view, settings, *job)) {
    return suspend_child(view, adapter, settings, *job, now);
  }
  return Manager(view, adapter, settings, now).run(*job);
}

using Which = const Adapter& (*)();
template <Which which>
Plan reconcile_job(const View& view, const Key& key, Instant now) {
  return reconcile_job(which(), view, key, now);
}

// What every job operator of an adapter touches.
struct Touched {
  std::vector<const Kind*> reads{};
  std::vector<const Kind*> writes{};
  std::vector<Access> access{};
};
Touched touched(const Adapter& adapter) {
  Touched all{.reads = {adapter.kind, &api::kueue::kWorkload, &api::kueue::kWorkloadPriorityClass,
                        &api::kueue::kResourceFlavor, &api::kPriorityClass, &api::kNamespace,
                        &api::kConfigMap},
              .writes = {adapter.kind, &api::kueue::kWorkload, &api::kEvent},
              .access = {{adapter.kind, "patch delete"},
                         {&kAppWrapper, "get"},
                         {&api::kueue::kWorkload, "get create patch delete"},
                         {&api::kueue::kWorkload, "patch", "status"},
                         {adapter.kind, "update", "finalizers"},  // of the Workload's owner
                         {&api::kEvent, "create patch"}}};
  for (const auto kinds : {ancestor_kinds(), adapter.reads}) {
    for (const Kind* kind : kinds) {
      if (std::ranges::find(all.reads, kind) == all.reads.end()) {
        all.reads.push_back(kind);
      }
    }
  }
  if (adapter.has_start_time) {
    all.access.push_back({adapter.kind, "patch", "status"});
  }
  return all;
}

template <Which which>
const Operator& operator_of() {
  static const Touched kTouched = touched(which());
  static const Kind* const kSmall[] = {&api::kPriorityClass};
  static const Operator kOperator{.name = which().operator_name,
                                  .primary = which().kind,
                                  .reads = kTouched.reads,
                                  .writes = kTouched.writes,
                                  .reconcile = reconcile_job<which>,
                                  .small = kSmall,
                                  .access = kTouched.access};
  return kOperator;
}

}  // namespace

std::span<const Operator* const> operators() {
  static const std::vector<const Operator*> kAll = [] {
    std::vector<const Operator*> all{&operator_of<batch_job>(),   &operator_of<job_set>(),
                                     &operator_of<pytorch_job>(), &operator_of<ray_cluster>(),
                                     &operator_of<ray_job>(),     &pod_operator(),
                                     &release_operator(),         &unqueued_operator()};
    const auto unsupported = unsupported_operators();
    all.insert(all.end(), unsupported.begin(), unsupported.end());
    return all;
  }();
  return kAll;
}

}  // namespace athanor::kueue::jobs
