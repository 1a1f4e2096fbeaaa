// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "api/tekton.hpp"
#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/names.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/pipelinerun/matrix.hpp"
#include "embedded/tekton/pipelinerun/task_checks.hpp"
#include "embedded/tekton/pipelinerun/when.hpp"
#include "embedded/tekton/validation/validation.hpp"

namespace athanor::tekton {
namespace {

using Checked = std::optional<Refusal>;

Refusal user_error(std::string reason, std::string_view message) {
  return {std::move(reason), user_error_prefix() + std::string(message)};
}

// The names that most messages carry.
struct Names {
  explicit Names(const Object& object)
      : run(std::string(object.ns()) + "/" + std::string(object.name())),
        pipeline(std::string(object.ns()) + "/" + pipeline_name(object)) {}
  std::string run{};
  std::string pipeline{};
};

Checked check_graph(const Value& spec, const Names& names) {
  if (const auto graph = Graph::make(spec["tasks"]); !graph) {
    return user_error(
        "PipelineInvalidGraph",
        "PipelineRun " + names.run + "'s Pipeline DAG is invalid: " + graph.error().message);
  }
  // Final tasks have no edges among themselves: only a repeated name can make theirs invalid.
  Value finals = Value::list();
  for (const Value& task : spec["finally"].items()) {
    finals.push_back(Value::object({{"name", task["name"]}}));
  }
  if (const auto graph = Graph::make(finals); !graph) {
    return user_error(
        "PipelineInvalidGraph",
        "PipelineRun " + names.run +
            "'s Pipeline DAG is invalid for finally clause: " + graph.error().message);
  }
  return std::nullopt;
}

// Rows 4 to 6.
Checked check_params(const Object& run, const Value& spec, const Names& names) {
  const Value& specs = spec["params"];
  const Value& params = run.spec()["params"];
  if (const auto missing = missing_params(specs, params); !missing.empty()) {
    return user_error("ParameterMissing",
                      "PipelineRun " + names.run +
                          " is missing some parameters required by Pipeline " + names.pipeline +
                          ": pipelineRun missing parameters: " + go_list(missing));
  }
  if (const auto wrong = mismatched_params(specs, params); !wrong.empty()) {
    return user_error("ParameterTypeMismatch",
                      "PipelineRun " + names.run +
                          " parameters have mismatching types with Pipeline " + names.pipeline +
                          "'s parameters: parameters have inconsistent types : " + go_list(wrong));
  }
  if (const auto keys = missing_object_keys(specs, params); !keys.empty()) {
    return user_error(
        "ObjectParameterMissKeys",
        "PipelineRun " + names.run + " parameters is missing object keys required by Pipeline " +
            names.pipeline +
            "'s parameters: pipelineRun missing object keys for parameters: " + go_map(keys));
  }
  if (const std::string problem = param_outside_enum(specs, params); !problem.empty()) {
    return user_error("InvalidParamValue",
                      "PipelineRun " + names.run + " parameters have invalid value: " + problem);
  }
  return std::nullopt;
}

Checked check_array_indexes(const Value& spec, const std::map<std::string, Value>& values,
                            const Names& names) {
  auto bad = bad_array_indexes(spec["tasks"], values);
  for (std::string& more : bad_array_indexes(spec["finally"], values)) {
    bad.push_back(std::move(more));
  }
  if (bad.empty()) {
    return std::nullopt;
  }
  return user_error("ParamArrayIndexingInvalid",
                    "PipelineRun " + names.run +
                        " failed validation: failed to validate Pipeline " + names.pipeline +
                        "'s parameter which has an invalid index while referring to an array: "
                        "non-existent param references:" +
                        go_list(bad));
}

Checked check_workspaces(const Object& run, const Value& spec, const Names& names) {
  for (const Value& declared : spec["workspaces"].items()) {
    const std::string_view name = declared["name"].as_string();
    if (!declared["optional"].as_bool() && named(run.spec()["workspaces"], name).is_null()) {
      return user_error("InvalidWorkspaceBindings",
                        "PipelineRun " + names.run + " doesn't bind Pipeline " + names.pipeline +
                            "'s Workspaces correctly: pipeline requires workspace with name " +
                            quoted(name) + " be provided by pipelinerun");
    }
  }
  return std::nullopt;
}

Checked check_task_run_specs(const Object& run, const Value& spec, const Names& names) {
  const auto wrong = [&names](const std::string& why) {
    return user_error("InvalidTaskRunSpecs",
                      "PipelineRun " + names.run +
                          " doesn't define taskRunSpecs correctly: pipelineRun's taskrunSpecs " +
                          why);
  };
  for (const Value& one : run.spec()["taskRunSpecs"].items()) {
    const std::string_view name = one["pipelineTaskName"].as_string();
    const Value& of_tasks = named(spec["tasks"], name);
    const Value& task = of_tasks.is_null() ? named(spec["finally"], name) : of_tasks;
    if (task.is_null()) {
      return wrong("defined wrong taskName: " + quoted(name) + ", does not exist in Pipeline");
    }
    for (const std::string_view field : {"stepSpecs", "sidecarSpecs", "computeResources"}) {
      if (is_pipeline_task(task) && one.contains(field)) {
        return wrong("defined " + std::string(field) + " of " + quoted(name) +
                     ", which runs a pipeline");
      }
    }
  }
  return std::nullopt;
}

// The PipelineRuns that a run is within. A pipeline within itself would never end.
Checked check_nesting(const View& view, const Object& run, const Names& names) {
  constexpr int kMostNested = 8;
  const Value& ref = run.spec()["pipelineRef"];
  std::optional<Object> outer = run;
  for (int depth = 0;; ++depth) {
    const auto owner = outer->controller();
    if (!owner || owner->kind != api::kPipelineRun.name) {
      return std::nullopt;
    }
    outer = view.get(api::kPipelineRun, {std::string(run.ns()), owner->name});
    if (!outer || outer->uid() != owner->uid) {
      return std::nullopt;
    }
    const bool same = ref.is_object() && outer->spec()["pipelineRef"] == ref;
    if (same || depth >= kMostNested) {
      return user_error("PipelineValidationFailed",
                        "Pipeline " + names.pipeline + " can't be Run; it is nested in " +
                            (same ? "itself" : "more than 8 PipelineRuns"));
    }
  }
}

// params[].value may become a list or an object; everything else is text.
void substitute_params(Value& params, const Replacements& replacements) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    params.item(i).set("value", substitute_param(params[i]["value"], replacements));
  }
}

