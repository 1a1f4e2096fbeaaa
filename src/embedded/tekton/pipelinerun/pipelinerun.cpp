// SPDX-License-Identifier: Apache-2.0
// The PipelineRun controller. Everything it decides follows from the run, its TaskRuns and the
// time; the pipeline is resolved once and kept in the status.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/cloud_events.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/model/workspaces.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_facts.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_status.hpp"
#include "embedded/tekton/pipelinerun/task_run_maker.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/step.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kCleanUpClaims = "tekton.dev/auto-cleanup-pvc";

const Kind& kind_of_child(std::string_view name) {
  return name == api::kCustomRun.name     ? api::kCustomRun
         : name == api::kPipelineRun.name ? api::kPipelineRun
                                          : api::kTaskRun;
}

// One look at one run.
class Pass {
 public:
  Pass(const View& view, Object run, Instant now)
      : view_(view),
        run_(std::move(run)),
        ref_{&api::kPipelineRun, run_.key()},
        now_(now),
        settings_(read_settings(view)),
        started_before_(time_of(run_.status()["startTime"])) {
    start_ = started_before_.value_or(std::chrono::floor<std::chrono::seconds>(now));
  }

  Plan plan();

 private:
  void mark_pending();
  void cancel();
  void refuse(const Refusal& refusal);
  void proceed(const Value& pipeline);
  // Labels and annotations as they shall be (7.1).
  void adopt_metadata(const Value& labels, const Value& annotations);
  void patch_metadata();
  void stop_children(const std::vector<Object>& task_runs, std::string_view message);
  void stop_pipeline(const Object& inner, std::string_view message);
  void stop_late_children(const RunFacts& facts);
  void stop_late_custom_runs(const TaskState& task);
  // Errors: why a claim or TaskRun was refused for good.
  Result<void, Refusal> make_claims();
  Result<void, Refusal> start_children(const RunFacts& facts, const Value& pipeline);
  [[nodiscard]] std::optional<Refusal> name_taken(const TaskState& task, const Ref& child) const;
  // status.childReferences and the like, and the results of a finished run, which may change its
  // outcome.
  Value status_of(const RunFacts& facts, const Value& pipeline, Outcome& outcome);
  void report(const RunFacts& facts, const Value& pipeline);
  void write_status(const Outcome& outcome, Value status);
  [[nodiscard]] std::vector<Object> children() const;

  const View& view_;
  Object run_;
  Ref ref_;
  Instant now_;
  Settings settings_;
  std::optional<Instant> started_before_;
  Instant start_{};
  Value labels_{}, annotations_{};
  Value source_{};  // of the definition, once it is found
  // Writes in their order: what stops others, then the status (the fence against an outdated view),
  // then what is new.
  Plan before_{}, after_{};
  bool moves_own_version_ = false;  // a metadata patch comes before the status
  Value started_references_ = Value::list();
  std::string foreign_child_{};  // has the name of a child, perhaps one that is in the status
};

std::vector<Object> Pass::children() const {
  const Select owned{
      .ns = std::string(run_.ns()), .index = "owner", .index_value = std::string(run_.uid())};
  std::vector<Object> all = view_.list(api::kTaskRun, owned);
  for (const Kind* kind : {&api::kCustomRun, &api::kPipelineRun}) {
    for (Object& other : view_.list(*kind, owned)) {
      all.push_back(std::move(other));
    }
  }
  return all;
}

void Pass::adopt_metadata(const Value& labels, const Value& annotations) {
  labels_ = merged_maps(labels, run_.metadata()["labels"]);
  labels_.set(kPipelineLabel, pipeline_label(run_));
  annotations_ = merged_maps(inherited_annotations(annotations), run_.metadata()["annotations"]);
}

// The missing labels and annotations are written first: with the version guard it is the fence of
// this pass.
void Pass::patch_metadata() {
  const auto missing = [](const Value& wanted, const Value& present) {
    Value entries = Value::object();
    for (const Member& member : wanted.members()) {
      if (present[member.key()] != member.value) {
        entries.set(member.key(), member.value);
      }
    }
    return entries;
  };
  Value metadata = Value::object();
  if (Value labels = missing(labels_, run_.metadata()["labels"]); !labels.empty()) {
    metadata.set("labels", std::move(labels));
  }
  if (Value entries = missing(annotations_, run_.metadata()["annotations"]); !entries.empty()) {
    metadata.set("annotations", std::move(entries));
  }
  if (!metadata.empty()) {
    before_.then(Patch{.target = ref_,
                       .merge = Value::object({{"metadata", std::move(metadata)}}),
                       .guard = {.uid = std::string(run_.uid()),
                                 .resource_version = std::string(run_.resource_version())}});
    moves_own_version_ = true;
  }
}

