// SPDX-License-Identifier: Apache-2.0
// What PipelineRuns and TaskRuns have in common: their one condition, times, events, metadata
// (docs/spec/tekton.md 3, 10.5, 13).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::tekton {

// Labels and annotations of runs, TaskRuns and pods (docs/spec/tekton.md 10.5).
inline constexpr std::string_view kPipelineLabel = "tekton.dev/pipeline";
inline constexpr std::string_view kPipelineRunLabel = "tekton.dev/pipelineRun";
inline constexpr std::string_view kPipelineRunUidLabel = "tekton.dev/pipelineRunUID";
inline constexpr std::string_view kPipelineTaskLabel = "tekton.dev/pipelineTask";
inline constexpr std::string_view kMemberOfLabel = "tekton.dev/memberOf";
inline constexpr std::string_view kTaskLabel = "tekton.dev/task";
inline constexpr std::string_view kTaskRunLabel = "tekton.dev/taskRun";
inline constexpr std::string_view kTaskRunUidLabel = "tekton.dev/taskRunUID";
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kReleaseAnnotation = "pipeline.tekton.dev/release";
inline constexpr std::string_view kOnErrorAnnotation = "pipeline.tekton.dev/pipeline-task-on-error";
inline constexpr std::string_view kFailureAnnotation = "athanor.dev/failure";
inline constexpr std::string_view kLastAppliedAnnotation =
    "kubectl.kubernetes.io/last-applied-configuration";

// The release of Tekton whose behaviour this is; the value of kReleaseAnnotation.
inline constexpr std::string_view kRelease = "v1.9.2";
// Returns the start of every message about a user's mistake.
std::string user_error_prefix();

// statusMessage of a TaskRun that its PipelineRun stops (8.1, 8.5).
inline constexpr std::string_view kCancelledWithRun =
    "TaskRun cancelled as the PipelineRun it belongs to has been cancelled.";
inline constexpr std::string_view kTimedOutWithRun =
    "TaskRun cancelled as the PipelineRun it belongs to has timed out.";

// The same for a CustomRun, and the word by which it is asked to stop.
inline constexpr std::string_view kCustomCancelledWithRun =
    "CustomRun cancelled as the PipelineRun it belongs to has been cancelled.";
inline constexpr std::string_view kCustomTimedOutWithRun =
    "CustomRun cancelled as the PipelineRun it belongs to has timed out.";
inline constexpr std::string_view kCustomStop = "RunCancelled";
// Returns true for a CustomRun: the run of a task that another controller carries out.
bool is_custom_run(const Object& run);

// Label of a child PipelineRun: the number of its attempt, from 0.
inline constexpr std::string_view kAttemptLabel = "athanor.dev/attempt";
// The same for its annotation that says why it was stopped: kTimedOutWithRun.
inline constexpr std::string_view kStoppedAnnotation = "athanor.dev/stopped";
// Returns true for a PipelineRun.
bool is_pipeline_run(const Object& run);
// Returns the attempt that a run within a run is.
std::size_t attempt_of(const Object& run);

// The condition Succeeded as a run shall have it.
struct Outcome {
  std::string status{};  // True, False, Unknown
  std::string reason{};
  std::string message{};
  [[nodiscard]] bool terminal() const { return status != "Unknown"; }
};

// Returns the condition Succeeded of a run, or Null.
const Value& succeeded(const Object& run);
// Returns true once Succeeded is True or False.
bool is_done(const Object& run);
// Returns true if another controller looks after the run (spec.managedBy).
bool is_foreign(const Object& run);
// Parses a field like spec.timeout: nullopt when absent or malformed.
std::optional<Duration> duration_of(const Value& text);
// Parses an RFC 3339 time; nullopt when absent or malformed.
std::optional<Instant> time_of(const Value& text);

// Returns status.conditions with this outcome; lastTransitionTime moves whenever any part changes.
Value conditions_with(const Object& run, const Outcome& outcome, Instant now);
// Returns true if the run's condition differs from the outcome.
bool outcome_changes(const Object& run, const Outcome& outcome);
// Emits the event that goes with a changed outcome (13).
void emit_outcome(Plan& plan, const Ref& about, const Object& run, const Outcome& outcome);
// Emits Normal `Started`.
void emit_started(Plan& plan, const Ref& about, const Object& run);

// Members of `over` added to `base`, replacing equal names.
Value merged_maps(const Value& base, const Value& over);
// Annotations that children inherit.
Value inherited_annotations(const Value& annotations);
// Merges podTemplate `over` into `base`: field by field; env, volumes, imagePullSecrets by name.
Value merged_pod_templates(const Value& base, const Value& over);
// Merges lists of named objects: those of `over` replace and follow those of `base`.
Value merged_named(const Value& base, const Value& over, std::string_view key = "name");

}  // namespace athanor::tekton
