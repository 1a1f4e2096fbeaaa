// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/step_action.hpp"

#include <string>
#include <utility>

#include "api/tekton.hpp"
#include "embedded/tekton/definitions.hpp"
#include "embedded/tekton/params.hpp"
#include "embedded/tekton/runs.hpp"
#include "embedded/tekton/substitute.hpp"
#include "embedded/tekton/text.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kTaken[] = {"image",        "command",    "args",
                                       "script",       "workingDir", "env",
                                       "volumeMounts", "results",    "securityContext"};

Result<Value, Refusal> replaced(const Value& step, const Value& action) {
  if (const std::string problem = task_param_problem(action["params"], step["params"]);
      !problem.empty()) {
    return Refusal{"TaskRunValidationFailed",
                   user_error_prefix() + "invalid input params for step " +
                       quoted(step["name"].as_string()) + ": " + problem};
  }
  const auto values = param_values(action["params"], step["params"]);
  if (!values) {
    return Refusal{"TaskRunValidationFailed", user_error_prefix() + values.error().message};
  }
  const Replacements replacements = replacements_of(*values);
  Value result = step;
  for (const std::string_view field : kTaken) {
    if (const Value* value = action.find(field)) {
      result.set(field, substitute_all(*value, replacements));
    }
  }
  result.erase("ref");
  result.erase("params");
  return result;
}

}  // namespace

Result<Value, Refusal> with_step_actions(const View& view, std::string_view ns,
                                         std::string_view task_run, Value task_spec) {
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    const Value step = task_spec["steps"][i];
    if (!step["ref"].is_object()) {
      continue;
    }
    const auto action = find_definition(view, api::kStepAction, step["ref"], ns);
    if (!action) {
      return Refusal{"TaskRunResolutionFailed", "error when listing tasks for taskRun " +
                                                    std::string(task_run) + ": " +
                                                    action.error().message};
    }
    ATHANOR_TRY(Value whole, replaced(step, action->spec()));
    task_spec.member("steps").item(i) = std::move(whole);
  }
  return task_spec;
}

}  // namespace athanor::tekton
