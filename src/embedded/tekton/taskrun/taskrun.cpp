// SPDX-License-Identifier: Apache-2.0
// The TaskRun controller: one pod an attempt, its status mirrored into the TaskRun's.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/cloud_events.hpp"
#include "embedded/tekton/model/ignored_fields.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/taskrun/credentials.hpp"
#include "embedded/tekton/taskrun/taskrun_pod.hpp"
#include "embedded/tekton/taskrun/taskrun_resolve.hpp"
#include "embedded/tekton/taskrun/taskrun_startup.hpp"
#include "embedded/tekton/taskrun/taskrun_status.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/step.hpp"

namespace athanor::tekton {
namespace {

// A pod that starts within this long of its making costs no status write for its waiting. Pods know
// whole seconds only.
constexpr Duration kPendingGrace = std::chrono::milliseconds(1500);
// A pod refused for quota is tried again this often, this many times.
constexpr Duration kQuotaPace = std::chrono::minutes(1);
constexpr int kQuotaTries = 60;

// The pod has not ended by itself and must not go on.
bool takes_pod(std::string_view reason) {
  return reason == "TaskRunCancelled" || reason == "TaskRunTimeout" ||
         reason == "TaskRunImagePullFailed" || reason == "CreateContainerConfigError" ||
         reason == "FailedMount";
}

class Pass {
 public:
  Pass(const View& view, Object task_run, Instant now)
      : view_(view),
        task_run_(std::move(task_run)),
        ref_{&api::kTaskRun, task_run_.key()},
        now_(now),
        settings_(read_settings(view)),
        pod_key_{std::string(task_run_.ns()), current_pod_name(task_run_)},
        pod_(view.get(api::kPod, pod_key_)) {
    if (pod_ && !pod_->owned_by(task_run_.uid())) {
      name_taken_ = !may_go(*pod_);
      pod_.reset();
    }
    started_before_ = time_of(task_run_.status()["startTime"]);
    const auto made = pod_ ? pod_->creation_time() : std::nullopt;
    start_ = started_before_.value_or(made.value_or(std::chrono::floor<std::chrono::seconds>(now)));
  }

  Plan plan();
  // A finished TaskRun that was stopped must not leave its pod behind.
  Plan clean_up();

 private:
  void mark_pending();
  void stop(const Outcome& outcome);
  void fail(const Refusal& refusal);
  // Either the end or, with retries left, the next attempt.
  void end_attempt(const Outcome& outcome, Value status);
  void run_pod();
  void mirror_pod(const Value& task_spec);
  // A pod that can never start fails once its grace is over (17).
  std::optional<Outcome> diagnosed(const Outcome& outcome);
  void create_pod(const ResolvedTask& task);
  void write_status(const Outcome& outcome, Value status);
  void delete_pod();
  void report_sidecars();
  bool make_claims(const std::vector<Value>& claims);
  void report_ignored(const Value& task_spec);
  void report_missing(const Credentials& credentials);
  void adopt_metadata(const ResolvedTask& task);
  [[nodiscard]] Outcome judged(Outcome outcome) const;
  [[nodiscard]] bool may_retry() const;
  // Whether a pod with the name that the attempt's has goes by itself: it is being deleted, or it
  // is of a former TaskRun of this name.
  [[nodiscard]] bool may_go(const Object& pod) const {
    const auto owner = pod.controller();
    return pod.deleting() ||
           (owner && owner->kind == api::kTaskRun.name && owner->name == task_run_.name());
  }
  [[nodiscard]] std::optional<Outcome> stopped() const;

