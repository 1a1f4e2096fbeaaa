// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/validation/validation_references.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

// Calls with every variable of a pipeline task's params, matrix and when, its path, and the text it
// is in.
using Visitor =
    std::function<void(std::string_view variable, const std::string& path, std::string_view text)>;

void visit_text(const Value& tree, const std::string& path, const Visitor& visit) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      visit(variable.name, path, tree.as_string());
    }
  }
  for (const Value& item : tree.items()) {
    visit_text(item, path, visit);
  }
  for (const Member& member : tree.members()) {
    visit_text(member.value, path, visit);
  }
}

void visit_variables(const Value& task, const Visitor& visit) {
  for (const Value& param : task["params"].items()) {
    visit_text(param["value"], at("params", param["name"].as_string()) + ".value", visit);
  }
  for (const Value& param : task["matrix"]["params"].items()) {
    visit_text(param["value"], "matrix." + at("params", param["name"].as_string()) + ".value",
               visit);
  }
  for (std::size_t i = 0; i < task["when"].size(); ++i) {
    visit_text(task["when"][i], at("when", i), visit);
  }
}

// "tasks.status", "tasks.<t>.status" or "tasks.<t>.reason": the task, or "" for the aggregate;
// nullopt for others.
std::optional<std::string> status_of(std::string_view variable) {
  if (variable == "tasks.status") {
    return std::string();
  }
  if (!variable.starts_with("tasks.")) {
    return std::nullopt;
  }
  for (const std::string_view end : {".status", ".reason"}) {
    if (variable.ends_with(end) && variable.size() > 6 + end.size()) {
      const std::string_view task = variable.substr(6, variable.size() - 6 - end.size());
      if (task.find('.') == std::string_view::npos) {
        return std::string(task);
      }
    }
  }
  return std::nullopt;
}

FieldErrors check_final_task(const Value& pipeline, const Value& task) {
  FieldErrors errors;
  if (!task["runAfter"].empty()) {
    errors.invalid("no runAfter allowed under spec.finally, final task " + task["name"].str() +
                       " has runAfter specified",
                   "");
  }
  visit_variables(task, [&](std::string_view variable, const std::string& path, std::string_view) {
    if (const auto ref = parse_result_ref(variable)) {
      if (!named(pipeline["finally"], ref->task).is_null()) {
        errors.invalid(
            "invalid task result reference, final task has task result reference from "
            "a final task " +
                ref->task,
            path);
      } else if (named(pipeline["tasks"], ref->task).is_null()) {
        errors.invalid(
            "invalid task result reference, final task has task result reference from "
            "a task " +
                ref->task + " which is not defined in the pipeline",
            path);
      }
    }
    if (const auto other = status_of(variable);
        other && !other->empty() && named(pipeline["tasks"], *other).is_null()) {
      errors.invalid("pipeline task " + *other + " is not defined in the pipeline", path);
    }
  });
  return errors;
}

}  // namespace

FieldErrors validate_task_references(const Value& pipeline) {
  FieldErrors errors;
  for (const std::string_view part : {"tasks", "finally"}) {
    for (std::size_t i = 0; i < pipeline[part].size(); ++i) {
      for (const MatrixLengthRef& ref : matrix_length_refs(pipeline[part][i])) {
        if (!named(pipeline["tasks"], ref.task)["matrix"].is_object()) {
          errors.invalid("$(" + ref.variable + ") refers to pipeline task " + quoted(ref.task) +
                             ", which has no matrix",
                         at(part, i));
        }
      }
    }
  }
  for (std::size_t i = 0; i < pipeline["tasks"].size(); ++i) {
    FieldErrors found;
    visit_variables(pipeline["tasks"][i], [&](std::string_view variable, const std::string& path,
                                              std::string_view) {
      if (status_of(variable)) {
        found.invalid(
            "pipeline tasks can not refer to execution status of any other pipeline task "
            "or aggregate status of tasks",
            path);
      }
    });
    errors.merge(std::move(found), at("tasks", i));
  }
  for (std::size_t i = 0; i < pipeline["finally"].size(); ++i) {
    errors.merge(check_final_task(pipeline, pipeline["finally"][i]), at("finally", i));
  }
  return errors;
}

FieldErrors validate_pipeline_results(const Value& pipeline) {
  FieldErrors errors;
  for (std::size_t i = 0; i < pipeline["results"].size(); ++i) {
    const std::string path = at("results", i) + ".value";
    bool any = false;
    bool invalid = false;
    bool unknown = false;
    visit_text(pipeline["results"][i]["value"], path,
               [&](std::string_view variable, const std::string&, std::string_view) {
                 any = true;
                 const auto of_task = parse_result_ref(variable);
                 const auto of_final = parse_result_ref(variable, "finally");
                 if (of_task) {
                   unknown = unknown || named(pipeline["tasks"], of_task->task).is_null();
                 } else if (of_final) {
                   unknown = unknown || named(pipeline["finally"], of_final->task).is_null();
                 } else {
                   invalid = true;
                 }
               });
    if (!any) {
      errors.invalid(
          "expected pipeline results to be task result expressions but no expressions were found",
          path);
    } else if (invalid) {
      errors.invalid(
          "expected pipeline results to be task result expressions but an invalid "
          "expressions was found",
          path);
    } else if (unknown) {
      errors.invalid("referencing a nonexistent task", path);
    }
  }
  return errors;
}

FieldErrors validate_context_variables(const Value& task) {
  static constexpr std::string_view kKnown[] = {
      "context.pipelineRun.name", "context.pipelineRun.namespace", "context.pipelineRun.uid",
      "context.pipeline.name", "context.pipelineTask.retries"};
  FieldErrors errors;
  visit_variables(task, [&](std::string_view variable, const std::string& path,
                            std::string_view text) {
    const bool context = variable.starts_with("context.pipeline");
    if (context && std::find(std::begin(kKnown), std::end(kKnown), variable) == std::end(kKnown)) {
      errors.add("non-existent variable in " + quoted(text), {path});
    }
  });
  return errors;
}

}  // namespace athanor::tekton
