// SPDX-License-Identifier: Apache-2.0
// The checks of definitions and runs at write time (docs/spec/tekton.md 5), by kind. Paths are
// relative to what is given.
#pragma once

#include "base/time.hpp"
#include "embedded/tekton/settings.hpp"
#include "embedded/tekton/validation/field_errors.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Whether the spec is alone or inside a run, where outer params and workspaces are visible.
enum class Place : unsigned char { StandAlone, Inline };

FieldErrors validate_pipeline_spec(const Value& spec, Place place, const Settings& settings);
FieldErrors validate_task_spec(const Value& spec, Place place, const Settings& settings);
FieldErrors validate_step_action_spec(const Value& spec, const Settings& settings);
// `old_object` is Null at creation.
FieldErrors validate_pipeline_run(const Value& object, const Value& old_object,
                                  const Settings& settings);
FieldErrors validate_task_run(const Value& object, const Value& old_object,
                              const Settings& settings);

// Shared by both runs.
FieldErrors validate_run_metadata(const Value& metadata);
FieldErrors validate_run_params(const Value& params);
FieldErrors validate_bindings(const Value& bindings, std::string_view provider);

}  // namespace athanor::tekton
