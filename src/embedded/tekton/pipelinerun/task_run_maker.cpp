// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/task_run_maker.hpp"

#include <algorithm>
#include <utility>

#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/names.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/model/workspaces.hpp"
#include "embedded/tekton/pipelinerun/matrix.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"

namespace athanor::tekton {
namespace {

const Value& overrides_of(const Object& run, std::string_view task) {
  static const Value kNone;
  for (const Value& one : run.spec()["taskRunSpecs"].items()) {
    if (one["pipelineTaskName"].as_string() == task) {
      return one;
    }
  }
  return kNone;
}

// Returns the attempt that the next child of a task is, from 0.
std::size_t next_attempt(const TaskState& task) {
  return task.task_runs.empty() || !is_pipeline_task(task.task)
             ? 0
             : attempt_of(task.task_runs.front()) + 1;
}

// Returns the ordinal, followed by as many "x" as make "<task><ordinal>" no name of a task of the
// run, whose child has that name.
std::string ordinal_apart(const RunFacts& facts, const TaskState& task, std::string ordinal) {
  const auto is_taken = [&] {
    return std::ranges::any_of(
        facts.tasks(), [&](const TaskState& other) { return other.name == task.name + ordinal; });
  };
  while (is_taken()) {
    ordinal += 'x';
  }
  return ordinal;
}

// A name already given out is kept.
std::string name_of(const Object& run, const RunFacts& facts, const TaskState& task) {
  if (const std::size_t attempt = next_attempt(task); attempt > 0) {
    const std::string ordinal = ordinal_apart(facts, task, "-retry" + std::to_string(attempt));
    return task_run_name(run.name(), task.name + ordinal);
  }
  for (const Value& reference : run.status()["childReferences"].items()) {
    if (reference["pipelineTaskName"].as_string() == task.name) {
      return reference["name"].str();
    }
  }
  return task_run_name(run.name(), task.name);
}

Value metadata_of(const RunContext& context, const TaskState& task, const Value& overrides,
                  std::string_view name) {
  const Object& run = context.run;
  const Value& own = task.task["taskSpec"]["metadata"];
  Value labels = merged_maps(own["labels"], context.labels);
  labels = merged_maps(labels, overrides["metadata"]["labels"]);
  labels.set(kPipelineRunLabel, run.name());
  labels.set(kPipelineRunUidLabel, run.uid());
  labels.set(kPipelineTaskLabel, task.name);
  labels.set(kMemberOfLabel, task.is_final ? "finally" : "tasks");
  const Value& ref = task.task["taskRef"];
  if (const Value& task_name = ref["name"];
      !task_name.as_string().empty() && !is_custom_task(ref)) {
    labels.set(kTaskLabel, task_name);
  }
  Value annotations = merged_maps(own["annotations"], inherited_annotations(context.annotations));
  // Marks of a child run itself.
  for (const std::string_view mark : {kOnErrorAnnotation, kFailureAnnotation, kStoppedAnnotation}) {
    annotations.erase(mark);
  }
  labels.erase(kAttemptLabel);
  annotations = merged_maps(annotations, overrides["metadata"]["annotations"]);
  if (is_pipeline_task(task.task)) {
    labels.set(kAttemptLabel, std::to_string(next_attempt(task)));
  }
  if (task.task["onError"].as_string() == "continue") {
    annotations.set(kOnErrorAnnotation, "continue");
  }
  Value metadata =
      Value::object({{"name", name}, {"namespace", run.ns()}, {"labels", std::move(labels)}});
  if (!annotations.empty()) {
    metadata.set("annotations", std::move(annotations));
  }
  metadata.set("ownerReferences", Value::list({OwnerReference{.api_version = "tekton.dev/v1",
                                                              .kind = "PipelineRun",
                                                              .name = std::string(run.name()),
                                                              .uid = std::string(run.uid()),
                                                              .controller = true,
                                                              .block_owner_deletion = true}
                                                   .to_value()}));
  return metadata;
}

// Returns the timeout of a task's TaskRun: its own, at most what the run has left
// (docs/spec/tekton.md 8).
std::string timeout_of(const RunContext& context, const RunFacts& facts, const TaskState& task,
                       const Value& overrides) {
  for (const Value* given : {&overrides["timeout"], &task.task["timeout"]}) {
    if (const auto duration = duration_of(*given)) {
      return format_go_duration(*duration);
    }
  }
  const Duration standard = context.settings.default_timeout;
  const Value& timeouts = context.run.spec()["timeouts"];
  if (context.settings.task_timeout_follows_tasks) {
    const auto given = duration_of(timeouts[task.is_final ? "finally" : "tasks"]);
    const auto limit = task.is_final ? facts.timeouts().finally : facts.timeouts().tasks;
    if (given && *given == Duration::zero()) {
      return "0s";
    }
    if (limit && *limit > standard) {
      return format_go_duration(*limit);
    }
  }
  return format_go_duration(standard);
}

// The inline spec as a TaskRun has it: without metadata, results of other tasks replaced.
Value inline_spec(const Value& task_spec, const Replacements& results) {
  Value spec = substitute_task_spec(task_spec, results);
  for (const std::string_view member : {"metadata", "apiVersion", "kind", "spec"}) {
    spec.erase(member);
  }
  return spec;
}

Value params_of(const RunContext& context, const TaskState& task, const Replacements& results) {
  Value params = task_params(task.task, context.values);
  for (std::size_t i = 0; i < params.size(); ++i) {
    // What was propagated is a value already; only the task's own params hold references.
    if (i < task.task["params"].size()) {
      params.item(i).set("value", substitute_param(params[i]["value"], results));
    }
  }
  return params;
}

// Returns what the run's own fields may hold of a task: params, contexts, results.
Replacements run_variables(const RunContext& context, const TaskState& task,
                           const Replacements& results) {
  Replacements variables = context.variables;
  Replacements retries;
  retries.set("context.pipelineTask.retries", std::to_string(task.task["retries"].as_int()));
  variables.then(std::move(retries));
  variables.then(results);
  return variables;
}

Value workspaces_of(const RunContext& context, const TaskState& task, const Replacements& results) {
  Value wanted = task.task;
  if (wanted["workspaces"].is_list()) {
    static constexpr std::string_view kFields[] = {"subPath"};
    Value& list = wanted.member("workspaces");
    for (std::size_t i = 0; i < list.size(); ++i) {
      substitute_members(list.item(i), kFields, results);
    }
  }
  const Replacements variables = run_variables(context, task, results);
  const char* spec = is_pipeline_task(task.task) ? "pipelineSpec" : "taskSpec";
  Value bindings = task_run_workspaces(context.run, wanted, task.task[spec]);
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    bindings.item(i) = substitute_binding(bindings[i], variables);
  }
  return bindings;
}

// Returns the reference to the task, of kind `kind` unless it or a resolver says so; a resolver's
// params may hold results.
Value ref_of(Value ref, std::string_view kind, const Replacements& results) {
  static constexpr std::string_view kFields[] = {"name"};
  substitute_members(ref, kFields, results);
  for (std::size_t i = 0; i < ref["params"].size(); ++i) {
    Value& param = ref.member("params").item(i);
    param.set("value", substitute_param(param["value"], results));
  }
  if (!kind.empty() && ref["kind"].as_string().empty() && ref["resolver"].as_string().empty()) {
    ref.set("kind", kind);
  }
  return ref;
}

// Returns the pod settings; those of taskRunSpecs may hold variables of the pipeline and params of
// the matrix.
Value pod_template_of(const RunContext& context, const Value& overrides, const Value& combination,
                      const Replacements& of_run) {
  Replacements variables;
  for (const Value& param : combination.items()) {
    variables.set_param(param["name"].as_string(), param["value"]);
  }
  variables.then(of_run);
  return merged_pod_templates(context.run.spec()["taskRunTemplate"]["podTemplate"],
                              substitute_pod_template(overrides["podTemplate"], variables));
}

// `combination`: the params of a matrix, or Null.
Value spec_of(const RunContext& context, const RunFacts& facts, const TaskState& task,
              const Value& combination) {
  const Value& overrides = overrides_of(context.run, task.name);
  Replacements results = facts.results_for(task);
  results.count_with(context.variables);
  const Value& shared = context.run.spec()["taskRunTemplate"];
  Value spec = Value::object();
  if (Value params = params_of(context, task, results); !params.empty()) {
    spec.set("params", std::move(params));
  }
  const Value& account = overrides["serviceAccountName"].as_string().empty()
                             ? shared["serviceAccountName"]
                             : overrides["serviceAccountName"];
  spec.set("serviceAccountName",
           account.as_string().empty() ? Value(context.settings.default_service_account) : account);
  if (task.task["pipelineSpec"].is_object()) {
    spec.set("pipelineSpec", task.task["pipelineSpec"]);
  } else if (task.task["pipelineRef"].is_object()) {
    spec.set("pipelineRef", ref_of(task.task["pipelineRef"], {}, results));
  } else if (task.task["taskSpec"].is_object()) {
    spec.set("taskSpec", inline_spec(task.task["taskSpec"], results));
  } else {
    spec.set("taskRef", ref_of(task.task["taskRef"], "Task", results));
  }
  if (Value pod =
          pod_template_of(context, overrides, combination, run_variables(context, task, results));
      !pod.empty()) {
    spec.set("podTemplate", std::move(pod));
  }
  if (Value workspaces = workspaces_of(context, task, results); !workspaces.empty()) {
    spec.set("workspaces", std::move(workspaces));
  }
  if (const std::int64_t retries = task.task["retries"].as_int(); retries > 0) {
    spec.set("retries", retries);
  }
  spec.set("timeout", timeout_of(context, facts, task, overrides));
  for (const std::string_view copied : {"stepSpecs", "sidecarSpecs", "computeResources"}) {
    if (const Value* value = overrides.find(copied)) {
      spec.set(copied, *value);
    }
  }
  return spec;
}

// The spec of a CustomRun; `combination`: the params of a matrix, or Null.
Value custom_spec_of(const RunContext& context, const RunFacts& facts, const TaskState& task,
                     const Value& combination) {
  const Value whole = spec_of(context, facts, task, combination);
  Value spec = Value::object();
  if (task.task["taskSpec"].is_object()) {
    spec.set("customSpec", task.task["taskSpec"]);
  } else {
    spec.set("customRef", whole["taskRef"]);
  }
  for (const std::string_view kept :
       {"params", "serviceAccountName", "workspaces", "retries", "timeout"}) {
    if (const Value* value = whole.find(kept)) {
      spec.set(kept, *value);
    }
  }
  return spec;
}

// The spec of a PipelineRun; `combination`: the params of a matrix, or Null. An inline pipeline
// sees the params of the run around it.
Value pipeline_spec_of(const RunContext& context, const RunFacts& facts, const TaskState& task,
                       const Value& combination) {
  const Value whole = spec_of(context, facts, task, combination);
  Value spec = Value::object();
  for (const std::string_view kept : {"pipelineRef", "pipelineSpec", "workspaces"}) {
    if (const Value* value = whole.find(kept)) {
      spec.set(kept, *value);
    }
  }
  Value params = whole["params"].is_list() ? whole["params"] : Value::list();
  for (const auto& [name, value] : context.values) {
    // Those that it declares are given by their type (task_params()).
    if (spec.contains("pipelineSpec") && named(params, name).is_null() &&
        named(spec["pipelineSpec"]["params"], name).is_null()) {
      params.push_back(Value::object({{"name", name}, {"value", value}}));
    }
  }
  if (!params.empty()) {
    spec.set("params", std::move(params));
  }
  Value shared = Value::object({{"serviceAccountName", whole["serviceAccountName"]}});
  if (const Value* pod = whole.find("podTemplate")) {
    shared.set("podTemplate", *pod);
  }
  spec.set("taskRunTemplate", std::move(shared));
  spec.set("timeouts", Value::object({{"pipeline", whole["timeout"]}}));
  return spec;
}

}  // namespace

