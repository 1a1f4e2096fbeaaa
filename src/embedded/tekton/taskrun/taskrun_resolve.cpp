// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/taskrun_resolve.hpp"

#include <map>
#include <utility>

#include "api/tekton.hpp"
#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/model/workspaces.hpp"
#include "embedded/tekton/taskrun/step_action.hpp"
#include "embedded/tekton/taskrun/step_template.hpp"
#include "embedded/tekton/validation/validation.hpp"

namespace athanor::tekton {
namespace {

std::string task_name(const Object& task_run) {
  const std::string_view name = task_run.spec()["taskRef"]["name"].as_string();
  return std::string(name.empty() ? task_run.name() : name);
}

Result<Value, Refusal> found_spec(const View& view, const Object& task_run,
                                  ResolvedTask& resolved) {
  if (const Value& inline_spec = task_run.spec()["taskSpec"]; inline_spec.is_object()) {
    // Workspaces that an inline spec uses by name alone count as declared.
    Value spec = inline_spec;
    for (const std::string& used : used_workspaces(inline_spec)) {
      if (named(spec["workspaces"], used).is_null() &&
          !named(task_run.spec()["workspaces"], used).is_null()) {
        spec.member("workspaces").push_back(Value::object({{"name", used}}));
      }
    }
    return spec;
  }
  const auto task = find_definition(view, api::kTask, task_run.spec()["taskRef"], task_run.ns());
  if (!task && is_awaited(task.error())) {
    return awaited_refusal("ResolvingTaskRef", task_run);
  }
  if (!task) {
    return Refusal{"TaskRunResolutionFailed", "error when listing tasks for taskRun " +
                                                  std::string(task_run.name()) + ": " +
                                                  task.error().message};
  }
  resolved.labels = task->object.metadata()["labels"];
  resolved.annotations = task->object.metadata()["annotations"];
  resolved.source = task->source;
  return task->object.spec();
}

// Returns the pod volume of a workspace: workspaces of one claim share it. Empty: not bound.
std::string volume_of(const WorkspaceVolumes& volumes, std::string_view workspace) {
  for (const WorkspaceMount& one : volumes.mounts) {
    if (one.workspace == workspace) {
      return one.mount["name"].str();
    }
  }
  return {};
}

void add_workspaces(Replacements& replacements, const Value& spec, const Value& bindings) {
  const WorkspaceVolumes volumes = workspace_volumes(spec["workspaces"], bindings);
  for (const Value& declared : spec["workspaces"].items()) {
    const std::string name = declared["name"].str();
    const std::string prefix = "workspaces." + name + ".";
    const Value& binding = named(bindings, name);
    const bool bound = !binding.is_null();
    replacements.set(prefix + "bound", bound ? "true" : "false");
    replacements.set(prefix + "path", bound ? workspace_path(declared) : std::string());
    replacements.set(prefix + "claim", binding.at({"persistentVolumeClaim", "claimName"}).str());
    replacements.set(prefix + "volume", volume_of(volumes, name));
  }
}

// Returns the values of a task's params, under the names of old Tasks too.
Replacements param_stage(const std::map<std::string, Value>& values) {
  Replacements stage = replacements_of(values);
  for (const auto& [name, value] : values) {
    stage.set("inputs.params." + name, value);
  }
  return stage;
}

Replacements context_stage(const Object& task_run) {
  Replacements stage;
  stage.set("context.taskRun.name", task_run.name());
  stage.set("context.taskRun.namespace", task_run.ns());
  stage.set("context.taskRun.uid", task_run.uid());
  stage.set("context.task.name", task_name(task_run));
  stage.set("context.task.retry-count", std::to_string(task_run.status()["retriesStatus"].size()));
  return stage;
}

// Returns the files of a task: results, exit codes, credentials.
Replacements path_stage(const Value& spec) {
  Replacements stage;
  stage.set("credentials.path", "/tekton/creds");
  stage.set("artifacts.path", "/tekton/artifacts/provenance.json");
  for (const Value& result : spec["results"].items()) {
    const std::string name = result["name"].str();
    stage.set("results." + name + ".path", "/tekton/results/" + name);
  }
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    const std::string container = step_container(spec["steps"][i], i);
    const std::string path = "/tekton/steps/" + container + "/exitCode";
    stage.set("steps." + step_name(spec["steps"][i], i) + ".exitCode.path", path);
    stage.set("steps." + container + ".exitCode.path", path);
  }
  return stage;
}

// Returns what is known without the workspaces, in Tekton's order: params, contexts, paths.
Replacements task_replacements(const Object& task_run, const Value& spec,
                               const std::map<std::string, Value>& values) {
  Replacements replacements = param_stage(values);
  replacements.then(context_stage(task_run));
  replacements.then(path_stage(spec));
  return replacements;
}

// Replaces in each step or sidecar what it alone sees: the paths of its own results and of
// workspaces that it mounts elsewhere.
Value with_own_variables(Value spec, std::string_view part) {
  if (!spec[part].is_list()) {
    return spec;
  }
  Value one = Value::object();
  Value& list = spec.member(part);
  for (std::size_t i = 0; i < list.size(); ++i) {
    Replacements replacements;
    if (part == "steps") {
      replacements.set("step.artifacts.path", "/tekton/steps/" + step_container(list[i], i) +
                                                  "/artifacts/provenance.json");
    }
    for (const Value& result : list[i]["results"].items()) {
      replacements.set(
          "step.results." + result["name"].str() + ".path",
          "/tekton/steps/" + step_container(list[i], i) + "/results/" + result["name"].str());
    }
    for (const Value& workspace : list[i]["workspaces"].items()) {
      if (!workspace["mountPath"].as_string().empty()) {
        replacements.set("workspaces." + workspace["name"].str() + ".path", workspace["mountPath"]);
      }
    }
    if (!replacements.empty()) {
      one.set(part, Value::list({list[i]}));
      list.item(i) = substitute_task_spec(one, replacements)[part][0];
    }
  }
  return spec;
}

}  // namespace

