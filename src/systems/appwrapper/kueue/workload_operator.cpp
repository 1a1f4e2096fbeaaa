// SPDX-License-Identifier: Apache-2.0
// Kueue's side of an AppWrapper: its Workload is made, followed and finished
// (docs/spec/appwrapper.md 4).
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "api/kueue_pods_ready.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/kueue/workload.hpp"
#include "systems/appwrapper/model/managed.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/operators.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {
namespace {

constexpr Duration kLookAgain = std::chrono::seconds(1);

bool is_true(const Object& workload, std::string_view type) {
  return condition_is(workload.status()["conditions"], type, "True");
}

Ref ref_of(const Object& workload) {
  return {&api::kueue::kWorkload, workload.key()};
}

Guard guard_of(const Object& object) {
  return {.uid = std::string(object.uid()),
          .resource_version = std::string(object.resource_version())};
}

struct Finish {
  std::string_view reason{}, message{};
};
std::optional<Finish> finish_of(const AppWrapper& app) {
  if (app.status.phase == phase::kSucceeded) {
    return Finish{"Succeeded", "AppWrapper finished successfully"};
  }
  if (app.status.phase == phase::kFailed &&
      !condition_is(app.status.conditions, condition::kResourcesDeployed, "True")) {
    return Finish{"Failed", "AppWrapper failed"};
  }
  return std::nullopt;
}

class Manager {
 public:
  Manager(const View& view, const AppWrapper& app, const Queueing& queueing, Instant now)
      : view_(view), app_(app), queueing_(queueing), now_(now) {}

