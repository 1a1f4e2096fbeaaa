// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/task_checks.hpp"

#include <vector>

#include "api/tekton.hpp"
#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

using Checked = std::optional<Refusal>;

// A pipeline task and the task it refers to.
struct KnownTask {
  Value task{};
  std::string task_name{};  // of the Task, or of the pipeline task when its spec is inline
  Value spec{};
  // False: a custom task, or one that results of other tasks name
  bool resolved = true;
};

const KnownTask* find(const std::vector<KnownTask>& members, std::string_view task) {
  for (const KnownTask& member : members) {
    if (member.task["name"].as_string() == task) {
      return &member;
    }
  }
  return nullptr;
}

Checked gather_pipeline(const View& view, const Object& run, const Value& task,
                        std::vector<KnownTask>& members) {
  const Value& ref = task["pipelineRef"];
  KnownTask member{.task = task, .task_name = task["name"].str(), .spec = task["pipelineSpec"]};
  if (!ref.is_object() || !result_refs(ref).empty()) {
    member.resolved = !ref.is_object();
    members.push_back(std::move(member));
    return std::nullopt;
  }
  auto found = find_definition(view, api::kPipeline, ref, run.ns());
  if (!found && is_awaited(found.error())) {
    return awaited_refusal("ResolvingPipelineRef", run);
  }
  if (!found) {
    return Refusal{"CouldntGetPipeline",
                   "Pipeline " + std::string(run.ns()) + "/" + pipeline_name(run) +
                       " can't be Run; it contains Pipelines that don't exist: Couldn't retrieve "
                       "Pipeline " +
                       quoted(ref["name"].as_string()) + ": " + found.error().message};
  }
  member.task_name = std::string(found->object.name());
  member.spec = found->object.spec();
  members.push_back(std::move(member));
  return std::nullopt;
}

// Row 10.
Checked gather(const View& view, const Object& run, const Value& pipeline,
               std::vector<KnownTask>& members) {
  for (const std::string_view part : {"tasks", "finally"}) {
    for (const Value& task : pipeline[part].items()) {
      const Value& ref = task["taskRef"];
      if (is_custom_task(task["taskSpec"]) || is_custom_task(ref)) {
        // Its controller checks what it is given.
        members.push_back({.task = task, .task_name = task["name"].str(), .resolved = false});
        continue;
      }
      if (is_pipeline_task(task)) {
        if (auto refusal = gather_pipeline(view, run, task, members)) {
          return refusal;
        }
        continue;
      }
      if (task["taskSpec"].is_object()) {
        members.push_back(
            {.task = task, .task_name = task["name"].str(), .spec = task["taskSpec"]});
        continue;
      }
      if (!result_refs(ref).empty()) {
        members.push_back({.task = task, .task_name = task["name"].str(), .resolved = false});
        continue;
      }
      const auto found = find_definition(view, api::kTask, ref, run.ns());
      if (!found && is_awaited(found.error())) {
        return awaited_refusal("ResolvingTaskRef", run);
      }
      if (!found) {
        return Refusal{"CouldntGetTask",
                       "Pipeline " + std::string(run.ns()) + "/" + pipeline_name(run) +
                           " can't be Run; it contains Tasks that don't exist: "
                           "Couldn't retrieve Task " +
                           quoted(ref["name"].as_string()) + ": " + found.error().message};
      }
      members.push_back({.task = task,
                         .task_name = std::string(found->object.name()),
                         .spec = found->object.spec()});
    }
  }
  return std::nullopt;
}

// The value of a param that is a whole list or object of a result is not known yet: it counts as of
// the right type.
Value assumed_params(const Value& specs, Value params) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto variable = only_variable(params[i]["value"].as_string());
    if (!variable || !variable->starts_with("tasks.") || !variable->ends_with("[*]")) {
      continue;
    }
    const Value& spec = named(specs, params[i]["name"].as_string());
    const std::string type = declared_type(spec);
    if (type == "array") {
      params.item(i).set("value", Value::list());
    } else if (type == "object") {
      Value keys = Value::object();
      for (const auto& property : spec["properties"].members()) {
        keys.set(property.key(), "");
      }
      params.item(i).set("value", std::move(keys));
    }
  }
  return params;
}

