// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/pipelinerun_status.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/pipelinerun/matrix.hpp"

namespace athanor::tekton {
namespace {

constexpr std::size_t kMaxErrorText = 1024;  // bytes of the texts behind "Failed Validation"

std::string counts_text(const TaskCounts& counts) {
  const int completed = counts.succeeded + counts.failed + counts.cancelled + counts.ignored;
  if (counts.ignored > 0) {
    return fmt::format("Tasks Completed: {} (Failed: {} (Ignored: {}), Cancelled {})", completed,
                       counts.failed + counts.ignored, counts.ignored, counts.cancelled);
  }
  return fmt::format("Tasks Completed: {} (Failed: {}, Cancelled {})", completed, counts.failed,
                     counts.cancelled);
}

std::string validation_text(const RunFacts& facts, int invalid, const Settings& settings) {
  std::string text = fmt::format(", Failed Validation: {}", invalid);
  if (!settings.result_validation_details) {
    return text;
  }
  std::vector<std::string> errors;
  for (const TaskState& task : facts.tasks()) {
    if (!task.invalid.empty()) {
      errors.push_back(task.invalid);
    }
  }
  std::string joined = join(errors, "; ");
  if (joined.size() > kMaxErrorText) {
    joined.resize(kMaxErrorText);
    joined += "...";
  }
  return text + " (" + joined + ")";
}

Outcome final_outcome(const Object& run, const RunFacts& facts, const TaskCounts& counts,
                      const Settings& settings) {
  Outcome outcome{.status = "True",
                  .reason = counts.skipped > 0 ? "Completed" : "Succeeded",
                  .message = counts_text(counts) + fmt::format(", Skipped: {}", counts.skipped)};
  if (counts.invalid > 0) {
    outcome.status = "False";
    outcome.reason = "PipelineValidationFailed";
    outcome.message += validation_text(facts, counts.invalid, settings);
  } else if (counts.failed > 0 || counts.skipped_by_timeout > 0) {
    outcome.status = "False";
    outcome.reason = "Failed";
  } else if (facts.gracefully_cancelled() || facts.gracefully_stopped()) {
    return cancelled_outcome(run);
  } else if (counts.cancelled > 0) {
    outcome.status = "False";
    outcome.reason = "Cancelled";
  }
  return outcome;
}

std::string running_reason(const RunFacts& facts, const TaskCounts& counts) {
  if (facts.tasks_timed_out()) {
    return "PipelineRunTimeoutRunningFinally";
  }
  if (facts.gracefully_cancelled()) {
    return "CancelledRunningFinally";
  }
  if (facts.gracefully_stopped()) {
    return "StoppedRunningFinally";
  }
  if (counts.cancelled > 0 || ((counts.failed > 0 || counts.invalid > 0) && facts.finally_done())) {
    return "PipelineRunStopping";
  }
  return "Running";
}

Outcome timeout_outcome(const Object& run, std::string_view text, Duration limit) {
  return {.status = "False",
          .reason = "PipelineRunTimeout",
          .message = fmt::format("PipelineRun {} {} {}", quoted(run.name()), text,
                                 quoted(format_go_duration(limit)))};
}

}  // namespace

TaskCounts count_tasks(const RunFacts& facts) {
  TaskCounts counts;
  for (const TaskState& task : facts.tasks()) {
    switch (task.progress) {
      case Progress::Succeeded:
        ++counts.succeeded;
        continue;
      case Progress::Failed:
      case Progress::TimedOut:
        ++counts.failed;
        continue;
      case Progress::Ignored:
        ++counts.ignored;
        continue;
      case Progress::Cancelled:
        ++counts.cancelled;
        continue;
      case Progress::NotStarted:
      case Progress::Running:
        break;
    }
    if (!task.invalid.empty()) {
      ++counts.invalid;
    } else if (!task.skip.empty()) {
      ++counts.skipped;
      if (task.skip == kSkipTimeout || task.skip == kSkipTasksTimeout ||
          task.skip == kSkipFinallyTimeout) {
        ++counts.skipped_by_timeout;
      }
    } else {
      ++counts.incomplete;
    }
  }
  return counts;
}

Outcome cancelled_outcome(const Object& run) {
  return {.status = "False",
          .reason = "Cancelled",
          .message = fmt::format("PipelineRun {} was cancelled", quoted(run.name()))};
}

Outcome run_outcome(const Object& run, const RunFacts& facts, const Settings& settings) {
  const TaskCounts counts = count_tasks(facts);
  if (facts.pipeline_timed_out()) {
    return timeout_outcome(run, "failed to finish within", *facts.timeouts().pipeline);
  }
  if (facts.tasks_timed_out()) {
    const bool at_once = !settings.finally_after_tasks_timeout || !facts.has_finally();
    if (at_once || counts.incomplete == 0) {
      return timeout_outcome(run, "failed due to tasks failed to finish within",
                             facts.timeouts().tasks.value_or(Duration::zero()));
    }
  }
  if (counts.incomplete == 0) {
    return final_outcome(run, facts, counts, settings);
  }
  return {.status = "Unknown",
          .reason = running_reason(facts, counts),
          .message = counts_text(counts) + fmt::format(", Incomplete: {}, Skipped: {}",
                                                       counts.incomplete, counts.skipped)};
}

Value skipped_tasks(const RunFacts& facts) {
  Value list = Value::list();
  for (const TaskState& task : facts.tasks()) {
    if (task.skip.empty()) {
      continue;
    }
    Value entry = Value::object({{"name", task.name}, {"reason", task.skip}});
    if (!task.when.empty()) {
      entry.set("whenExpressions", task.when);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Value child_reference(const RunFacts& facts, const TaskState& task, const Value& task_run) {
  Value reference = Value::object({{"apiVersion", task_run["apiVersion"]},
                                   {"kind", task_run["kind"]},
                                   {"name", task_run["metadata"]["name"]},
                                   {"pipelineTaskName", task.name}});
  const Value& params = task_run["spec"]["params"];
  Replacements replacements = facts.results_for(task);
  std::string shown =
      combination_name(substituted_matrix(task.task["matrix"], replacements), params);
  if (shown.empty()) {
    shown = task.task["displayName"].str();
  }
  if (!shown.empty()) {
    Replacements given;
    for (const Value& param : params.items()) {
      given.set_param(param["name"].as_string(), param["value"]);
    }
    replacements.then(std::move(given));
    reference.set("displayName", substitute(shown, replacements));
  }
  if (!task.when.empty()) {
    reference.set("whenExpressions", task.when);
  }
  return reference;
}

Value child_references(const Object& run, const RunFacts& facts, std::string_view foreign) {
  Value list = Value::list();
  for (const Value& reference : run.status()["childReferences"].items()) {
    if (reference["name"].as_string() != foreign) {
      list.push_back(reference);
    }
  }
  for (const TaskState& task : facts.tasks()) {
    for (const Object& task_run : task.task_runs) {
      if (named(list, task_run.name()).is_null()) {
        list.push_back(child_reference(facts, task, task_run.body()));
      }
    }
  }
  return list;
}

Result<Value> pipeline_results(const Value& pipeline, const RunFacts& facts,
                               const Settings& settings) {
  Replacements replacements;
  std::vector<std::string> succeeded_prefixes;
  for (const TaskState& task : facts.tasks()) {
    const std::string scope = task.is_final ? "finally" : "tasks";
    const bool ended = task.progress > Progress::Running;
    if (task.progress == Progress::Succeeded || (ended && settings.results_of_failed_tasks)) {
      add_results(replacements, task, scope);
    }
    if (task.progress == Progress::Succeeded) {
      succeeded_prefixes.push_back(scope + "." + task.name + ".");
    }
  }
  Value results = Value::list();
  std::vector<std::string> broken;
  for (const Value& declared : pipeline["results"].items()) {
    bool missing = false;
    bool wrong = false;
    const Value& value = declared["value"];
    std::vector<std::string> texts = strings_of(value);
    if (value.is_string()) {
      texts.push_back(value.str());
    }
    for (const Member& member : value.members()) {
      texts.push_back(member.value.str());
    }
    for (const std::string& text : texts) {
      for (const Variable& variable : variables_in(text)) {
        if (replacements.find(variable.name)) {
          continue;
        }
        missing = true;
        for (const std::string& prefix : succeeded_prefixes) {
          wrong = wrong || variable.name.starts_with(prefix);
        }
      }
    }
    if (wrong) {
      broken.push_back(declared["name"].str());
    }
    if (!missing) {
      results.push_back(Value::object(
          {{"name", declared["name"]}, {"value", substitute_param(value, replacements)}}));
    }
  }
  if (!broken.empty()) {
    return Error::bad_request("invalid pipelineresults " + go_list(broken) +
                              ", the referenced results don't exist");
  }
  return results;
}

std::string first_failure(const RunFacts& facts) {
  for (const TaskState& task : facts.tasks()) {
    if (task.progress != Progress::Failed || task.task_runs.empty()) {
      continue;
    }
    const Object& task_run = task.task_runs[0];
    if (const std::string_view inner = task_run.annotation(kFailureAnnotation); !inner.empty()) {
      return task.name + "/" + std::string(inner);
    }
    std::string step;
    for (const Value& state : task_run.status()["steps"].items()) {
      const bool real = state["terminationReason"].as_string() != "Skipped" &&
                        state["terminationReason"].as_string() != "Continued";
      if (step.empty() && real && state["terminated"]["exitCode"].as_int() != 0) {
        step = "/" + state["name"].str();
      }
    }
    return task.name + step + ": " + succeeded(task_run)["message"].str();
  }
  return {};
}

}  // namespace athanor::tekton
