// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/step_action.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/tekton.hpp"
#include "embedded/tekton/model/definitions.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kTaken[] = {"image",        "command",    "args",
                                       "script",       "workingDir", "env",
                                       "volumeMounts", "results",    "securityContext"};

// Returns "steps.<s>.results.<r>" for a value that is a whole list or object of an earlier step.
std::optional<std::string> whole_step_result(const Value& value) {
  constexpr std::string_view kWhole = "[*]";
  const auto variable = only_variable(value.as_string());
  if (!variable || !variable->starts_with("steps.") || !variable->ends_with(kWhole)) {
    return std::nullopt;
  }
  return std::string(variable->substr(0, variable->size() - kWhole.size()));
}

// Returns the params of the step as they are checked: a whole result counts as of the declared
// type.
Value assumed_types(const Value& specs, const Value& params) {
  Value assumed = params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Value& spec = named(specs, params[i]["name"].as_string());
    if (!whole_step_result(params[i]["value"]) || spec.is_null()) {
      continue;
    }
    if (declared_type(spec) == "array") {
      assumed.item(i).set("value", Value::list());
    } else if (declared_type(spec) == "object") {
      assumed.item(i).set("value", spec["properties"]);
    }
  }
  return assumed;
}

// Lets every use of a param in the action name the result that is its value: "params.p[0]" becomes
// "$(steps.s.results.r[0])", which the node replaces when the step starts.
void set_result_param(Replacements& replacements, const Value& tree, const std::string& name,
                      const std::string& result) {
  const std::string param = "params." + name;
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      const std::string used = dotted(variable.name);
      const std::string_view rest =
          std::string_view(used).substr(std::min(param.size(), used.size()));
      if (used.starts_with(param) && (rest.starts_with('[') || rest.starts_with('.'))) {
        replacements.set(used, "$(" + result + std::string(rest) + ")");
      }
    }
  }
  for (const Value& item : tree.items()) {
    set_result_param(replacements, item, name, result);
  }
  for (const Member& member : tree.members()) {
    set_result_param(replacements, member.value, name, result);
  }
}

Value substituted_params(Value params, const Replacements& replacements) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    params.item(i).set("value", substitute_param(params[i]["value"], replacements));
  }
  return params;
}

Result<Value, Refusal> replaced(const Value& step, const Value& action,
                                const Replacements& task_params) {
  const Value params = substituted_params(step["params"], task_params);
  if (const std::string problem =
          task_param_problem(action["params"], assumed_types(action["params"], params));
      !problem.empty()) {
    return Refusal{"TaskRunValidationFailed",
                   user_error_prefix() + "invalid input params for step " +
                       quoted(step["name"].as_string()) + ": " + problem};
  }
  const auto values = param_values(action["params"], params);
  if (!values) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + values.error().message};
  }
  Replacements replacements = replacements_of(*values);
  replacements.count_with(task_params);
  for (const Value& param : params.items()) {
    if (const auto result = whole_step_result(param["value"])) {
      set_result_param(replacements, action, param["name"].str(), *result);
    }
  }
  Value result = step;
  for (const std::string_view field : kTaken) {
    if (const Value* value = action.find(field)) {
      result.set(field, substitute_all(*value, replacements));
    }
  }
  if (const std::string grown = task_params.exceeded(); !grown.empty()) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + grown};
  }
  result.erase("ref");
  result.erase("params");
  return result;
}

}  // namespace

Result<Value, Refusal> with_step_actions(const View& view, const Object& task_run, Value task_spec,
                                         const Replacements& task_params) {
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    const Value step = task_spec["steps"][i];
    if (!step["ref"].is_object()) {
      continue;
    }
    const auto action = find_definition(view, api::kStepAction, step["ref"], task_run.ns());
    if (!action && is_awaited(action.error())) {
      return awaited_refusal("ResolvingStepActionRef", task_run);
    }
    if (!action) {
      return Refusal{"TaskRunResolutionFailed", "error when listing tasks for taskRun " +
                                                    std::string(task_run.name()) + ": " +
                                                    action.error().message};
    }
    ATHANOR_TRY(Value whole, replaced(step, action->object.spec(), task_params));
    task_spec.member("steps").item(i) = std::move(whole);
  }
  return task_spec;
}

}  // namespace athanor::tekton
