// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/pipelinerun_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/pipelinerun/matrix.hpp"
#include "embedded/tekton/pipelinerun/when.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

Progress progress_of_one(const Object& task_run, bool continues) {
  const Value& condition = succeeded(task_run);
  const std::string_view status = condition["status"].as_string();
  if (status == "True") {
    return Progress::Succeeded;
  }
  if (status != "False") {
    return Progress::Running;
  }
  if (is_custom_run(task_run) && task_run.spec()["status"].as_string() == kCustomStop) {
    return task_run.spec()["statusMessage"].as_string() == kCustomTimedOutWithRun
               ? Progress::TimedOut
               : Progress::Cancelled;
  }
  if (is_pipeline_run(task_run) && condition["reason"].as_string() == "Cancelled") {
    return task_run.annotation(kStoppedAnnotation) == kTimedOutWithRun ? Progress::TimedOut
                                                                       : Progress::Cancelled;
  }
  if (condition["reason"].as_string() == "TaskRunCancelled") {
    return task_run.spec()["statusMessage"].as_string() == kTimedOutWithRun ? Progress::TimedOut
                                                                            : Progress::Cancelled;
  }
  return continues ? Progress::Ignored : Progress::Failed;
}

bool empty_matrix(const Value& task, const Replacements& results) {
  if (!task["matrix"].is_object()) {
    return false;
  }
  const Value matrix = substituted_matrix(task["matrix"], results);
  const auto params = matrix["params"].items();
  return std::any_of(params.begin(), params.end(), [](const Value& param) {
    return param["value"].is_list() && param["value"].empty();
  });
}

std::optional<Duration> none_when_zero(std::optional<Duration> duration) {
  return duration && *duration == Duration::zero() ? std::nullopt : duration;
}

}  // namespace

Progress progress_of(const std::vector<Object>& task_runs, const Value& task) {
  const bool continues = task["onError"].as_string() == "continue";
  Progress worst = task_runs.empty() ? Progress::NotStarted : Progress::Succeeded;
  bool running = false;
  for (const Object& task_run : task_runs) {
    const Progress one = progress_of_one(task_run, continues);
    running = running || one == Progress::Running;
    // Of several failures the first counts.
    if (worst == Progress::Succeeded) {
      worst = one;
    }
  }
  return running ? Progress::Running : worst;
}

// "tasks.<t>.outputs.<a>": the values of an artifact, as JSON.
void add_artifacts(Replacements& replacements, const TaskState& task, std::string_view scope) {
  for (const Object& task_run : task.task_runs) {
    const Value& artifacts = task_run.status()["artifacts"];
    for (const std::string_view part : {"inputs", "outputs"}) {
      for (const Value& artifact : artifacts[part].items()) {
        replacements.set(
            fmt::format("{}.{}.{}.{}", scope, task.name, part, artifact["name"].as_string()),
            json::print(artifact["values"]));
      }
    }
  }
}

void add_results(Replacements& replacements, const TaskState& task, std::string_view scope) {
  const std::string prefix = std::string(scope) + "." + task.name + ".results.";
  if (task.task.contains("matrix")) {
    std::map<std::string, Value> lists;
    for (const Object& task_run : task.task_runs) {
      for (const Value& result : task_run.status()["results"].items()) {
        lists[result["name"].str()].push_back(result["value"]);
      }
    }
    for (auto& [name, list] : lists) {
      replacements.set(prefix + name, std::move(list));
    }
    return;
  }
  for (const Object& task_run : task.task_runs) {
    for (const Value& result : task_run.status()["results"].items()) {
      replacements.set(prefix + result["name"].str(), result["value"]);
    }
  }
  add_artifacts(replacements, task, scope);
}

Timeouts timeouts_of(const Value& spec, const Settings& settings) {
  const Value& given = spec["timeouts"];
  const auto pipeline = duration_of(given["pipeline"]).value_or(settings.default_timeout);
  const auto tasks = duration_of(given["tasks"]);
  const auto finally = duration_of(given["finally"]);
  Timeouts timeouts{.pipeline = none_when_zero(pipeline),
                    .tasks = none_when_zero(tasks),
                    .finally = none_when_zero(finally)};
  if (!tasks && timeouts.pipeline && timeouts.finally) {
    timeouts.tasks = *timeouts.pipeline - *timeouts.finally;
  }
  if (!finally && timeouts.pipeline && timeouts.tasks) {
    timeouts.finally = *timeouts.pipeline - *timeouts.tasks;
  }
  return timeouts;
}