std::vector<Value> make_task_runs(const RunContext& context, const RunFacts& facts,
                                  const TaskState& task) {
  const Value& overrides = overrides_of(context.run, task.name);
  const auto made = [&](std::string_view name, const Value& more_params) {
    const bool pipeline = is_pipeline_task(task.task);
    const bool custom =
        is_custom_task(task.task["taskRef"]) || is_custom_task(task.task["taskSpec"]);
    Value task_run = Value::object({{"apiVersion", custom ? "tekton.dev/v1beta1" : "tekton.dev/v1"},
                                    {"kind", pipeline ? "PipelineRun"
                                             : custom ? "CustomRun"
                                                      : "TaskRun"}});
    task_run.set("metadata", metadata_of(context, task, overrides, name));
    Value spec = pipeline ? pipeline_spec_of(context, facts, task, more_params)
                 : custom ? custom_spec_of(context, facts, task, more_params)
                          : spec_of(context, facts, task, more_params);
    if (!more_params.empty()) {
      spec.set("params", merged_named(spec["params"], more_params));
    }
    task_run.set("spec", std::move(spec));
    return task_run;
  };
  if (!task.task["matrix"].is_object()) {
    return {made(name_of(context.run, facts, task), {})};
  }
  std::vector<Value> task_runs;
  Replacements results = facts.results_for(task);
  results.count_with(context.variables);
  const Value matrix = substituted_matrix(task.task["matrix"], results);
  const std::vector<Value> combinations = matrix_combinations(matrix);
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const std::string name = matrix_task_run_name(
        context.run.name(), task.name, ordinal_apart(facts, task, "-" + std::to_string(i)));
    const bool exists = std::any_of(task.task_runs.begin(), task.task_runs.end(),
                                    [&](const Object& one) { return one.name() == name; });
    if (!exists) {
      task_runs.push_back(made(name, combinations[i]));
    }
  }
  return task_runs;
}

}  // namespace athanor::tekton
