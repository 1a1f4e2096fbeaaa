// SPDX-License-Identifier: Apache-2.0
// Pipeline and inline pipelineSpec (docs/spec/tekton.md 5.2). References between tasks:
// validation_references.cpp.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/validation/validation.hpp"
#include "embedded/tekton/validation/validation_references.hpp"
#include "embedded/tekton/validation/validation_shared.hpp"

namespace athanor::tekton {
namespace {

// A task that runs a pipeline.
void check_pipeline_of_task(const Value& task, const Settings& settings, FieldErrors& errors) {
  for (const std::string_view field : {"pipelineRef", "pipelineSpec"}) {
    if (task.contains(field) && settings.api_fields != "alpha") {
      errors.add(std::string(field) +
                     " requires \"enable-api-fields\" feature gate to be \"alpha\" but it is " +
                     quoted(settings.api_fields),
                 {});
      return;
    }
  }
  std::vector<std::string> given;
  for (const std::string_view field : {"pipelineRef", "pipelineSpec", "taskRef", "taskSpec"}) {
    if (task[field].is_object()) {
      given.emplace_back(field);
    }
  }
  if (given.size() > 1) {
    errors.add("expected exactly one, got multiple", given);
  } else if (task["pipelineSpec"].is_object()) {
    errors.merge(validate_pipeline_spec(task["pipelineSpec"], Place::Inline, settings),
                 "pipelineSpec");
  } else if (task["pipelineRef"]["name"].as_string().empty() &&
             task["pipelineRef"]["resolver"].as_string().empty()) {
    errors.missing("pipelineRef.name");
  }
  if (task["matrix"].is_object() && task["retries"].as_int() > 0) {
    errors.add(
        "matrix and retries of a task that runs a pipeline are not supported together by the "
        "embedded engine",
        {"retries"});
  }
}

void check_kind_of_task(const Value& task, const Settings& settings, FieldErrors& errors) {
  if (task.contains("pipelineRef") || task.contains("pipelineSpec")) {
    check_pipeline_of_task(task, settings, errors);
    return;
  }
  const bool has_ref = task["taskRef"].is_object();
  const bool has_spec = task["taskSpec"].is_object();
  if (!has_ref && !has_spec) {
    errors.got_neither({"taskRef", "taskSpec"});
  } else if (has_ref && has_spec) {
    errors.add("expected exactly one, got multiple", {"taskRef", "taskSpec"});
  } else if (has_ref && task["taskRef"]["name"].as_string().empty() &&
             task["taskRef"]["resolver"].as_string().empty() && !is_custom_task(task["taskRef"])) {
    errors.missing("taskRef.name");
  } else if (is_custom_task(task["taskRef"]) || is_custom_task(task["taskSpec"])) {
    const std::string holder = has_ref ? "taskRef" : "taskSpec";
    for (const std::string_view field : {"apiVersion", "kind"}) {
      if (task[holder][field].as_string().empty()) {
        errors.invalid("custom task " + std::string(has_ref ? "ref" : "spec") + " must specify " +
                           std::string(field),
                       holder + "." + std::string(field));
      }
    }
  } else if (has_spec) {
    errors.merge(validate_task_spec(task["taskSpec"], Place::Inline, settings), "taskSpec");
  }
}

void check_task_on_error(const Value& task, FieldErrors& errors) {
  const std::string_view value = task["onError"].as_string();
  if (value.empty()) {
    return;
  }
  if (value != "continue" && value != "stopAndFail") {
    errors.invalid(value, "OnError",
                   "PipelineTask OnError must be either \"continue\" or \"stopAndFail\"");
  } else if (value == "continue" && task["retries"].as_int() > 0) {
    errors.add("PipelineTask OnError cannot be set to \"continue\" when Retries is greater than 0",
               {"OnError"});
  }
}

void check_matrix(const Value& task, const Settings& settings, FieldErrors& errors) {
  const Value& matrix = task["matrix"];
  if (!matrix.is_object()) {
    return;
  }
  constexpr std::size_t kMany = 1'000'000'000;  // beyond it they are not counted
  std::size_t combinations = 1;
  for (const Value& param : matrix["params"].items()) {
    const std::size_t length = std::max<std::size_t>(1, param["value"].size());
    combinations = combinations > kMany / length ? kMany : combinations * length;
    const std::string_view name = param["name"].as_string();
    if (!named(task["params"], name).is_null()) {
      errors.got_both({"matrix[" + std::string(name) + "]", at("params", name)});
    }
  }
  combinations = std::max(combinations, matrix["include"].size());
  const auto most = static_cast<std::size_t>(settings.max_combinations);
  if (combinations > most) {
    errors.add("expected 0 <= " + std::to_string(combinations) + " <= " + std::to_string(most),
               {"matrix"});
  }
}

// Declared workspaces, by name.
std::set<std::string> check_pipeline_workspaces(const Value& spec, FieldErrors& errors) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec["workspaces"].size(); ++i) {
    const std::string name = spec["workspaces"][i]["name"].str();
    if (name.empty()) {
      errors.invalid("workspace " + std::to_string(i) + " has empty name", at("workspaces", i));
    } else if (!names.insert(name).second) {
      errors.invalid("workspace with name " + quoted(name) + " appears more than once",
                     at("workspaces", i));
    }
  }
  return names;
}