Checked check_task_params(const Object& run, const std::vector<KnownTask>& members,
                          const std::map<std::string, Value>& values) {
  for (const KnownTask& member : members) {
    if (!member.resolved) {
      continue;
    }
    const Value& specs = member.spec["params"];
    Value params = task_params(member.task, values);
    for (const Value& varied : member.task["matrix"]["params"].items()) {
      params.push_back(Value::object({{"name", varied["name"]}, {"value", ""}}));
    }
    for (const Value& combination : member.task["matrix"]["include"].items()) {
      for (const Value& param : combination["params"].items()) {
        if (named(params, param["name"].as_string()).is_null()) {
          params.push_back(param);
        }
      }
    }
    const std::string problem = task_param_problem(specs, assumed_params(specs, params));
    if (!problem.empty()) {
      return Refusal{"PipelineValidationFailed",
                     user_error_prefix() + "Validation failed for pipelinerun " +
                         std::string(run.name()) + " with error invalid input params for task " +
                         member.task_name + ": " + problem};
    }
  }
  return std::nullopt;
}

Checked check_result_refs(const std::vector<KnownTask>& members) {
  for (const KnownTask& member : members) {
    for (const ResultRef& ref : task_result_refs(member.task)) {
      const KnownTask* source = find(members, ref.task);
      if (source != nullptr && source->resolved &&
          named(source->spec["results"], ref.result).is_null()) {
        return Refusal{"InvalidTaskResultReference",
                       "invalid result reference in pipeline task " +
                           quoted(member.task["name"].as_string()) + ": " + quoted(ref.result) +
                           " is not a named result returned by pipeline task " + quoted(ref.task)};
      }
    }
  }
  return std::nullopt;
}

Checked check_pipeline_results(const Object& run, const Value& pipeline,
                               const std::vector<KnownTask>& members) {
  for (const Value& result : pipeline["results"].items()) {
    std::vector<ResultRef> refs = result_refs(result["value"]);
    for (const Variable& variable : variables_in(result["value"].as_string())) {
      if (auto ref = parse_result_ref(variable.name, "finally")) {
        refs.push_back(*std::move(ref));
      }
    }
    for (const ResultRef& ref : refs) {
      const KnownTask* source = find(members, ref.task);
      if (source != nullptr &&
          (!source->resolved || !named(source->spec["results"], ref.result).is_null())) {
        continue;
      }
      const std::string why =
          source == nullptr
              ? "pipeline task " + quoted(ref.task) + " is not defined in the pipeline"
              : quoted(ref.result) + " is not a named result returned by pipeline task " +
                    quoted(ref.task);
      return Refusal{"InvalidPipelineResultReference",
                     "Failed to resolve pipeline result reference for " + quoted(run.name()) +
                         " with error invalid pipeline result " +
                         quoted(result["name"].as_string()) + ": " + why};
    }
  }
  return std::nullopt;
}

Checked check_optional_workspaces(const Value& pipeline, const std::vector<KnownTask>& members) {
  for (const KnownTask& member : members) {
    for (const Value& binding : member.task["workspaces"].items()) {
      const std::string_view inner = binding["name"].as_string();
      const std::string_view given = binding["workspace"].as_string();
      const std::string_view outer = given.empty() ? inner : given;
      const Value& declared = named(member.spec["workspaces"], inner);
      if (!declared.is_null() && !declared["optional"].as_bool() &&
          named(pipeline["workspaces"], outer)["optional"].as_bool()) {
        return Refusal{"RequiredWorkspaceMarkedOptional",
                       user_error_prefix() +
                           "Optional workspace not supported by task: pipeline workspace " +
                           quoted(outer) + " is marked optional but pipeline task " +
                           quoted(member.task["name"].as_string()) + " requires it be provided"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_tasks(const View& view, const Object& run, const Value& pipeline,
                                   const std::map<std::string, Value>& values) {
  std::vector<KnownTask> members;
  if (auto refusal = gather(view, run, pipeline, members)) {
    return refusal;
  }
  if (auto refusal = check_task_params(run, members, values)) {
    return refusal;
  }
  if (auto refusal = check_result_refs(members)) {
    return refusal;
  }
  if (auto refusal = check_pipeline_results(run, pipeline, members)) {
    return refusal;
  }
  return check_optional_workspaces(pipeline, members);
}

}  // namespace athanor::tekton