void Pass::mark_pending() {
  const Outcome outcome{.status = "Unknown",
                        .reason = "PipelineRunPending",
                        .message = "PipelineRun " + quoted(run_.name()) + " is pending"};
  if (outcome_changes(run_, outcome)) {
    const Value status = Value::object({{"conditions", conditions_with(run_, outcome, now_)}});
    before_.then(
        Status{.target = ref_, .status = status, .guard = {.uid = std::string(run_.uid())}});
    emit_outcome(before_, ref_, run_, outcome);
    announce_status(view_, before_, run_, status, settings_, now_);
  }
}

void Pass::write_status(const Outcome& outcome, Value status) {
  status.set("conditions", conditions_with(run_, outcome, now_));
  status.set("startTime", format_time(start_));
  if (outcome.terminal()) {
    status.set("completionTime", format_time(now_));
  }
  add_provenance(run_.status(), source_, settings_, status);
  if (wanted_status(run_.status(), status) == run_.status()) {
    return;
  }
  Guard guard{.uid = std::string(run_.uid())};
  if (!moves_own_version_) {
    guard.resource_version = std::string(run_.resource_version());
  }
  before_.then(Status{.target = ref_, .status = status, .guard = std::move(guard)});
  if (!started_before_) {
    emit_started(before_, ref_, run_);
    announce_start(view_, before_, run_, settings_, now_);
  }
  emit_outcome(before_, ref_, run_, outcome);
  if (outcome_changes(run_, outcome)) {
    announce_status(view_, before_, run_, status, settings_, now_);
  }
}

void Pass::stop_children(const std::vector<Object>& task_runs, std::string_view message) {
  for (const Object& task_run : task_runs) {
    if (is_done(task_run) || task_run.deleting()) {
      continue;
    }
    if (is_pipeline_run(task_run)) {
      stop_pipeline(task_run, message);
      continue;
    }
    if (!task_run.spec()["status"].as_string().empty()) {
      continue;
    }
    const bool custom = is_custom_run(task_run);
    const std::string_view words = !custom                       ? message
                                   : message == kTimedOutWithRun ? kCustomTimedOutWithRun
                                                                 : kCustomCancelledWithRun;
    before_.then(
        Patch{.target = {custom ? &api::kCustomRun : &api::kTaskRun, task_run.key()},
              .merge = Value::object(
                  {{"spec", Value::object({{"status", custom ? kCustomStop : "TaskRunCancelled"},
                                           {"statusMessage", words}})}}),
              .guard = {.uid = std::string(task_run.uid())}});
  }
}

// A run that is cancelled with its finally part leaves this to the pipelines in it, too.
void Pass::stop_pipeline(const Object& inner, std::string_view message) {
  const bool late = message == kTimedOutWithRun;
  const bool graceful = !late && run_.spec()["status"].as_string() == "CancelledRunFinally";
  const std::string_view wanted = graceful ? "CancelledRunFinally" : "Cancelled";
  const std::string_view present = inner.spec()["status"].as_string();
  if (present == wanted || present == "Cancelled") {
    return;
  }
  Value change = Value::object({{"spec", Value::object({{"status", wanted}})}});
  if (late) {
    change.set_path({"metadata", "annotations", kStoppedAnnotation}, message);
  }
  before_.then(Patch{.target = {&api::kPipelineRun, inner.key()},
                     .merge = std::move(change),
                     .guard = {.uid = std::string(inner.uid())}});
}

void Pass::cancel() {
  stop_children(children(), kCancelledWithRun);
  write_status(cancelled_outcome(run_), Value::object());
}

void Pass::refuse(const Refusal& refusal) {
  write_status({.status = refusal.awaiting ? "Unknown" : "False",
                .reason = refusal.reason,
                .message = refusal.message},
               Value::object());
}

// CustomRuns past their own timeout: their controllers need not know of it.
void Pass::stop_late_custom_runs(const TaskState& task) {
  for (const Object& run : task.task_runs) {
    const auto limit = duration_of(run.spec()["timeout"]);
    if (is_custom_run(run) && limit && *limit > Duration::zero() &&
        run.creation_time().value_or(now_) + *limit <= now_) {
      stop_children({run}, kTimedOutWithRun);
    }
  }
}