void check_task_workspaces(const Value& task, const std::set<std::string>& declared,
                           FieldErrors& errors) {
  for (std::size_t i = 0; i < task["workspaces"].size(); ++i) {
    const Value& binding = task["workspaces"][i];
    const std::string outer = binding["workspace"].as_string().empty() ? binding["name"].str()
                                                                       : binding["workspace"].str();
    if (!declared.contains(outer)) {
      errors.invalid("pipeline task " + quoted(task["name"].as_string()) +
                         " expects workspace with name " + quoted(outer) +
                         " but none exists in pipeline spec",
                     at("workspaces", i));
    }
  }
}

FieldErrors check_task(const Value& task, const Settings& settings) {
  FieldErrors errors;
  const std::string_view name = task["name"].as_string();
  if (!is_dns_label(name)) {
    errors.add("invalid value " + quoted(name), {"name"},
               "Pipeline Task name " + std::string(kDnsDetails));
  }
  check_kind_of_task(task, settings, errors);
  for (const std::string_view field : {"taskRef", "pipelineRef"}) {
    errors.merge(validate_ref(task[field]), field);
  }
  if (!holds_param(task["onError"])) {
    check_task_on_error(task, errors);
  }
  errors.merge(validate_when(task["when"], settings));
  check_matrix(task, settings, errors);
  if (is_negative(task["timeout"])) {
    errors.invalid(task["timeout"].str() + " should be >= 0", "timeout");
  }
  if (task["retries"].as_int() < 0) {
    errors.invalid(std::to_string(task["retries"].as_int()) + " should be >= 0", "retries");
  }
  errors.merge(validate_run_params(task["params"]));
  return errors;
}

// Artifacts of other tasks in a task's params, behind their flag.
void check_task_artifacts(const Value& task, const std::string& path, const Settings& settings,
                          FieldErrors& errors) {
  for (const Value& param : task["params"].items()) {
    for (const Variable& variable : variables_in(param["value"].as_string())) {
      if (!settings.artifacts && is_artifact_of(dotted(variable.name), "tasks.")) {
        errors.add("feature flag enable-artifacts should be set to true to use artifacts feature.",
                   {below(path, at("params", param["name"].as_string()))});
      }
    }
  }
}

void check_task_variables(const Value& spec, Place place, const std::string& path,
                          const Value& task, FieldErrors& errors) {
  const VariableRules rules(spec["params"], place == Place::StandAlone);
  for (const Value& param : task["params"].items()) {
    rules.check_param_value(errors, param["value"],
                            below(path, at("params", param["name"].as_string())));
  }
  for (const Value& param : task["matrix"]["params"].items()) {
    rules.check_param_value(errors, param["value"],
                            below(path, "matrix." + at("params", param["name"].as_string())));
  }
  for (std::size_t i = 0; i < task["when"].size(); ++i) {
    rules.check_text(errors, task["when"][i]["input"], below(path, at("when", i) + ".input"));
    rules.check_items(errors, task["when"][i]["values"], below(path, at("when", i) + ".values"));
  }
}

}  // namespace

FieldErrors validate_replaced_pipeline(const Value& spec) {
  FieldErrors errors;
  for (const std::string_view part : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < spec[part].size(); ++i) {
      FieldErrors of_task;
      check_task_on_error(spec[part][i], of_task);
      errors.merge(std::move(of_task), at(part, i));
    }
  }
  return errors;
}

FieldErrors validate_pipeline_spec(const Value& spec, Place place, const Settings& settings) {
  FieldErrors errors;
  if (spec.empty()) {
    errors.add("expected at least one, got none",
               {"description", "params", "resources", "tasks", "workspaces"});
    return errors;
  }
  const std::set<std::string> workspaces = check_pipeline_workspaces(spec, errors);
  std::set<std::string> names;
  for (const std::string_view part : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < spec[part].size(); ++i) {
      const Value& task = spec[part][i];
      const std::string path = at(part, i);
      errors.merge(check_task(task, settings), path);
      if (!names.insert(task["name"].str()).second) {
        errors.got_both({path + ".name"});
      }
      if (place == Place::StandAlone) {
        if (task["taskSpec"].is_object() && forbids_inline_spec(settings, "pipeline")) {
          errors.disallowed(path + ".taskSpec");
        }
        FieldErrors bindings;
        check_task_workspaces(task, workspaces, bindings);
        errors.merge(std::move(bindings), path);
      }
      check_task_variables(spec, place, path, task, errors);
      check_task_artifacts(task, path, settings, errors);
      errors.merge(validate_context_variables(task), path);
    }
  }
  if (spec["tasks"].empty() && !spec["finally"].empty()) {
    errors.invalid("spec.tasks is empty but spec.finally has " +
                       std::to_string(spec["finally"].size()) + " tasks",
                   "finally");
  }
  // A repeated name has its own error; the graph says the rest.
  if (const auto graph = Graph::make(spec["tasks"]);
      !graph && graph.error().message != "duplicate pipeline task") {
    errors.invalid(graph.error().message, "tasks");
  }
  errors.merge(validate_param_specs(spec["params"], settings));
  errors.merge(validate_task_references(spec));
  errors.merge(validate_pipeline_results(spec));
  return errors;
}

}  // namespace athanor::tekton