Value substituted_task(Value task, Replacements replacements) {
  static constexpr std::string_view kTexts[] = {"displayName", "onError"};
  static constexpr std::string_view kRefTexts[] = {"name"};
  static constexpr std::string_view kWorkspaceTexts[] = {"subPath"};
  Replacements retries;
  retries.set("context.pipelineTask.retries", std::to_string(task["retries"].as_int()));
  replacements.then(std::move(retries));
  substitute_members(task, kTexts, replacements);
  if (task.contains("params")) {
    substitute_params(task.member("params"), replacements);
  }
  if (task["matrix"].is_object()) {
    task.set("matrix", substituted_matrix(task["matrix"], replacements));
  }
  if (task.contains("when")) {
    task.set("when", resolved_when(task["when"], replacements));
  }
  for (const std::string_view field : {"taskRef", "pipelineRef"}) {
    if (!task[field].is_object()) {
      continue;
    }
    Value& ref = task.member(field);
    substitute_members(ref, kRefTexts, replacements);
    if (ref.contains("params")) {
      substitute_params(ref.member("params"), replacements);
    }
  }
  if (task["workspaces"].is_list()) {
    Value& workspaces = task.member("workspaces");
    for (std::size_t i = 0; i < workspaces.size(); ++i) {
      substitute_members(workspaces.item(i), kWorkspaceTexts, replacements);
    }
  }
  if (task["taskSpec"].is_object()) {
    // The nearest scope wins: what the task is given itself is left to its TaskRun.
    for (const Value& param : task["params"].items()) {
      replacements.erase("params." + param["name"].str());
    }
    task.set("taskSpec", substitute_task_spec(task["taskSpec"], replacements));
  }
  return task;
}

Result<Value, Refusal> found_spec(const View& view, const Object& run, ResolvedPipeline& resolved) {
  if (const Value& inline_spec = run.spec()["pipelineSpec"]; inline_spec.is_object()) {
    return inline_spec;
  }
  const Value& ref = run.spec()["pipelineRef"];
  const auto pipeline = find_definition(view, api::kPipeline, ref, run.ns());
  if (!pipeline) {
    const std::string name = std::string(run.name());
    if (is_awaited(pipeline.error())) {
      return awaited_refusal("ResolvingPipelineRef", run);
    }
    std::string why = pipeline.error().message;
    if (pipeline.error().code == 404) {
      why = "error when getting Pipeline for PipelineRun " + name +
            ": tekton client cannot get pipeline " + ref["name"].str() +
            " from local cluster: " + why;
    }
    return Refusal{"CouldntGetPipeline", "Error retrieving pipeline for pipelinerun " +
                                             std::string(run.ns()) + "/" + name + ": " + why};
  }
  resolved.labels = pipeline->object.metadata()["labels"];
  resolved.annotations = pipeline->object.metadata()["annotations"];
  resolved.source = pipeline->source;
  return pipeline->object.spec();
}

}  // namespace

Refusal awaited_refusal(std::string reason, const Object& run) {
  return {.reason = std::move(reason),
          .message = std::string(run.kind()) + " " + std::string(run.ns()) + "/" +
                     std::string(run.name()) + " awaiting remote resource",
          .awaiting = true};
}

