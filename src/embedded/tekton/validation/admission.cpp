// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/validation/admission.hpp"

#include <string>
#include <utility>
#include <vector>

#include "embedded/tekton/model/go_names.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/validation/validation.hpp"

namespace athanor::tekton {
namespace {

bool is_tekton(const Value& object) {
  return object["apiVersion"].as_string().starts_with("tekton.dev/");
}

// The member as an object to be changed, made when it is absent; nullptr when it is of another
// type: such a member stays as it is, for the schema to refuse.
Value* object_member(Value& holder, std::string_view name) {
  const Value& present = holder[name];
  const bool fits = holder.is_object() && (present.is_null() || present.is_object());
  return fits ? &holder.member(name) : nullptr;
}

// Durations are kept as Go prints them: 90m becomes 1h30m0s.
void normalise(Value& holder, std::string_view field) {
  if (const auto duration = duration_of(holder[field])) {
    holder.set(field, format_go_duration(*duration));
  }
}

// Calls with every object of a list member, to be changed in place.
template <class Change>
void each(Value& holder, std::string_view list, Change change) {
  if (!holder[list].is_list()) {
    return;
  }
  Value& items = holder.member(list);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_object()) {
      change(items.item(i));
    }
  }
}

void read_params(Value& holder) {
  each(holder, "params", [](Value& param) { read_param_value(param, "value"); });
}

void read_ref_params(Value& holder, std::string_view ref) {
  if (holder[ref].is_object()) {
    read_params(holder.member(ref));
  }
}

void read_matrix(Value& task) {
  if (task["matrix"].is_object()) {
    Value& matrix = task.member("matrix");
    read_params(matrix);
    each(matrix, "include", read_params);
  }
}

void default_param_specs(Value& spec) {
  each(spec, "params", [](Value& param) {
    read_param_value(param, "default");
    param.set("type", declared_type(param));
    if (!param["properties"].is_object()) {
      return;
    }
    Value& properties = param.member("properties");
    std::vector<std::string> keys;
    for (const Member& member : properties.members()) {
      keys.emplace_back(member.key());
    }
    for (const std::string& key : keys) {
      Value* property = object_member(properties, key);
      if (property != nullptr && (*property)["type"].as_string().empty()) {
        property->set("type", "string");
      }
    }
  });
}

void default_task_spec(Value& spec) {
  default_param_specs(spec);
  each(spec, "results", [](Value& result) {
    if (result["type"].as_string().empty()) {
      result.set("type", result.contains("properties") ? "object" : "string");
    }
  });
  each(spec, "steps", [](Value& step) {
    normalise(step, "timeout");
    read_params(step);
    read_ref_params(step, "ref");
  });
}

bool is_unnamed(const Value& ref) {
  return ref["name"].as_string().empty() && ref["resolver"].as_string().empty();
}

// A reference that names nothing uses ConfigMap config-defaults' default-resolver-type.
void default_resolver(Value& holder, std::string_view ref, const Settings& settings) {
  if (!settings.default_resolver.empty() && holder[ref].is_object() && is_unnamed(holder[ref])) {
    holder.member(ref).set("resolver", settings.default_resolver);
  }
}

void default_task_ref(Value& holder, const Settings& settings) {
  if (!holder["taskRef"].is_object()) {
    return;
  }
  read_ref_params(holder, "taskRef");
  default_resolver(holder, "taskRef", settings);
  const Value& ref = holder["taskRef"];
  if (ref["kind"].as_string().empty() && ref["resolver"].as_string().empty()) {
    holder.member("taskRef").set("kind", "Task");
  }
}

void default_pipeline_spec(Value& spec, const Settings& settings) {
  default_param_specs(spec);
  for (const std::string_view part : {"tasks", "finally"}) {
    each(spec, part, [&settings](Value& task) {
      read_params(task);
      read_matrix(task);
      default_task_ref(task, settings);
      read_ref_params(task, "pipelineRef");
      default_resolver(task, "pipelineRef", settings);
      normalise(task, "timeout");
      if (task["pipelineSpec"].is_object()) {
        default_pipeline_spec(task.member("pipelineSpec"), settings);
      }
      if (task["taskSpec"].is_object()) {
        default_task_spec(task.member("taskSpec"));
      }
    });
  }
}

void default_pod_template(Value& holder, const Settings& settings) {
  const Value& own = holder["podTemplate"];
  if (!settings.default_pod_template.empty() && (own.is_null() || own.is_object())) {
    holder.set("podTemplate", merged_pod_templates(settings.default_pod_template, own));
  }
}

void default_timeouts(Value& spec, const Settings& settings) {
  Value* timeouts = object_member(spec, "timeouts");
  if (timeouts == nullptr) {
    return;
  }
  for (const std::string_view field : {"pipeline", "tasks", "finally"}) {
    normalise(*timeouts, field);
  }
  const Value& pipeline = (*timeouts)["pipeline"];
  if (pipeline.is_null() || (pipeline.is_string() && pipeline.as_string().empty())) {
    timeouts->set("pipeline", format_go_duration(settings.default_timeout));
  }
}