  const View& view_;
  Object task_run_;
  Ref ref_;
  Instant now_;
  Settings settings_;
  Key pod_key_;
  std::optional<Object> pod_;
  std::optional<Instant> started_before_{};
  Instant start_{};
  Value labels_{}, annotations_{};
  Value source_{};  // of the definition, once it is found
  Plan plan_{};
  bool moves_own_version_ = false;
  bool attempt_ended_ = false;
  bool name_taken_ = false;
};

void Pass::delete_pod() {
  if (pod_ && !pod_->deleting()) {
    plan_.then(
        Delete{.target = {&api::kPod, pod_key_}, .guard = {.uid = std::string(pod_->uid())}});
  }
}

Plan Pass::clean_up() {
  const std::string_view reason = succeeded(task_run_)["reason"].as_string();
  const std::string_view phase = pod_ ? pod_->status()["phase"].as_string() : "";
  if (takes_pod(reason) && phase != "Succeeded" && phase != "Failed") {
    delete_pod();
  }
  report_sidecars();
  return std::move(plan_);
}

// Sidecars end after the TaskRun: what became of them is written then.
void Pass::report_sidecars() {
  const Value& known = task_run_.status()["sidecars"];
  if (!pod_ || known.empty()) {
    return;
  }
  const Value now = sidecar_states(task_run_.status()["taskSpec"], *pod_);
  if (!now.empty() && now != known) {
    plan_.then(Status{.target = ref_,
                      .status = Value::object({{"sidecars", now}}),
                      .guard = {.uid = std::string(task_run_.uid())}});
  }
}

// What the pod cannot do of what the task asks for (admission warned of it, too).
void Pass::report_ignored(const Value& task_spec) {
  std::vector<std::string> ignored = ignored_fields(task_spec);
  if (!task_run_.spec()["debug"].empty()) {
    ignored.emplace_back(kDebugIgnored);
  }
  if (!ignored.empty()) {
    plan_.then(Emit{.about = ref_,
                    .about_uid = std::string(task_run_.uid()),
                    .type = "Warning",
                    .reason = "FieldsIgnored",
                    .note = join(ignored, "; ")});
  }
}

// Secrets that the service account names and that do not exist.
void Pass::report_missing(const Credentials& credentials) {
  for (const std::string& secret : credentials.missing) {
    plan_.then(Emit{.about = ref_,
                    .about_uid = std::string(task_run_.uid()),
                    .type = "Warning",
                    .reason = "FailedToRetrieveSecret",
                    .note = "Unable to retrieve secret " + quoted(secret) +
                            " of the service account: credentials may be missing"});
  }
}

void Pass::write_status(const Outcome& outcome, Value status) {
  status.set("conditions", conditions_with(task_run_, outcome, now_));
  if (!status.contains("startTime")) {
    status.set("startTime", format_time(start_));
  }
  if (outcome.terminal()) {
    attempt_ended_ = true;
    status.set("completionTime", format_time(now_));
  }
  add_provenance(task_run_.status(), source_, settings_, status);
  if (wanted_status(task_run_.status(), status) == task_run_.status()) {
    return;
  }
  Guard guard{.uid = std::string(task_run_.uid())};
  if (!moves_own_version_) {
    guard.resource_version = std::string(task_run_.resource_version());
  }
  plan_.then(Status{.target = ref_, .status = status, .guard = std::move(guard)});
  if (succeeded(task_run_).is_null()) {
    emit_started(plan_, ref_, task_run_);
    announce_start(view_, plan_, task_run_, settings_, now_);
  }
  emit_outcome(plan_, ref_, task_run_, outcome);
  if (outcome_changes(task_run_, outcome)) {
    announce_status(view_, plan_, task_run_, status, settings_, now_);
  }
}

void Pass::mark_pending() {
  const Outcome outcome{.status = "Unknown",
                        .reason = "TaskRunPending",
                        .message = "TaskRun " + quoted(task_run_.name()) + " is pending"};
  if (outcome_changes(task_run_, outcome)) {
    const Value status = Value::object({{"conditions", conditions_with(task_run_, outcome, now_)}});
    plan_.then(Status{.target = ref_,
                      .status = status,
                      .guard = {.uid = std::string(task_run_.uid()),
                                .resource_version = std::string(task_run_.resource_version())}});
    emit_outcome(plan_, ref_, task_run_, outcome);
    announce_status(view_, plan_, task_run_, status, settings_, now_);
  }
}

// Why this attempt ends now, whatever the pod does (8.8).
std::optional<Outcome> Pass::stopped() const {
  const std::string name = quoted(task_run_.name());
  if (task_run_.spec()["status"].as_string() == "TaskRunCancelled") {
    return Outcome{.status = "False",
                   .reason = "TaskRunCancelled",
                   .message = "TaskRun " + name + " was cancelled. " +
                              task_run_.spec()["statusMessage"].str()};
  }
  const auto limit = attempt_timeout(task_run_, settings_);
  if (!limit || now_ < start_ + *limit) {
    return std::nullopt;
  }
  Outcome outcome{.status = "False",
                  .reason = "TaskRunTimeout",
                  .message = "TaskRun " + name + " failed to finish within " +
                             quoted(format_go_duration(*limit))};
  const Value& before = succeeded(task_run_);
  const std::string_view reason = before["reason"].as_string();
  if (!reason.empty() && reason != "Started" && reason != "Running" && reason != "Pending" &&
      reason != "ToBeRetried") {
    outcome.message +=
        "\nPrevious status: [" + std::string(reason) + "] " + before["message"].str();
  }
  return outcome;
}

bool Pass::may_retry() const {
  return task_run_.spec()["status"].as_string() != "TaskRunCancelled" &&
         static_cast<std::int64_t>(task_run_.status()["retriesStatus"].size()) <
             task_run_.spec()["retries"].as_int();
}

// A failure that its pipeline goes on after.
Outcome Pass::judged(Outcome outcome) const {
  const bool ignorable = outcome.status == "False" && outcome.reason != "TaskRunCancelled";
  if (ignorable && task_run_.annotation(kOnErrorAnnotation) == "continue") {
    outcome.reason = "FailureIgnored";
  }
  return outcome;
}

void Pass::end_attempt(const Outcome& outcome, Value status) {
  if (outcome.status != "False" || !may_retry()) {
    write_status(judged(outcome), std::move(status));
    return;
  }
  attempt_ended_ = true;
  // The pod of the old attempt goes before its name is forgotten.
  if (takes_pod(outcome.reason)) {
    delete_pod();
  }
  Value old_attempt = wanted_status(task_run_.status(), status);
  old_attempt.set("conditions", conditions_with(task_run_, outcome, now_));
  old_attempt.set("startTime", format_time(start_));
  old_attempt.set("completionTime", format_time(now_));
  old_attempt.set("podName", pod_key_.name);
  old_attempt.erase("retriesStatus");
  Value retries = task_run_.status()["retriesStatus"].is_list()
                      ? task_run_.status()["retriesStatus"]
                      : Value::list();
  retries.push_back(std::move(old_attempt));
  status.set("retriesStatus", std::move(retries));
  for (const std::string_view cleared : {"startTime", "completionTime", "podName", "results"}) {
    status.set(cleared, Value());
  }
  write_status({.status = "Unknown", .reason = "ToBeRetried", .message = outcome.message},
               std::move(status));
}

void Pass::stop(const Outcome& outcome) {
  Value status = Value::object();
  const Value& spec = task_run_.status()["taskSpec"];
  Value steps = pod_ && spec.is_object() ? step_states(spec, *pod_) : task_run_.status()["steps"];
  if (!steps.empty()) {
    status.set("steps", terminated_steps(std::move(steps), pod_key_.name, outcome.reason, now_));
  }
  if (pod_) {
    status.set("podName", pod_key_.name);
  }
  end_attempt(outcome, std::move(status));
  delete_pod();
}

void Pass::fail(const Refusal& refusal) {
  write_status(judged({.status = refusal.awaiting ? "Unknown" : "False",
                       .reason = refusal.reason,
                       .message = refusal.message}),
               Value::object());
}

// Labels and annotations of the Task come to the TaskRun, whose own win (10.5).
void Pass::adopt_metadata(const ResolvedTask& task) {
  const Value& metadata = task_run_.metadata();
  labels_ = merged_maps(task.labels, metadata["labels"]);
  annotations_ = merged_maps(inherited_annotations(task.annotations), metadata["annotations"]);
  if (const Value& name = task_run_.spec()["taskRef"]["name"]; !name.as_string().empty()) {
    labels_.set(kTaskLabel, name);
  }
  if (!labels_.contains(kManagedByLabel)) {
    labels_.set(kManagedByLabel, settings_.managed_by);
  }
  Value change = Value::object();
  if (labels_ != metadata["labels"]) {
    change.set("labels", labels_);
  }
  if (!annotations_.empty() && annotations_ != metadata["annotations"]) {
    change.set("annotations", annotations_);
  }
  if (!change.empty()) {
    plan_.then(Patch{.target = ref_,
                     .merge = Value::object({{"metadata", std::move(change)}}),
                     .guard = {.uid = std::string(task_run_.uid()),
                               .resource_version = std::string(task_run_.resource_version())}});
    moves_own_version_ = true;
  }
}

// False: one was refused, and the TaskRun fails.
bool Pass::make_claims(const std::vector<Value>& claims) {
  for (const Value& claim : claims) {
    const Key key{std::string(task_run_.ns()), claim["metadata"]["name"].str()};
    if (view_.get(api::kPersistentVolumeClaim, key)) {
      continue;
    }
    Create step{.target = {&api::kPersistentVolumeClaim, key}, .object = claim};
    if (const auto error = refused(view_, step)) {
      fail({"CouldntCreateWorkspacePVC", "failed to create PVC for TaskRun " +
                                             task_run_.key().text() +
                                             " workspaces correctly: " + error->message});
      return false;
    }
    plan_.then(std::move(step));
  }
  return true;
}

void Pass::create_pod(const ResolvedTask& task) {
  const std::string account = task_run_.spec()["serviceAccountName"].str();
  const auto fail_creation = [&](std::string_view why) {
    const bool admission = why.find("violates PodSecurity") != std::string_view::npos;
    fail({admission ? "PodAdmissionFailed" : "PodCreationFailed",
          "failed to create task run pod " + quoted(task_run_.name()) + ": " + std::string(why) +
              ". " + pod_failure_hint(task_run_)});
  };
  if (!account.empty() && account != "default" &&
      !view_.get(api::kServiceAccount, {std::string(task_run_.ns()), account})) {
    fail_creation("translating TaskSpec to Pod: serviceaccounts " + quoted(account) + " not found");
    return;
  }
  if (name_taken_) {
    fail_creation("pods " + quoted(pod_key_.name) + " already exists");
    return;
  }
  if (!make_claims(task.claims)) {
    return;
  }
  auto pod = make_pod(task_run_, labels_, annotations_, task, settings_);
  if (!pod) {
    fail_creation("translating TaskSpec to Pod: " + pod.error().message);
    return;
  }
  const Credentials credentials =
      settings_.credentials ? credentials_of(view_, task_run_.ns(), account) : Credentials();
  mount_credentials(*pod, credentials);
  for (int attempt = 0; attempt < kQuotaTries; ++attempt) {
    if (attempt > 0) {
      // Another attempt is another question to the API server.
      pod->set_path({"metadata", "annotations", "athanor.dev/attempt"}, std::to_string(attempt));
    }
    Create step{.target = {&api::kPod, pod_key_}, .object = *pod};
    const auto error = refused(view_, step);
    if (!error) {
      plan_.then(std::move(step));
      report_ignored(task.spec);
      report_missing(credentials);
      if (!started_before_) {
        plan_.wake_at(start_ + kPendingGrace);
      }
      return;
    }
    if (error->message.find("exceeded quota") == std::string::npos) {
      fail_creation(error->message);
      return;
    }
    const Instant next = start_ + (attempt + 1) * kQuotaPace;
    if (now_ < next) {
      write_status({.status = "Unknown",
                    .reason = "ExceededResourceQuota",
                    .message = "TaskRun Pod exceeded available resources: " + error->message},
                   Value::object());
      plan_.wake_at(next);
      return;
    }
  }
}

std::optional<Outcome> Pass::diagnosed(const Outcome& outcome) {
  const auto made = pod_->creation_time();
  if (outcome.reason != "Pending" || !made || settings_.startup_grace <= Duration::zero() ||
      pod_->spec()["nodeName"].as_string().empty()) {
    return std::nullopt;
  }
  if (now_ < *made + settings_.startup_grace) {
    plan_.wake_at(*made + settings_.startup_grace);
    return std::nullopt;
  }
  const auto problem = startup_problem(view_, *pod_);
  if (!problem) {
    return std::nullopt;
  }
  return Outcome{.status = "False", .reason = "FailedMount", .message = *problem};
}

// What the pod says goes into the status.
void Pass::mirror_pod(const Value& task_spec) {
  Value steps = step_states(task_spec, *pod_);
  Outcome outcome = pod_outcome(task_run_, task_spec, *pod_, steps, settings_);
  const auto made = pod_->creation_time();
  if (outcome.reason == "Pending" && !started_before_ && made && now_ < *made + kPendingGrace) {
    plan_.wake_at(*made + kPendingGrace);
    return;
  }
  if (auto never = diagnosed(outcome)) {
    outcome = *std::move(never);
  }
  Value status = Value::object({{"podName", pod_key_.name}, {"taskSpec", task_spec}});
  if (!steps.empty()) {
    status.set("steps", std::move(steps));
  }
  if (Value sidecars = sidecar_states(task_spec, *pod_); !sidecars.empty()) {
    status.set("sidecars", std::move(sidecars));
  }
  if (outcome.terminal()) {
    if (Value artifacts = task_artifacts(task_spec, *pod_); !artifacts.empty()) {
      status.set("artifacts", std::move(artifacts));
    }
    auto results = task_results(task_spec, *pod_);
    if (const std::string too_large = oversized_result(*pod_, settings_); !too_large.empty()) {
      outcome = {
          .status = "False", .reason = "TaskRunResultLargerThanAllowedLimit", .message = too_large};
    } else if (results && !results->empty()) {
      status.set("results", *std::move(results));
    } else if (!results && outcome.status == "True") {
      outcome = {.status = "False",
                 .reason = "TaskRunValidationFailed",
                 .message = results.error().message};
    }
  }
  const bool changed = outcome_changes(task_run_, outcome);
  if (takes_pod(outcome.reason)) {
    status.set("steps", terminated_steps(status["steps"], pod_key_.name, outcome.reason, now_));
  }
  end_attempt(outcome, std::move(status));
  if (changed && outcome.reason == "ExceededNodeResources") {
    plan_.then(Emit{.about = ref_,
                    .about_uid = std::string(task_run_.uid()),
                    .type = "Warning",
                    .reason = "ExceededNodeResources",
                    .note = "Insufficient resources to schedule pod " + quoted(pod_key_.name)});
  }
}

void Pass::run_pod() {
  const Value& known = task_run_.status()["taskSpec"];
  // Once a pod runs, the spec it was made from is in the status; an attempt after it has other
  // variables.
  if (pod_ && known.is_object() && !task_run_.status()["podName"].is_null()) {
    mirror_pod(known);
    return;
  }
  const auto task = resolve_task(view_, task_run_, settings_);
  if (!task) {
    fail(task.error());
    return;
  }
  adopt_metadata(*task);
  source_ = task->source;
  if (pod_) {
    mirror_pod(task->spec);
    return;
  }
  create_pod(*task);
}

Plan Pass::plan() {
  if (task_run_.spec()["status"].as_string() == "TaskRunPending" && !started_before_) {
    mark_pending();
    return std::move(plan_);
  }
  if (const auto outcome = stopped()) {
    stop(*outcome);
    return std::move(plan_);
  }
  run_pod();
  if (const auto limit = attempt_timeout(task_run_, settings_); limit && !attempt_ended_) {
    plan_.wake_at(start_ + *limit);
  }
  return std::move(plan_);
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  auto task_run = view.get(api::kTaskRun, key);
  if (!task_run || task_run->deleting() || is_foreign(*task_run)) {
    return Plan::done();
  }
  const bool done = is_done(*task_run);
  Plan undelivered;
  report_undelivered(view, undelivered, *task_run, read_settings(view));
  Pass pass(view, *std::move(task_run), now);
  Plan plan = done ? pass.clean_up() : pass.plan();
  plan.merge(std::move(undelivered));
  return plan;
}

constexpr const Kind* kReads[] = {
    &api::kTaskRun,        &api::kTask,       &api::kPod,    &api::kConfigMap,
    &api::kServiceAccount, &api::kStepAction, &api::kSecret, &api::kPersistentVolumeClaim};
constexpr const Kind* kWrites[] = {&api::kTaskRun, &api::kPod, &api::kPersistentVolumeClaim};
constexpr Access kAccess[] = {{&api::kTaskRun, "patch"},
                              {&api::kTaskRun, "patch", "status"},
                              {&api::kTaskRun, "update", "finalizers"},
                              {&api::kPod, "create delete"},
                              {&api::kPersistentVolumeClaim, "create"},
                              {&api::kEvent, "create patch"}};

}  // namespace

const Operator& taskrun_operator() {
  static const Operator kOperator{.name = "tekton-taskrun",
                                  .primary = &api::kTaskRun,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::tekton