// Running tasks that a timeout or a graceful cancel ends.
void Pass::stop_late_children(const RunFacts& facts) {
  for (const TaskState& task : facts.tasks()) {
    if (task.progress != Progress::Running) {
      continue;
    }
    const bool late = facts.pipeline_timed_out() || (!task.is_final && facts.tasks_timed_out()) ||
                      (task.is_final && facts.finally_timed_out());
    if (late) {
      stop_children(task.task_runs, kTimedOutWithRun);
    } else if (!task.is_final && facts.gracefully_cancelled()) {
      stop_children(task.task_runs, kCancelledWithRun);
    } else {
      stop_late_custom_runs(task);
    }
  }
}

Result<void, Refusal> Pass::make_claims() {
  for (Value& claim : claims_of(run_)) {
    const Key key{std::string(run_.ns()), claim["metadata"]["name"].str()};
    if (view_.get(api::kPersistentVolumeClaim, key)) {
      continue;
    }
    Create step{.target = {&api::kPersistentVolumeClaim, key}, .object = std::move(claim)};
    if (const auto error = refused(view_, step)) {
      return Refusal{"CouldntCreateWorkspacePVC", "Failed to create PVC for PipelineRun " +
                                                      run_.key().text() +
                                                      " correctly: " + error->message};
    }
    after_.then(std::move(step));
  }
  return {};
}

// Refuses a name that another owner's object has: its outcome is not this task's. An object that is
// being deleted, or that a former run of this name made, will disappear, so the task waits.
std::optional<Refusal> Pass::name_taken(const TaskState& task, const Ref& child) const {
  const auto present = view_.get(*child.kind, child.key);
  if (!present || present->owned_by(run_.uid()) || present->deleting()) {
    return std::nullopt;
  }
  const auto owner = present->controller();
  if (owner && owner->kind == api::kPipelineRun.name && owner->name == run_.name()) {
    return std::nullopt;
  }
  return Refusal{"CreateRunFailed",
                 "pipeline task " + quoted(task.name) + ": " + std::string(child.kind->name) + " " +
                     quoted(child.key.name) + " already exists" +
                     (owner ? " and belongs to " + owner->kind + " " + quoted(owner->name) : "") +
                     "; give the run or the task another name"};
}

Result<void, Refusal> Pass::start_children(const RunFacts& facts, const Value& pipeline) {
  // Defaults that could not be resolved ended the run before its pipeline came into the status.
  const auto values = param_values(pipeline["params"], run_.spec()["params"]).value_or({});
  const RunContext context{.run = run_,
                           .labels = labels_,
                           .annotations = annotations_,
                           .values = values,
                           .variables = pipeline_variables(pipeline, values, run_),
                           .settings = settings_};
  for (std::size_t i = 0; i < facts.tasks().size(); ++i) {
    const TaskState& task = facts.tasks()[i];
    if (!task.fan_out_open && (!task.can_start() || !facts.parents_done(i))) {
      continue;
    }
    for (Value& task_run : make_task_runs(context, facts, task)) {
      const std::string name = task_run["metadata"]["name"].str();
      Value reference = child_reference(facts, task, task_run);
      const Kind& kind = kind_of_child(task_run["kind"].as_string());
      Create step{.target = {&kind, {std::string(run_.ns()), name}}, .object = std::move(task_run)};
      if (auto taken = name_taken(task, step.target)) {
        foreign_child_ = name;
        return *std::move(taken);
      }
      if (const auto error = refused(view_, step)) {
        return Refusal{"CreateRunFailed", error->message};
      }
      started_references_.push_back(std::move(reference));
      after_.then(std::move(step));
    }
    if (const std::string grown = context.variables.exceeded(); !grown.empty()) {
      return Refusal{"CreateRunFailed", "pipeline task " + quoted(task.name) + ": " + grown};
    }
  }
  return {};
}

Value Pass::status_of(const RunFacts& facts, const Value& pipeline, Outcome& outcome) {
  Value status = Value::object({{"pipelineSpec", pipeline}});
  Value references = child_references(run_, facts, foreign_child_);
  for (const Value& started : started_references_.items()) {
    if (named(references, started["name"].as_string()).is_null()) {
      references.push_back(started);
    }
  }
  if (!references.empty() || !foreign_child_.empty()) {
    status.set("childReferences", references.empty() ? Value() : std::move(references));
  }
  if (Value skipped = skipped_tasks(facts); !skipped.empty()) {
    status.set("skippedTasks", std::move(skipped));
  }
  if (facts.finally_start()) {
    status.set("finallyStartTime", format_time(*facts.finally_start()));
  }
  if (outcome.terminal()) {
    auto results = pipeline_results(pipeline, facts, settings_);
    if (results && !results->empty()) {
      status.set("results", *std::move(results));
    } else if (!results && outcome.status == "True") {
      outcome = {.status = "False",
                 .reason = "CouldntGetPipelineResult",
                 .message = "Failed to get PipelineResult from TaskRun Results for PipelineRun " +
                            std::string(run_.name()) + ": " + results.error().message};
    }
  }
  return status;
}