RunFacts::RunFacts(const Object& run, const Value& pipeline, const std::vector<Object>& task_runs,
                   const Settings& settings, Instant start, Instant now)
    : settings_(settings),
      start_(start),
      now_(now),
      intent_(run.spec()["status"].as_string()),
      timeouts_(timeouts_of(run.spec(), settings)) {
  finally_start_ = time_of(run.status()["finallyStartTime"]);
  // A pipeline in a status passed every check; one that someone broke since has no edges.
  graph_ = Graph::make(pipeline["tasks"]).value_or(Graph{});
  read_tasks(pipeline, task_runs);
  judge_deadlines(run);
  judge_fan_outs();
  judge_dag();
  if (!finally_start_ && dag_done() && has_finally()) {
    finally_start_ = std::chrono::floor<std::chrono::seconds>(now);
  }
  judge_finally();
  // A run whose tasks all ended in time is not late, however late it is looked at.
  pipeline_timed_out_ =
      pipeline_timed_out_ && std::any_of(tasks_.begin(), tasks_.end(), [](const TaskState& task) {
        return !task.done() || task.skip == kSkipTimeout || task.progress == Progress::TimedOut;
      });
}

void RunFacts::read_tasks(const Value& pipeline, const std::vector<Object>& task_runs) {
  dag_size_ = pipeline["tasks"].size();
  for (const std::string_view part : {"tasks", "finally"}) {
    for (const Value& task : pipeline[part].items()) {
      tasks_.push_back({.name = task["name"].str(),
                        .task = task,
                        .is_final = part == "finally",
                        .when = task["when"]});
    }
  }
  for (const Object& task_run : task_runs) {
    const std::string_view name = task_run.label(kPipelineTaskLabel);
    for (TaskState& state : tasks_) {
      if (state.name == name) {
        state.task_runs.push_back(task_run);
      }
    }
  }
  for (TaskState& state : tasks_) {
    if (is_pipeline_task(state.task) && !state.task["matrix"].is_object() &&
        state.task_runs.size() > 1) {
      // Only the last attempt decides.
      state.task_runs = {*std::ranges::max_element(state.task_runs, {}, attempt_of)};
    }
    state.progress = progress_of(state.task_runs, state.task);
  }
}

void RunFacts::judge_deadlines(const Object& run) {
  pipeline_timed_out_ = timeouts_.pipeline && now_ >= start_ + *timeouts_.pipeline;
  // The clock of the tasks stops when the finally part starts.
  const Instant tasks_clock = finally_start_.value_or(now_);
  tasks_deadline_passed_ = timeouts_.tasks && tasks_clock >= start_ + *timeouts_.tasks;
  for (const Value& skipped : run.status()["skippedTasks"].items()) {
    // Times in a status are whole seconds: what was once late stays late.
    tasks_deadline_passed_ =
        tasks_deadline_passed_ || skipped["reason"].as_string() == kSkipTasksTimeout;
  }
  finally_timed_out_ =
      timeouts_.finally && finally_start_ && now_ >= *finally_start_ + *timeouts_.finally;
}

bool RunFacts::parents_done(std::size_t task) const {
  if (task >= dag_size_) {
    return dag_done();
  }
  if (graph_.order().empty()) {
    return true;
  }
  const auto& parents = graph_.parents(task);
  return std::all_of(parents.begin(), parents.end(),
                     [this](std::size_t parent) { return tasks_[parent].done(); });
}

bool RunFacts::dag_done() const {
  return std::all_of(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(dag_size_),
                     [](const TaskState& task) { return task.done(); });
}

bool RunFacts::finally_done() const {
  return std::all_of(tasks_.begin() + static_cast<std::ptrdiff_t>(dag_size_), tasks_.end(),
                     [](const TaskState& task) { return task.done(); });
}

const TaskState* RunFacts::find(std::string_view name) const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [&](const TaskState& task) { return task.name == name; });
  return found == tasks_.end() ? nullptr : &*found;
}

std::string RunFacts::missing_from_success(const TaskState& task,
                                           const Replacements& results) const {
  for (const ResultRef& ref : task_result_refs(task.task)) {
    const TaskState* source = find(ref.task);
    if (source != nullptr && source->progress == Progress::Succeeded &&
        !results.find(ref.variable)) {
      return "Task " + quoted(task.name) + " failed result validation: task " + quoted(ref.task) +
             " completed successfully but did not emit the result " + quoted(ref.result) +
             ", which is referenced by task " + quoted(task.name);
    }
  }
  return {};
}

std::size_t RunFacts::most_combinations() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(settings_.max_combinations, 0));
}

