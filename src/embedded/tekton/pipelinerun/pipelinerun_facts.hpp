// SPDX-License-Identifier: Apache-2.0
// The states of a PipelineRun's tasks, derived from its TaskRuns at every reconcile
// (docs/spec/tekton.md 7.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/conditions.hpp"
#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Reasons of status.skippedTasks.
inline constexpr std::string_view kSkipStopping = "PipelineRun was stopping";
inline constexpr std::string_view kSkipCancelled = "PipelineRun was gracefully cancelled";
inline constexpr std::string_view kSkipStopped = "PipelineRun was gracefully stopped";
inline constexpr std::string_view kSkipWhen = "When Expressions evaluated to false";
inline constexpr std::string_view kSkipParents = "Parent Tasks were skipped";
inline constexpr std::string_view kSkipResults = "Results were missing";
inline constexpr std::string_view kSkipTimeout = "PipelineRun timeout has been reached";
inline constexpr std::string_view kSkipTasksTimeout = "PipelineRun Tasks timeout has been reached";
inline constexpr std::string_view kSkipFinallyTimeout =
    "PipelineRun Finally timeout has been reached";
inline constexpr std::string_view kSkipMatrix = "Matrix Parameters have an empty array";

// The state of a task by its TaskRuns; Ignored: failed with onError "continue".
enum class Progress : std::uint8_t {
  NotStarted,
  Running,
  Succeeded,
  Failed,
  Ignored,
  Cancelled,
  TimedOut
};

// One task of the pipeline, and why it does not run where it does not.
struct TaskState {
  std::string name{};
  Value task{};  // the pipeline task, substituted but for results
  bool is_final = false;
  // One, or one a combination of a matrix; CustomRuns and PipelineRuns where it runs these.
  std::vector<Object> task_runs{};
  Progress progress = Progress::NotStarted;
  std::string_view skip{};  // a reason of above, or empty
  // A matrix that misses TaskRuns (a crash came between), or a pipeline that is to be tried again.
  bool fan_out_open = false;
  std::string invalid{};  // why it failed result validation
  Value when{};           // with results, once they are known

  // Returns true if the task has ended, was skipped, or failed validation.
  [[nodiscard]] bool done() const {
    return progress > Progress::Running || !skip.empty() || !invalid.empty();
  }
  [[nodiscard]] bool can_start() const { return progress == Progress::NotStarted && !done(); }
};

// The limits of a run; nullopt: none.
struct Timeouts {
  std::optional<Duration> pipeline{}, tasks{}, finally{};
};
// Reads spec.timeouts. Without `tasks` or `finally`, each gets what the other leaves of `pipeline`;
// 0 means none.
Timeouts timeouts_of(const Value& spec, const Settings& settings);

// The states of all tasks at one reconcile. `settings` must outlive it.
class RunFacts {
 public:
  // Requires the TaskRuns that the run owns as `task_runs`, and status.pipelineSpec as `pipeline`.
  RunFacts(const Object& run, const Value& pipeline, const std::vector<Object>& task_runs,
           const Settings& settings, Instant start, Instant now);

  [[nodiscard]] const std::vector<TaskState>& tasks() const { return tasks_; }
  [[nodiscard]] const Timeouts& timeouts() const { return timeouts_; }
  [[nodiscard]] bool dag_done() const;
  [[nodiscard]] bool finally_done() const;
  [[nodiscard]] bool has_finally() const { return dag_size_ < tasks_.size(); }
  // Returns true if all predecessors of a DAG task, or for a final task all DAG tasks, are done.
  [[nodiscard]] bool parents_done(std::size_t task) const;
  [[nodiscard]] bool pipeline_timed_out() const { return pipeline_timed_out_; }
  [[nodiscard]] bool tasks_timed_out() const { return tasks_timed_out_; }
  [[nodiscard]] bool finally_timed_out() const { return finally_timed_out_; }
  [[nodiscard]] bool gracefully_cancelled() const { return intent_ == "CancelledRunFinally"; }
  [[nodiscard]] bool gracefully_stopped() const { return intent_ == "StoppedRunFinally"; }
  // Returns finallyStartTime: the stored one, or now if every DAG task is done for the first time.
  [[nodiscard]] std::optional<Instant> finally_start() const { return finally_start_; }
  // Returns the next instant at which a timeout changes something.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  // Results of the tasks that ended, as $(tasks.…) sees them; with the statuses of tasks for a
  // final task.
  [[nodiscard]] Replacements results_for(const TaskState& task) const;
  // Returns the value of $(tasks.<t>.status).
  [[nodiscard]] static std::string_view status_word(const TaskState& task);

 private:
  void read_tasks(const Value& pipeline, const std::vector<Object>& task_runs);
  void judge_deadlines(const Object& run);
  // Sets matrix tasks of which some TaskRuns have not been made yet to Running, and pipelines with
  // retries left.
  void judge_fan_outs();
  void judge_dag();
  void judge_finally();
  // Returns an error about a missing result of a succeeded task; empty when all results exist.
  [[nodiscard]] std::string missing_from_success(const TaskState& task,
                                                 const Replacements& results) const;
  [[nodiscard]] std::size_t most_combinations() const;
  // Returns an error about a matrix that is too large; empty: it is not.
  [[nodiscard]] std::string too_many_combinations(const TaskState& task,
                                                  const Replacements& results) const;
  [[nodiscard]] bool misses_results(const TaskState& task, const Replacements& results) const;
  [[nodiscard]] std::string_view dag_skip(std::size_t index, bool stopping,
                                          const Replacements& results);
  [[nodiscard]] const TaskState* find(std::string_view name) const;
  [[nodiscard]] std::string_view aggregate_status() const;
  // Adds the lengths of matrix tasks: of their combinations and of their results.
  void add_lengths(Replacements& replacements) const;

  const Settings& settings_;
  Instant start_{}, now_{};
  std::string intent_{};
  Timeouts timeouts_{};
  std::vector<TaskState> tasks_{};  // DAG tasks, then final ones
  std::size_t dag_size_ = 0;
  Graph graph_{};
  cel::Conditions conditions_{};
  std::optional<Instant> finally_start_{};
  bool pipeline_timed_out_ = false, tasks_deadline_passed_ = false, tasks_timed_out_ = false,
       finally_timed_out_ = false;
};

// Returns a task's progress, derived from its TaskRuns.
Progress progress_of(const std::vector<Object>& task_runs, const Value& task);
// Adds the results of a task's TaskRuns under "tasks.<t>.results.".
void add_results(Replacements& replacements, const TaskState& task, std::string_view scope);
}  // namespace athanor::tekton
