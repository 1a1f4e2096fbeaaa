// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/taskrun_resolve.hpp"

#include <map>
#include <utility>

#include "api/tekton.hpp"
#include "embedded/tekton/definitions.hpp"
#include "embedded/tekton/names.hpp"
#include "embedded/tekton/params.hpp"
#include "embedded/tekton/runs.hpp"
#include "embedded/tekton/substitute.hpp"
#include "embedded/tekton/taskrun/step_action.hpp"
#include "embedded/tekton/taskrun/step_template.hpp"
#include "embedded/tekton/taskrun/workspaces.hpp"
#include "embedded/tekton/text.hpp"

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
  if (!task) {
    return Refusal{"TaskRunResolutionFailed", "error when listing tasks for taskRun " +
                                                  std::string(task_run.name()) + ": " +
                                                  task.error().message};
  }
  resolved.labels = task->metadata()["labels"];
  resolved.annotations = task->metadata()["annotations"];
  return task->spec();
}

void add_workspaces(Replacements& replacements, const Value& spec, const Value& bindings) {
  for (const Value& declared : spec["workspaces"].items()) {
    const std::string name = declared["name"].str();
    const std::string prefix = "workspaces." + name + ".";
    const Value& binding = named(bindings, name);
    const bool bound = !binding.is_null();
    replacements.set(prefix + "bound", bound ? "true" : "false");
    replacements.set(prefix + "path", bound ? workspace_path(declared) : std::string());
    replacements.set(prefix + "claim", binding.at({"persistentVolumeClaim", "claimName"}).str());
    replacements.set(prefix + "volume", bound ? workspace_volume_name(name) : std::string());
  }
}

Replacements task_replacements(const Object& task_run, const Value& spec,
                               const std::map<std::string, Value>& values) {
  Replacements replacements = replacements_of(values);
  replacements.set("context.taskRun.name", task_run.name());
  replacements.set("context.taskRun.namespace", task_run.ns());
  replacements.set("context.taskRun.uid", task_run.uid());
  replacements.set("context.task.name", task_name(task_run));
  replacements.set("context.task.retry-count",
                   std::to_string(task_run.status()["retriesStatus"].size()));
  replacements.set("credentials.path", "/tekton/creds");
  for (const Value& result : spec["results"].items()) {
    const std::string name = result["name"].str();
    replacements.set("results." + name + ".path", "/tekton/results/" + name);
  }
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    const Value& step = spec["steps"][i];
    replacements.set("steps." + step_name(step, i) + ".exitCode.path",
                     "/tekton/steps/" + step_container(step, i) + "/exitCode");
  }
  return replacements;
}

// What only one step sees: paths of its own results and of workspaces it mounts elsewhere.
Value with_step_variables(Value spec) {
  if (!spec["steps"].is_list()) {
    return spec;
  }
  Value one = Value::object();
  Value& steps = spec.member("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Replacements replacements;
    for (const Value& result : steps[i]["results"].items()) {
      replacements.set(
          "step.results." + result["name"].str() + ".path",
          "/tekton/steps/" + step_container(steps[i], i) + "/results/" + result["name"].str());
    }
    for (const Value& workspace : steps[i]["workspaces"].items()) {
      if (!workspace["mountPath"].as_string().empty()) {
        replacements.set("workspaces." + workspace["name"].str() + ".path", workspace["mountPath"]);
      }
    }
    if (!replacements.empty()) {
      one.set("steps", Value::list({steps[i]}));
      steps.item(i) = substitute_task_spec(one, replacements)["steps"][0];
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

Result<ResolvedTask, Refusal> resolve_task(const View& view, const Object& task_run) {
  ResolvedTask resolved;
  auto found = found_spec(view, task_run, resolved);
  if (!found) {
    return found.error();
  }
  auto whole = with_step_actions(view, task_run.ns(), task_run.name(), *std::move(found));
  if (!whole) {
    return whole.error();
  }
  const Value spec = *std::move(whole);
  const Value& params = task_run.spec()["params"];
  if (const std::string problem = task_param_problem(spec["params"], params); !problem.empty()) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() +
                                                  "invalid input params for task " +
                                                  task_name(task_run) + ": " + problem};
  }
  if (const std::string problem = param_outside_enum(spec["params"], params); !problem.empty()) {
    return Refusal{"InvalidParamValue", user_error_prefix() + problem};
  }
  const auto values = param_values(spec["params"], params);
  if (!values) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + values.error().message};
  }
  Replacements replacements = task_replacements(task_run, spec, *values);
  resolved.bindings = Value::list();
  for (const Value& binding : task_run.spec()["workspaces"].items()) {
    resolved.bindings.push_back(substitute_binding(binding, replacements));
  }
  if (const auto bound = check_bindings(spec["workspaces"], resolved.bindings); !bound) {
    return Refusal{"TaskRunValidationFailed", bound.error().message};
  }
  // Mount paths may hold variables, and other fields the mount paths.
  const Value paths =
      substitute_task_spec(Value::object({{"workspaces", spec["workspaces"]}}), replacements);
  add_workspaces(replacements, paths, resolved.bindings);
  resolved.spec =
      substitute_task_spec(with_step_variables(merged_step_template(spec)), replacements);
  resolved.pod_template = substitute_pod_template(task_run.spec()["podTemplate"], replacements);
  return resolved;
}

}  // namespace athanor::tekton