std::string pipeline_name(const Object& run) {
  const std::string_view name = run.spec()["pipelineRef"]["name"].as_string();
  return std::string(name.empty() ? run.name() : name);
}

std::string pipeline_label(const Object& run) {
  const std::string_view name = run.spec()["pipelineRef"]["name"].as_string();
  if (!name.empty()) {
    return std::string(name);
  }
  return inline_pipeline_name(run.metadata()["generateName"].as_string(), run.name());
}

Replacements pipeline_variables(const Value& spec, const std::map<std::string, Value>& values,
                                const Object& run) {
  Replacements replacements = replacements_of(values);
  Replacements contexts;
  contexts.set("context.pipelineRun.name", run.name());
  contexts.set("context.pipelineRun.namespace", run.ns());
  contexts.set("context.pipelineRun.uid", run.uid());
  contexts.set("context.pipeline.name", pipeline_name(run));
  replacements.then(std::move(contexts));
  Replacements workspaces;
  for (const Value& workspace : spec["workspaces"].items()) {
    const std::string_view name = workspace["name"].as_string();
    const bool bound = !named(run.spec()["workspaces"], name).is_null();
    workspaces.set("workspaces." + std::string(name) + ".bound", bound ? "true" : "false");
  }
  replacements.then(std::move(workspaces));
  return replacements;
}

Value substituted_pipeline(const Value& spec, const Replacements& variables) {
  Value result = spec;
  for (const std::string_view part : {"tasks", "finally"}) {
    if (!spec[part].is_list()) {
      continue;
    }
    Value tasks = Value::list();
    for (const Value& task : spec[part].items()) {
      tasks.push_back(substituted_task(task, variables));
    }
    result.set(part, std::move(tasks));
  }
  return result;
}

Value task_params(const Value& pipeline_task, const std::map<std::string, Value>& values) {
  Value params = pipeline_task["params"].is_list() ? pipeline_task["params"] : Value::list();
  for (const std::string_view inline_spec : {"taskSpec", "pipelineSpec"}) {
    for (const Value& declared : pipeline_task[inline_spec]["params"].items()) {
      const std::string name = declared["name"].str();
      const auto outer = values.find(name);
      if (outer != values.end() && named(params, name).is_null() &&
          declared_type(declared) == value_type(outer->second)) {
        params.push_back(Value::object({{"name", name}, {"value", outer->second}}));
      }
    }
  }
  return params;
}

Result<ResolvedPipeline, Refusal> resolve_pipeline(const View& view, const Object& run) {
  const Settings settings = read_settings(view);
  const Names names(run);
  if (auto refusal = check_nesting(view, run, names)) {
    return *std::move(refusal);
  }
  ResolvedPipeline resolved;
  auto found = found_spec(view, run, resolved);
  if (!found) {
    return found.error();
  }
  const Value spec = *std::move(found);
  if (auto refusal = check_graph(spec, names)) {
    return *std::move(refusal);
  }
  if (const FieldErrors errors = validate_pipeline_spec(spec, Place::Inline, settings);
      !errors.empty()) {
    return user_error(
        "PipelineValidationFailed",
        "Pipeline " + names.pipeline + " can't be Run; it has an invalid spec: " + errors.text());
  }
  if (auto refusal = check_params(run, spec, names)) {
    return *std::move(refusal);
  }
  const auto values = param_values(spec["params"], run.spec()["params"]);
  if (values) {
    if (auto refusal = check_array_indexes(spec, *values, names)) {
      return *std::move(refusal);
    }
  }
  if (auto refusal = check_workspaces(run, spec, names)) {
    return *std::move(refusal);
  }
  if (auto refusal = check_task_run_specs(run, spec, names)) {
    return *std::move(refusal);
  }
  if (!values) {
    return Refusal{"PipelineValidationFailed", "Failed to apply parameters to Pipeline " +
                                                   names.pipeline + ": " + values.error().message};
  }
  const Replacements variables = pipeline_variables(spec, *values, run);
  resolved.spec = substituted_pipeline(spec, variables);
  if (const std::string grown = variables.exceeded(); !grown.empty()) {
    return Refusal{"PipelineValidationFailed",
                   "Failed to apply parameters to Pipeline " + names.pipeline + ": " + grown};
  }
  if (const FieldErrors errors = validate_replaced_pipeline(resolved.spec); !errors.empty()) {
    return user_error(
        "PipelineValidationFailed",
        "Pipeline " + names.pipeline + " can't be Run; it has an invalid spec: " + errors.text());
  }
  if (auto refusal = check_tasks(view, run, resolved.spec, *values)) {
    return *std::move(refusal);
  }
  return resolved;
}

}  // namespace athanor::tekton
