// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/step_template.hpp"

#include "embedded/tekton/model/runs.hpp"

namespace athanor::tekton {
namespace {

Value merged(const Value& under, const Value& over) {
  if (!under.is_object() || !over.is_object()) {
    return over;
  }
  Value result = under;
  for (const Member& member : over.members()) {
    const Value& below = under[member.key()];
    if (member.key() == "env") {
      result.set("env", merged_named(below, member.value));
    } else if (member.key() == "volumeMounts") {
      result.set("volumeMounts", merged_named(below, member.value, "mountPath"));
    } else {
      result.set(member.key(), merged(below, member.value));
    }
  }
  return result;
}

}  // namespace

Value merged_step_template(Value task_spec) {
  const Value pattern = task_spec["stepTemplate"];
  if (!pattern.is_object() || !task_spec["steps"].is_list()) {
    return task_spec;
  }
  Value& steps = task_spec.member("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Value step = merged(pattern, steps[i]);
    // A step with a program of its own does not want the template's other half of one.
    if (steps[i].contains("script")) {
      step.erase("command");
    }
    steps.item(i) = std::move(step);
  }
  return task_spec;
}

}  // namespace athanor::tekton
