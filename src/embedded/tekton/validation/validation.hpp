// SPDX-License-Identifier: Apache-2.0
// The checks of definitions and runs at write time (docs/spec/tekton.md 5), by kind. Paths are
// relative to what is given.
#pragma once

#include "base/time.hpp"
#include "embedded/tekton/model/field_errors.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Whether the spec is alone or inside a run, where outer params and workspaces are visible.
enum class Place : unsigned char { StandAlone, Inline };

// Returns the errors of a Pipeline's spec.
FieldErrors validate_pipeline_spec(const Value& spec, Place place, const Settings& settings);
// Returns the errors of a Task's spec.
FieldErrors validate_task_spec(const Value& spec, Place place, const Settings& settings);
// Returns the errors of fields that held params at write time, in a spec with their values.
FieldErrors validate_replaced_pipeline(const Value& spec);
FieldErrors validate_replaced_task(const Value& spec);
// Returns the errors of a StepAction's spec.
FieldErrors validate_step_action_spec(const Value& spec, const Settings& settings);
// Returns the errors of a PipelineRun; `old_object` is Null at creation.
FieldErrors validate_pipeline_run(const Value& object, const Value& old_object,
                                  const Settings& settings);
// Returns the errors of a TaskRun.
FieldErrors validate_task_run(const Value& object, const Value& old_object,
                              const Settings& settings);

// Checks name and length of metadata.name; that of generateName passes.
FieldErrors validate_run_metadata(const Value& metadata);
// Checks that the names of params are unique.
FieldErrors validate_run_params(const Value& params);
// Checks workspace bindings: unique names, one source each. `provider` names who binds them in
// messages.
FieldErrors validate_bindings(const Value& bindings, std::string_view provider);

}  // namespace athanor::tekton