// Lists of params and results have their lengths at run time only.
std::string RunFacts::too_many_combinations(const TaskState& task,
                                            const Replacements& results) const {
  if (!task.task["matrix"].is_object() ||
      !exceeds_combinations(substituted_matrix(task.task["matrix"], results),
                            most_combinations())) {
    return {};
  }
  return fmt::format("Task {} failed validation: its matrix has more than {} combinations",
                     quoted(task.name), most_combinations());
}

bool RunFacts::misses_results(const TaskState& task, const Replacements& results) const {
  const auto refs = task_result_refs(task.task);
  return std::any_of(refs.begin(), refs.end(),
                     [&](const ResultRef& ref) { return !results.find(ref.variable); });
}

std::string_view RunFacts::dag_skip(std::size_t index, bool stopping, const Replacements& results) {
  TaskState& task = tasks_[index];
  if (stopping) {
    return kSkipStopping;
  }
  if (gracefully_cancelled()) {
    return kSkipCancelled;
  }
  if (gracefully_stopped()) {
    return kSkipStopped;
  }
  if (parents_done(index)) {
    task.when = resolved_when(task.task["when"], results);
    if (result_refs(task.when).empty() && !when_allows(task.when, conditions_)) {
      return kSkipWhen;
    }
  }
  for (const std::size_t parent : graph_.parents(index)) {
    // A parent skipped by its own guard only orders; if its results are needed they are missing
    // below.
    const std::string_view skip = tasks_[parent].skip;
    if (!skip.empty() && skip != kSkipWhen) {
      return kSkipParents;
    }
  }
  if (parents_done(index) && misses_results(task, results)) {
    return kSkipResults;
  }
  if (pipeline_timed_out_) {
    return kSkipTimeout;
  }
  if (tasks_deadline_passed_) {
    return kSkipTasksTimeout;
  }
  return parents_done(index) && empty_matrix(task.task, results) ? kSkipMatrix : std::string_view{};
}

void RunFacts::judge_fan_outs() {
  for (TaskState& task : tasks_) {
    const bool closed = task.task_runs.empty() || !intent_.empty() || pipeline_timed_out_ ||
                        (task.is_final ? finally_timed_out_ : tasks_deadline_passed_);
    if (!closed && is_pipeline_task(task.task) && task.progress == Progress::Failed &&
        static_cast<std::int64_t>(attempt_of(task.task_runs.front())) <
            task.task["retries"].as_int()) {
      task.fan_out_open = true;
      task.progress = Progress::Running;
    }
    if (closed || !task.task["matrix"].is_object()) {
      continue;
    }
    const Value matrix = substituted_matrix(task.task["matrix"], results_for(task));
    if (!exceeds_combinations(matrix, most_combinations()) &&
        task.task_runs.size() < matrix_combinations(matrix).size()) {
      task.fan_out_open = true;
      task.progress = Progress::Running;
    }
  }
}

void RunFacts::judge_dag() {
  bool stopping = false;
  for (std::size_t i = 0; i < dag_size_; ++i) {
    const Progress progress = tasks_[i].progress;
    stopping = stopping || progress == Progress::Failed || progress == Progress::Cancelled;
    tasks_timed_out_ = tasks_timed_out_ || progress == Progress::TimedOut;
  }
  tasks_deadline_passed_ = tasks_deadline_passed_ || (tasks_timed_out_ && !pipeline_timed_out_);
  const Replacements results = dag_size_ == 0 ? Replacements{} : results_for(tasks_[0]);
  // A failed validation stops the others too, wherever they are in the order: then all are judged
  // once more.
  for (int round = 0; round < 2; ++round) {
    bool found_invalid = false;
    for (const std::size_t index : graph_.order()) {
      TaskState& task = tasks_[index];
      if (task.progress != Progress::NotStarted) {
        continue;
      }
      task.skip = {};
      if (parents_done(index) && intent_.empty()) {
        task.invalid = missing_from_success(task, results);
        if (task.invalid.empty()) {
          task.invalid = when_problem(resolved_when(task.task["when"], results), conditions_);
        }
        if (task.invalid.empty()) {
          task.invalid = too_many_combinations(task, results);
        }
      }
      if (task.invalid.empty()) {
        task.skip = dag_skip(index, stopping, results);
      } else if (!stopping) {
        found_invalid = true;
      }
    }
    if (!found_invalid) {
      break;
    }
    stopping = true;
  }
  for (std::size_t i = 0; i < dag_size_ && tasks_deadline_passed_; ++i) {
    tasks_timed_out_ = tasks_timed_out_ || tasks_[i].progress == Progress::Running ||
                       tasks_[i].skip == kSkipTasksTimeout;
  }
}