  Plan run() {
    if (const std::string name = prebuilt_workload(app_.object); !name.empty()) {
      return run_prebuilt(name);
    }
    std::vector<Object> all = view_.list(
        api::kueue::kWorkload, {.index = "owner", .index_value = std::string(app_.object.uid())});
    std::erase_if(all, [&](const Object& one) { return !owns(one); });
    for (const Object& workload : all) {
      if (workload.deleting()) {
        end(workload);
        return std::move(plan_);
      }
    }
    const Object* current = all.empty() ? nullptr : &all.front();
    if (finish(current)) {
      return std::move(plan_);
    }
    if (current == nullptr) {
      create();
    } else if (is_true(*current, "Finished")) {
      // Tried again (B-19): a fresh Workload replaces it, unless it would fail to start again.
      if (!stop("Workload is finished") && !active() && !failed_to_start(*current)) {
        plan_.then(
            Delete{.target = ref_of(*current), .guard = {.uid = std::string(current->uid())}});
      }
    } else if (!is_equivalent(*current, app_)) {
      replace(*current);
    } else {
      follow(*current);
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] static bool failed_to_start(const Object& workload) {
    return find_condition(workload.status()["conditions"], "Finished")["reason"].as_string() ==
           "FailedToStart";
  }

  [[nodiscard]] bool owns(const Object& workload) const {
    const auto owner = workload.controller();
    return owner && owner->uid == app_.object.uid();
  }

  // Takes over a Workload that another controller made, such as MultiKueue on a worker cluster.
  // Makes none; one that does not fit ends (4.8).
  Plan run_prebuilt(const std::string& name) {
    const auto workload = view_.get(api::kueue::kWorkload, {std::string(app_.object.ns()), name});
    if (!workload || (workload->controller() && !owns(*workload))) {
      stop("missing workload");  // it is read: once it is there this runs again
      if (workload) {
        tell(api::kueue::kNameConflict, api::kueue::owned_by_another(*workload), "Warning");
      }
    } else if (workload->deleting()) {
      end(*workload);
    } else if (!workload->controller()) {
      adopt(*workload);
    } else if (finish(&*workload)) {
      return std::move(plan_);
    } else if (is_true(*workload, "Finished")) {
      stop("Workload is finished");
    } else if (!is_equivalent(*workload, app_)) {
      write_finished(*workload, "OutOfSync",
                     "The prebuilt workload is out of sync with its user job");
    } else {
      follow(*workload);
    }
    return std::move(plan_);
  }

  void adopt(const Object& workload) {
    Value owners = workload.metadata()["ownerReferences"];
    owners.push_back(owner_of_workload(app_));
    Value finalizers = workload.metadata()["finalizers"];
    if (!workload.has_finalizer(api::kueue::kInUseFinalizer)) {
      finalizers.push_back(api::kueue::kInUseFinalizer);
    }
    plan_.then(Patch{
        .target = ref_of(workload),
        .merge = Value::object(
            {{"metadata",
              Value::object({{"ownerReferences", std::move(owners)},
                             {"finalizers", std::move(finalizers)},
                             {"labels", Value::object({{name::kJobUid, app_.object.uid()}})}})}}),
        .guard = guard_of(workload)});
  }

  // Marks the Workload of an AppWrapper that is over. Returns true if it is over.
  bool finish(const Object* workload) {
    const auto finish = finish_of(app_);
    if (finish && workload != nullptr && !is_true(*workload, "Finished")) {
      write_finished(*workload, finish->reason, finish->message);
      tell("FinishedWorkload",
           fmt::format("Workload '{}' is declared finished", workload->key().text()));
    }
    return finish.has_value();
  }

  [[nodiscard]] bool active() const {
    return condition_is(app_.status.conditions, condition::kQuotaReserved, "True");
  }
  void tell(std::string_view reason, std::string note, std::string_view type = "Normal") {
    plan_.then(Emit{.about = {&kAppWrapper, app_.object.key()},
                    .about_uid = std::string(app_.object.uid()),
                    .type = std::string(type),
                    .reason = std::string(reason),
                    .note = std::move(note)});
  }
  void patch_app(Value spec) {
    plan_.then(Patch{.target = {&kAppWrapper, app_.object.key()},
                     .merge = Value::object({{"spec", std::move(spec)}}),
                     .guard = guard_of(app_.object)});
  }
  void patch_workload(const Object& workload, Value spec) {
    plan_.then(Patch{.target = ref_of(workload),
                     .merge = Value::object({{"spec", std::move(spec)}}),
                     .guard = guard_of(workload)});
  }

  void write_conditions(const Object& workload, const std::vector<Condition>& conditions,
                        bool release) {
    Value list = workload.status()["conditions"];
    for (Condition one : conditions) {
      one.observed_generation = workload.generation();
      api::kueue::set_workload_condition(list, one, now_);
    }
    Value status = Value::object({{"conditions", std::move(list)}});
    if (release) {
      status.set("admission", nullptr);
    }
    plan_.then(Status{
        .target = ref_of(workload), .status = std::move(status), .guard = guard_of(workload)});
  }
  void write_finished(const Object& workload, std::string_view reason, std::string_view message) {
    write_conditions(workload,
                     {{.type = "Finished",
                       .status = "True",
                       .reason = std::string(reason),
                       .message = std::string(message)}},
                     false);
  }

  // Suspends a running AppWrapper. Returns true if it was running.
  bool stop(const std::string& why) {
    if (app_.spec.suspend) {
      return false;
    }
    patch_app(Value::object({{"suspend", true}, {"components", stopped_components(app_)}}));
    tell("Stopped", why);
    return true;
  }

  // A deleted Workload holds its quota until the objects are gone.
  void end(const Object& workload) {
    if (stop("Workload is deleted") || active()) {
      return;
    }
    Value kept = Value::list();
    for (const Value& finalizer : workload.metadata()["finalizers"].items()) {
      if (finalizer.as_string() != api::kueue::kInUseFinalizer) {
        kept.push_back(finalizer);
      }
    }
    plan_.then(Patch{
        .target = ref_of(workload),
        .merge = Value::object({{"metadata", Value::object({{"finalizers", std::move(kept)}})}}),
        .guard = guard_of(workload)});
  }

  void create() {
    if (stop("Not admitted by cluster queue") || active()) {
      return;
    }
    const auto priority = priority_of(view_, app_);
    if (!priority.ok()) {
      tell("WorkloadPriorityClassNotFound", priority.error().message, "Warning");
      return;  // the class is read: its creation runs this again
    }
    Value workload = new_workload(app_, *priority, queueing_);
    const Key key{std::string(app_.object.ns()), workload["metadata"]["name"].str()};
    plan_.then(Create{.target = {&api::kueue::kWorkload, key}, .object = std::move(workload)});
    tell("CreatedWorkload", fmt::format("Created Workload: {}", key.text()));
  }

  void replace(const Object& workload) {
    const bool reserved = is_true(workload, "QuotaReserved");
    if (app_.spec.suspend && !reserved) {
      const Value fresh = new_workload(app_, {}, queueing_);
      patch_workload(workload, Value::object({{"podSets", fresh["spec"]["podSets"]},
                                              {"maximumExecutionTimeSeconds",
                                               fresh["spec"]["maximumExecutionTimeSeconds"]}}));
      tell("UpdatedWorkload", fmt::format("Updated not matching Workload for suspended job: {}",
                                          workload.key().text()));
      return;
    }
    stop("No matching Workload");
    plan_.then(Delete{.target = ref_of(workload), .guard = {.uid = std::string(workload.uid())}});
    tell("DeletedWorkload",
         fmt::format("Deleted not matching Workload: {}", workload.key().text()));
  }

  void follow(const Object& workload) {
    if (follow_queue(workload)) {
      return;
    }
    if (is_true(workload, "Evicted")) {
      evict(workload);
      return;
    }
    if (app_.spec.suspend && api::kueue::holds_elsewhere(workload, queue_for(workload))) {
      if (prebuilt_workload(app_.object).empty()) {
        replace(workload);
        return;
      }
      tell(api::kueue::kNotUpdated, api::kueue::not_updated(workload, "queue"), "Warning");
    }
    follow_priority(workload);
    if (follow_gate(workload)) {
      return;
    }
    const bool admitted = is_true(workload, "Admitted");
    follow_readiness(workload, admitted);
    if (admitted && app_.spec.suspend) {
      if (!active()) {
        start(workload);
      }
    } else if (!admitted) {
      stop("Not admitted by cluster queue");
    }
  }

  [[nodiscard]] std::string_view queue_for(const Object& workload) const {
    return api::kueue::wanted_queue(workload, app_.object.label(name::kQueueName),
                                    !prebuilt_workload(app_.object).empty());
  }

  // The queue label moves a Workload that holds nothing.
  bool follow_queue(const Object& workload) {
    const std::string_view queue = queue_for(workload);
    if (!app_.spec.suspend || is_true(workload, "QuotaReserved") ||
        workload.spec()["queueName"].as_string() == queue) {
      return false;
    }
    patch_workload(workload,
                   Value::object({{"queueName", queue.empty() ? Value() : Value(queue)}}));
    return true;
  }

  // The annotation that holds admission back moves with the AppWrapper's; a prebuilt Workload has
  // its own.
  bool follow_gate(const Object& workload) {
    auto merge = api::kueue::gate_patch(workload, app_.object);
    if (!merge || !app_.spec.suspend || !prebuilt_workload(app_.object).empty()) {
      return false;
    }
    plan_.then(
        Patch{.target = ref_of(workload), .merge = *std::move(merge), .guard = guard_of(workload)});
    return true;
  }

  void follow_priority(const Object& workload) {
    const auto change = api::kueue::class_change(workload, app_.object.label(name::kPriorityClass),
                                                 !prebuilt_workload(app_.object).empty());
    if (change == api::kueue::ClassChange::None) {
      return;
    }
    if (change == api::kueue::ClassChange::AfterRelease) {
      if (app_.spec.suspend) {
        tell(api::kueue::kNotUpdated, api::kueue::not_updated(workload, "priority class"),
             "Warning");
      }
      return;
    }
    const auto priority = priority_of(view_, app_);
    if (!priority.ok()) {
      tell("WorkloadPriorityClassNotFound", priority.error().message, "Warning");
      return;
    }
    patch_workload(workload, Value::object({{"priorityClassRef", priority->class_ref},
                                            {"priority", priority->value}}));
    tell("UpdatedWorkload",
         fmt::format("Updated workload priority class: {}", workload.key().text()));
  }

  // PodsReady of the Workload, where Kueue waits for it (4.6).
  void follow_readiness(const Object& workload, bool admitted) {
    if (!queueing_.wait_for_pods_ready) {
      return;
    }
    const bool ready = condition_is(app_.status.conditions, condition::kPodsReady, "True");
    if (auto condition = api::kueue::pods_ready_condition(workload.status()["conditions"],
                                                          {.admitted = admitted, .ready = ready})) {
      write_conditions(workload, {*std::move(condition)}, false);
    }
  }

  void start(const Object& workload) {
    auto components = started_components(view_, app_, workload);
    if (!components.ok()) {
      write_finished(workload, "FailedToStart", components.error().message);
      return;
    }
    patch_app(Value::object({{"suspend", false}, {"components", *std::move(components)}}));
    tell("Started", fmt::format("Admitted by clusterQueue {}",
                                workload.status()["admission"]["clusterQueue"].as_string()));
  }

  // Marked as evicted: stop, and release the quota once all objects are gone.
  void evict(const Object& workload) {
    const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
    const std::string message = evicted["message"].str();
    if (stop(message) || active()) {
      return;
    }
    if (!is_true(workload, "QuotaReserved")) {
      if (!retire(workload)) {
        follow_priority(workload);
        follow_gate(workload);
      }
      return;
    }
    const std::string reason = evicted["reason"].str();
    std::vector<Condition> conditions{
        {"QuotaReserved",
         "False",
         std::string(api::kueue::released_reason(queueing_.granular)),
         message,
         {}},
        {"Admitted", "False", "NoReservation", "The workload has no reservation", {}},
        {"Requeued", reason == "Preempted" ? "True" : "False", reason, message, {}}};
    if (auto stopped = api::kueue::pods_ready_after_stop(workload.status()["conditions"])) {
      conditions.push_back(*std::move(stopped));
    }
    write_conditions(workload, conditions, true);
  }

  // Deletes an AppWrapper that Kueue deactivated long enough ago. False: it stays for now.
  bool retire(const Object& workload) {
    const auto due = api::kueue::retires_at(workload, queueing_.keep_deactivated);
    if (!due || *due > now_) {
      if (due) {
        plan_.wake_at(*due);
      }
      return false;
    }
    tell("Deleted", std::string(api::kueue::kRetired));
    plan_.then(Delete{.target = {&kAppWrapper, app_.object.key()},
                      .guard = {.uid = std::string(app_.object.uid())}});
    return true;
  }

  const View& view_;
  const AppWrapper& app_;
  const Queueing& queueing_;
  Instant now_;
  Plan plan_{};
};

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto app = view.get<AppWrapper>(key);
  if (!app || app->object.deleting() || !has_workload(*app)) {
    return Plan::done();
  }
  const Queueing queueing = queueing_of(view, settings_of(view));
  if (!is_queued(view, app->object.body(), queueing)) {
    return Plan::done();
  }
  // Before it was seen nothing says which pods it has; what runs elsewhere is not seen here.
  if (app->status.phase.empty() && is_managed_here(*app)) {
    return Plan::done();
  }
  return Manager(view, *app, queueing, now).run();
}

Plan finished_without_owner(const Object& workload, Instant now) {
  Value list = workload.status()["conditions"];
  set_condition(list,
                {.type = "Finished",
                 .status = "True",
                 .reason = "OwnerNotFound",
                 .message = "The workload's owner no longer exists",
                 .observed_generation = workload.generation()},
                now);
  Plan plan;
  plan.then(Status{.target = ref_of(workload),
                   .status = Value::object({{"conditions", std::move(list)}}),
                   .guard = guard_of(workload)});
  return plan;
}

// Releases the quota of a Workload whose AppWrapper is gone or being deleted: a deletion in the
// foreground waits for the Workload.
Plan release(const View& view, const Key& key, Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  const auto owner = workload ? workload->controller() : std::nullopt;
  if (!owner || owner->kind != kAppWrapper.name ||
      owner->api_version != kAppWrapper.api_version() ||
      !workload->has_finalizer(api::kueue::kInUseFinalizer)) {
    return Plan::done();
  }
  const auto app = view.get(kAppWrapper, {key.ns, owner->name});
  const bool present = app && app->uid() == owner->uid;
  if (present && !app->deleting()) {
    return Plan::done();
  }
  if (!workload->deleting() && !present) {
    Plan plan;  // the garbage collector deletes it
    plan.wake_at(now + kLookAgain);
    return plan;
  }
  if (!workload->deleting() && !is_true(*workload, "Finished")) {
    return finished_without_owner(*workload, now);
  }
  Value kept = Value::list();
  for (const Value& finalizer : workload->metadata()["finalizers"].items()) {
    if (finalizer.as_string() != api::kueue::kInUseFinalizer) {
      kept.push_back(finalizer);
    }
  }
  Plan plan;
  plan.then(Patch{
      .target = {&api::kueue::kWorkload, key},
      .merge = Value::object({{"metadata", Value::object({{"finalizers", std::move(kept)}})}}),
      .guard = guard_of(*workload)});
  return plan;
}

// Queues, checks and namespaces are what its webhooks look at.
constexpr const Kind* kReads[] = {&kAppWrapper,
                                  &api::kueue::kWorkload,
                                  &api::kueue::kWorkloadPriorityClass,
                                  &api::kueue::kResourceFlavor,
                                  &api::kPriorityClass,
                                  &api::kueue::kLocalQueue,
                                  &api::kueue::kClusterQueue,
                                  &api::kueue::kAdmissionCheck,
                                  &api::kNamespace,
                                  &api::kConfigMap};

Operator workload_operator_of(std::string_view operator_name, std::span<const Kind* const> reads) {
  static const Kind* const kWrites[] = {&kAppWrapper, &api::kueue::kWorkload, &api::kEvent};
  static const Kind* const kSmall[] = {&api::kPriorityClass};
  static const Access kAccess[] = {{&kAppWrapper, "patch delete"},
                                   {&api::kueue::kWorkload, "create patch delete"},
                                   {&api::kueue::kWorkload, "patch", "status"},
                                   {&kAppWrapper, "update", "finalizers"},  // owns the Workload
                                   {&api::kEvent, "create patch"}};
  return {.name = operator_name,
          .primary = &kAppWrapper,
          .reads = reads,
          .writes = kWrites,
          .reconcile = reconcile,
          .small = kSmall,
          .access = kAccess};
}

}  // namespace

const Operator& workload_operator() {
  static const Operator kOperator = workload_operator_of("appwrapper-workload", kReads);
  return kOperator;
}

const Operator& integrated_workload_operator() {
  static const Operator kOperator =
      workload_operator_of("appwrapper-workload-integrated",
                           std::span(kReads).first(std::size(kReads) - 1));  // no ConfigMap
  return kOperator;
}

const Operator& workload_release_operator() {
  static const Kind* const kReads[] = {&kAppWrapper, &api::kueue::kWorkload};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload};
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch"},
                                   {&api::kueue::kWorkload, "patch", "status"}};
  static const Operator kOperator{.name = "appwrapper-workload-release",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = release,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::appwrapper