// Sets a text that is absent or empty; a value of another type stays.
void default_text(Value& holder, std::string_view field, std::string_view text) {
  const Value& present = holder[field];
  if (present.is_null() || (present.is_string() && present.as_string().empty())) {
    holder.set(field, text);
  }
}

void default_pipeline_run(Value& object, const Settings& settings) {
  Value* spec = object_member(object, "spec");
  if (spec == nullptr) {
    return;
  }
  read_params(*spec);
  read_ref_params(*spec, "pipelineRef");
  default_resolver(*spec, "pipelineRef", settings);
  default_timeouts(*spec, settings);
  if (Value* shared = object_member(*spec, "taskRunTemplate")) {
    default_text(*shared, "serviceAccountName", settings.default_service_account);
    default_pod_template(*shared, settings);
  }
  each(*spec, "taskRunSpecs", [](Value& one) { normalise(one, "timeout"); });
  if ((*spec)["pipelineSpec"].is_object()) {
    default_pipeline_spec(spec->member("pipelineSpec"), settings);
  }
}

void default_managed_by(Value& object, const Settings& settings) {
  Value* metadata = object_member(object, "metadata");
  Value* labels = metadata == nullptr ? nullptr : object_member(*metadata, "labels");
  if (labels != nullptr && !labels->contains(kManagedByLabel)) {
    labels->set(kManagedByLabel, settings.managed_by);
  }
}

void default_task_run(Value& object, const Settings& settings) {
  default_managed_by(object, settings);
  Value* spec = object_member(object, "spec");
  if (spec == nullptr) {
    return;
  }
  read_params(*spec);
  normalise(*spec, "timeout");
  default_text(*spec, "timeout", format_go_duration(settings.default_timeout));
  default_text(*spec, "serviceAccountName", settings.default_service_account);
  default_pod_template(*spec, settings);
  default_task_ref(*spec, settings);
  if ((*spec)["taskSpec"].is_object()) {
    default_task_spec(spec->member("taskSpec"));
  }
}

// Annotations that only the signer may write.
void drop_chains_annotations(Value& object) {
  const Value annotations = object["metadata"]["annotations"];
  for (const Member& member : annotations.members()) {
    if (member.key().find("chains.tekton.dev/") != std::string_view::npos) {
      object.member("metadata").member("annotations").erase(member.key());
    }
  }
}

FieldErrors errors_of(const Value& object, const Value& old_object, const Settings& settings) {
  const std::string_view kind = object["kind"].as_string();
  if (kind == "PipelineRun") {
    return validate_pipeline_run(object, old_object, settings);
  }
  if (kind == "TaskRun") {
    return validate_task_run(object, old_object, settings);
  }
  FieldErrors errors;
  if (kind == "Pipeline" || kind == "Task" || kind == "StepAction") {
    errors = validate_run_metadata(object["metadata"]);
  }
  if (kind == "Pipeline") {
    errors.merge(validate_pipeline_spec(object["spec"], Place::StandAlone, settings), "spec");
  } else if (kind == "Task") {
    errors.merge(validate_task_spec(object["spec"], Place::StandAlone, settings), "spec");
  } else if (kind == "StepAction") {
    errors.merge(validate_step_action_spec(object["spec"], settings), "spec");
  }
  return errors;
}

}  // namespace

void apply_defaults(Value& object, WriteKind write, const Settings& settings) {
  if (!is_tekton(object)) {
    return;
  }
  const std::string_view kind = object["kind"].as_string();
  if (object["spec"].is_object()) {
    use_declared_names(object.member("spec"));
  }
  const bool run = kind == "PipelineRun" || kind == "TaskRun";
  if (run && write == WriteKind::Create) {
    drop_chains_annotations(object);
  }
  if (kind == "PipelineRun") {
    default_pipeline_run(object, settings);
  } else if (kind == "TaskRun") {
    default_task_run(object, settings);
  } else if (kind == "Pipeline" && object["spec"].is_object()) {
    default_pipeline_spec(object.member("spec"), settings);
  } else if (kind == "Task" && object["spec"].is_object()) {
    default_task_spec(object.member("spec"));
  } else if (kind == "StepAction" && object["spec"].is_object()) {
    default_param_specs(object.member("spec"));
  }
}

std::optional<Error> validate(const Value& object, const Value* old_object,
                              const Settings& settings) {
  if (!is_tekton(object)) {
    return std::nullopt;
  }
  const FieldErrors errors =
      errors_of(object, old_object == nullptr ? Value() : *old_object, settings);
  if (errors.empty()) {
    return std::nullopt;
  }
  return Error::bad_request(
      "admission webhook \"validation.webhook.pipeline.tekton.dev\" denied the request: "
      "validation failed: " +
      errors.text());
}

}  // namespace athanor::tekton