void RunFacts::judge_finally() {
  if (!dag_done() || !has_finally()) {
    return;
  }
  const Replacements results = results_for(tasks_[dag_size_]);
  for (std::size_t i = dag_size_; i < tasks_.size(); ++i) {
    TaskState& task = tasks_[i];
    if (task.progress != Progress::NotStarted) {
      continue;
    }
    task.when = resolved_when(task.task["when"], results);
    if (misses_results(task, results)) {
      task.skip = kSkipResults;
    } else if (std::string problem = when_problem(task.when, conditions_); !problem.empty()) {
      task.invalid = std::move(problem);
    } else if (!when_allows(task.when, conditions_)) {
      task.skip = kSkipWhen;
    } else if (pipeline_timed_out_) {
      task.skip = kSkipTimeout;
    } else if (finally_timed_out_) {
      task.skip = kSkipFinallyTimeout;
    } else if (empty_matrix(task.task, results)) {
      task.skip = kSkipMatrix;
    } else {
      task.invalid = too_many_combinations(task, results);
    }
  }
}

std::string_view RunFacts::status_word(const TaskState& task) {
  switch (task.progress) {
    case Progress::Succeeded:
      return "Succeeded";
    case Progress::Failed:
    case Progress::Ignored:
    case Progress::Cancelled:
    case Progress::TimedOut:
      return "Failed";
    case Progress::NotStarted:
    case Progress::Running:
      break;
  }
  return "None";
}

std::string_view RunFacts::aggregate_status() const {
  if (!dag_done()) {
    return "None";
  }
  std::string_view word = "Succeeded";
  for (std::size_t i = 0; i < dag_size_; ++i) {
    if (status_word(tasks_[i]) == "Failed") {
      return "Failed";
    }
    if (!tasks_[i].skip.empty()) {
      word = "Completed";
    }
  }
  return word;
}

Replacements RunFacts::results_for(const TaskState& task) const {
  Replacements replacements;
  const bool failed_ones = task.is_final && settings_.results_of_failed_tasks;
  for (std::size_t i = 0; i < dag_size_; ++i) {
    const TaskState& source = tasks_[i];
    const bool usable = source.progress == Progress::Succeeded ||
                        source.progress == Progress::Ignored ||
                        (failed_ones && source.progress > Progress::Running);
    if (usable) {
      add_results(replacements, source, "tasks");
    }
    if (task.is_final) {
      const std::string prefix = "tasks." + source.name;
      replacements.set(prefix + ".status", status_word(source));
      const std::string reason =
          source.task_runs.empty() ? "None" : succeeded(source.task_runs[0])["reason"].str();
      replacements.set(prefix + ".reason", reason);
    }
  }
  if (task.is_final) {
    replacements.set("tasks.status", aggregate_status());
  }
  add_lengths(replacements);
  return replacements;
}

void RunFacts::add_lengths(Replacements& replacements) const {
  for (const TaskState& source : tasks_) {
    if (!source.task["matrix"].is_object()) {
      continue;
    }
    const std::string prefix = "tasks." + source.name + ".matrix.";
    const Value matrix = substituted_matrix(source.task["matrix"], replacements);
    if (exceeds_combinations(matrix, most_combinations())) {
      continue;
    }
    replacements.set(prefix + "length", std::to_string(matrix_combinations(matrix).size()));
    std::map<std::string, std::size_t> lengths;
    for (const Object& task_run : source.task_runs) {
      for (const Value& result : task_run.status()["results"].items()) {
        ++lengths[result["name"].str()];
      }
    }
    for (const auto& [result, length] : lengths) {
      replacements.set(prefix + result + ".length", std::to_string(length));
    }
  }
}

std::optional<Instant> RunFacts::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](std::optional<Instant> from, const std::optional<Duration>& after) {
    if (from && after && *from + *after > now_ && (!next || *from + *after < *next)) {
      next = *from + *after;
    }
  };
  consider(start_, timeouts_.pipeline);
  if (!finally_start_) {
    consider(start_, timeouts_.tasks);
  }
  consider(finally_start_, timeouts_.finally);
  for (const TaskState& task : tasks_) {
    for (const Object& run : task.task_runs) {
      if (is_custom_run(run) && !is_done(run)) {
        consider(run.creation_time(), none_when_zero(duration_of(run.spec()["timeout"])));
      }
    }
  }
  return next;
}

}  // namespace athanor::tekton