std::string step_name(const Value& step, std::size_t index) {
  const std::string_view name = step["name"].as_string();
  return name.empty() ? "unnamed-" + std::to_string(index) : std::string(name);
}

std::string step_container(const Value& step, std::size_t index) {
  return "step-" + step_name(step, index);
}

std::string sidecar_container(const Value& sidecar, std::size_t index) {
  const std::string_view name = sidecar["name"].as_string();
  return name.empty() ? "sidecar-unnamed-" + std::to_string(index) : "sidecar-" + std::string(name);
}

std::string pod_failure_hint(const Object& task_run) {
  const std::string_view name = task_run.spec()["taskRef"]["name"].as_string();
  if (name.empty()) {
    return "Maybe invalid TaskSpec";
  }
  return "Maybe missing or invalid Task " + std::string(task_run.ns()) + "/" + std::string(name);
}

Result<ResolvedTask, Refusal> resolve_task(const View& view, const Object& task_run,
                                           const Settings& settings) {
  ResolvedTask resolved;
  auto found = found_spec(view, task_run, resolved);
  if (!found) {
    return found.error();
  }
  const Value& params = task_run.spec()["params"];
  const auto values = param_values((*found)["params"], params);
  auto whole = with_step_actions(view, task_run, *std::move(found),
                                 values ? param_stage(*values) : Replacements());
  if (!whole) {
    return whole.error();
  }
  const Value spec = *std::move(whole);
  if (const std::string problem = task_param_problem(spec["params"], params); !problem.empty()) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() +
                                                  "invalid input params for task " +
                                                  task_name(task_run) + ": " + problem};
  }
  if (const std::string problem = param_outside_enum(spec["params"], params); !problem.empty()) {
    return Refusal{"InvalidParamValue", user_error_prefix() + problem};
  }
  if (!values) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + values.error().message};
  }
  Replacements replacements = task_replacements(task_run, spec, *values);
  resolved.bindings = Value::list();
  const Value bindings = with_defaults(task_run, spec["workspaces"], settings.default_binding);
  resolved.claims = claims_of(task_run, bindings);
  const Value bound = with_claims(task_run, bindings);
  for (const Value& binding : bound.items()) {
    resolved.bindings.push_back(substitute_binding(binding, replacements));
  }
  if (const auto checked = check_bindings(spec["workspaces"], resolved.bindings); !checked) {
    return Refusal{"TaskRunValidationFailed", checked.error().message};
  }
  // Mount paths may hold variables, and other fields the mount paths.
  const Value paths =
      substitute_task_spec(Value::object({{"workspaces", spec["workspaces"]}}), replacements);
  // A step's own paths come before those of the task, and both after the params.
  const Value replaced = with_own_variables(
      with_own_variables(substitute_task_spec(merged_step_template(spec), replacements), "steps"),
      "sidecars");
  Replacements workspaces;
  workspaces.count_with(replacements);
  add_workspaces(workspaces, paths, resolved.bindings);
  for (std::size_t i = 0; i < resolved.bindings.size(); ++i) {
    resolved.bindings.item(i) = substitute_binding(resolved.bindings[i], workspaces);
  }
  resolved.spec = substitute_task_spec(replaced, workspaces);
  replacements.then(std::move(workspaces));
  resolved.pod_template = substitute_pod_template(task_run.spec()["podTemplate"], replacements);
  if (const std::string grown = replacements.exceeded(); !grown.empty()) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + grown};
  }
  if (const FieldErrors errors = validate_replaced_task(resolved.spec); !errors.empty()) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + errors.text()};
  }
  return resolved;
}

}  // namespace athanor::tekton