void Pass::report(const RunFacts& facts, const Value& pipeline) {
  Outcome outcome = run_outcome(run_, facts, settings_);
  if (!outcome.terminal()) {
    auto ready = make_claims();
    if (ready) {
      ready = start_children(facts, pipeline);
    }
    if (!ready) {
      stop_children(children(), kCancelledWithRun);
      after_ = Plan();
      started_references_ = Value::list();
      outcome = {
          .status = "False", .reason = ready.error().reason, .message = ready.error().message};
    } else if (const auto deadline = facts.next_deadline()) {
      after_.wake_at(*deadline);
    }
  }
  Value status = status_of(facts, pipeline, outcome);
  if (outcome.terminal()) {
    if (const std::string failure = first_failure(facts); !failure.empty()) {
      annotations_.set(kFailureAnnotation, failure);
    }
  }
  patch_metadata();
  write_status(outcome, std::move(status));
  for (const TaskState& task : facts.tasks()) {
    if (!task.invalid.empty() && outcome.terminal()) {
      before_.then(Emit{.about = ref_,
                        .about_uid = std::string(run_.uid()),
                        .type = "Warning",
                        .reason = "ResultValidationFailed",
                        .note = task.invalid});
    }
  }
  before_.merge(std::move(after_));
}

void Pass::proceed(const Value& pipeline) {
  const RunFacts facts(run_, pipeline, children(), settings_, start_, now_);
  stop_late_children(facts);
  report(facts, pipeline);
}

Plan Pass::plan() {
  const std::string_view intent = run_.spec()["status"].as_string();
  adopt_metadata({}, {});
  if (intent == "PipelineRunPending" && !started_before_) {
    mark_pending();
    return std::move(before_);
  }
  if (intent == "Cancelled") {
    patch_metadata();
    cancel();
    return std::move(before_);
  }
  if (const Value& pipeline = run_.status()["pipelineSpec"]; pipeline.is_object()) {
    proceed(pipeline);
    return std::move(before_);
  }
  const auto resolved = resolve_pipeline(view_, run_);
  if (!resolved) {
    patch_metadata();
    refuse(resolved.error());
    return std::move(before_);
  }
  adopt_metadata(resolved->labels, resolved->annotations);
  source_ = resolved->source;
  proceed(resolved->spec);
  return std::move(before_);
}

// Annotation tekton.dev/auto-cleanup-pvc: the claims of a finished run go.
Plan clean_up(const View& view, const Object& run) {
  Plan plan;
  if (run.annotation(kCleanUpClaims) != "true") {
    return plan;
  }
  for (const Value& claim : claims_of(run)) {
    const Key key{std::string(run.ns()), claim["metadata"]["name"].str()};
    const auto present = view.get(api::kPersistentVolumeClaim, key);
    if (present && !present->deleting() && present->owned_by(run.uid())) {
      plan.then(Delete{.target = {&api::kPersistentVolumeClaim, key},
                       .guard = {.uid = std::string(present->uid())}});
    }
  }
  return plan;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  auto run = view.get(api::kPipelineRun, key);
  if (!run || run->deleting() || is_foreign(*run)) {
    return Plan::done();
  }
  Plan undelivered;
  report_undelivered(view, undelivered, *run, read_settings(view));
  Plan plan = is_done(*run) ? clean_up(view, *run) : Pass(view, *std::move(run), now).plan();
  plan.merge(std::move(undelivered));
  return plan;
}

constexpr const Kind* kReads[] = {&api::kPipelineRun,
                                  &api::kPipeline,
                                  &api::kTask,
                                  &api::kTaskRun,
                                  &api::kCustomRun,
                                  &api::kConfigMap,
                                  &api::kPersistentVolumeClaim};
constexpr const Kind* kWrites[] = {&api::kPipelineRun, &api::kTaskRun, &api::kCustomRun,
                                   &api::kPersistentVolumeClaim};
constexpr Access kAccess[] = {{&api::kPipelineRun, "create patch"},
                              {&api::kPipelineRun, "patch", "status"},
                              {&api::kPipelineRun, "update", "finalizers"},
                              {&api::kTaskRun, "create patch"},
                              {&api::kCustomRun, "create patch"},
                              {&api::kPersistentVolumeClaim, "create delete"},
                              {&api::kEvent, "create patch"}};

}  // namespace

const Operator& pipelinerun_operator() {
  static const Operator kOperator{.name = "tekton-pipelinerun",
                                  .primary = &api::kPipelineRun,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::tekton
