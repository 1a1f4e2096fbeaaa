// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/conversion.hpp"

#include <cstdint>
#include <utility>

#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kOld = "tekton.dev/v1beta1";
constexpr std::string_view kNew = "tekton.dev/v1";

enum class Way : std::uint8_t { ToNew, ToOld };

void rename(Value& object, std::string_view from, std::string_view to) {
  if (!object.is_object() || !object.contains(from)) {
    return;
  }
  Value value = object[from];
  object.erase(from);
  object.set(to, std::move(value));
}

// A field with a name of its own in each version.
void rename(Value& object, std::string_view old_name, std::string_view new_name, Way way) {
  if (way == Way::ToNew) {
    rename(object, old_name, new_name);
  } else {
    rename(object, new_name, old_name);
  }
}

template <class Change>
void in_object(Value& holder, std::string_view name, Change change) {
  if (holder[name].is_object()) {
    change(holder.member(name));
  }
}

template <class Change>
void in_list(Value& holder, std::string_view name, Change change) {
  if (!holder[name].is_list()) {
    return;
  }
  Value& items = holder.member(name);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_object()) {
      change(items.item(i));
    }
  }
}

void convert_resources(Value& container, Way way) {
  rename(container, "resources", "computeResources", way);
}

// PipelineResources have no field in v1: an annotation keeps them, as in Tekton.
void keep_resources(Value& object, Way way) {
  if (way == Way::ToNew) {
    const Value kept = object["spec"]["resources"];
    if (!kept.is_null()) {
      object.member("spec").erase("resources");
      object.set_path({"metadata", "annotations", kOldResources}, json::print(kept));
    }
    return;
  }
  const Value text = object["metadata"]["annotations"][kOldResources];
  if (auto kept = json::parse(text.as_string()); kept && object["spec"].is_object()) {
    object.member("spec").set("resources", *std::move(kept));
    Value& metadata = object.member("metadata");
    metadata.member("annotations").erase(kOldResources);
    if (metadata["annotations"].empty()) {
      metadata.erase("annotations");
    }
  }
}

// A reference to a bundle is one to the resolver of bundles.
void convert_ref(Value& holder, std::string_view field, std::string_view kind, Way way) {
  const Value ref = holder[field];
  const std::string_view bundle = ref["bundle"].as_string();
  if (way == Way::ToOld || bundle.empty()) {
    return;
  }
  const auto param = [](std::string_view name, std::string_view value) {
    return Value::object({{"name", name}, {"value", value}});
  };
  holder.set(field, Value::object({{"resolver", "bundles"},
                                   {"params", Value::list({param("bundle", bundle),
                                                           param("name", ref["name"].as_string()),
                                                           param("kind", kind)})}}));
}

void convert_task_spec(Value& spec, Way way) {
  const auto resources = [way](Value& container) { convert_resources(container, way); };
  in_list(spec, "steps", resources);
  in_list(spec, "sidecars", resources);
  in_object(spec, "stepTemplate", resources);
}

void convert_pipeline_spec(Value& spec, Way way) {
  for (const std::string_view part : {"tasks", "finally"}) {
    in_list(spec, part, [way](Value& task) {
      convert_ref(task, "taskRef", "task", way);
      in_object(task, "taskSpec", [way](Value& inner) { convert_task_spec(inner, way); });
      convert_ref(task, "pipelineRef", "pipeline", way);
      in_object(task, "pipelineSpec", [way](Value& inner) { convert_pipeline_spec(inner, way); });
    });
  }
}

// Resources of single steps and sidecars of a run.
void convert_overrides(Value& spec, Way way) {
  rename(spec, "stepOverrides", "stepSpecs", way);
  rename(spec, "sidecarOverrides", "sidecarSpecs", way);
  const std::string_view steps = way == Way::ToNew ? "stepSpecs" : "stepOverrides";
  const std::string_view sidecars = way == Way::ToNew ? "sidecarSpecs" : "sidecarOverrides";
  const auto resources = [way](Value& one) { convert_resources(one, way); };
  in_list(spec, steps, resources);
  in_list(spec, sidecars, resources);
}

// The account and the pod settings of every task: v1 keeps them in taskRunTemplate.
void convert_template(Value& spec, Way way) {
  constexpr std::string_view kFields[] = {"serviceAccountName", "podTemplate"};
  const Value& holder = spec["taskRunTemplate"];
  if (!holder.is_null() && !holder.is_object()) {
    return;
  }
  if (way == Way::ToNew) {
    for (const std::string_view field : kFields) {
      if (const Value* value = spec.find(field)) {
        spec.set_path({"taskRunTemplate", field}, Value(*value));
        spec.erase(field);
      }
    }
    return;
  }
  const Value shared = spec["taskRunTemplate"];
  for (const std::string_view field : kFields) {
    if (const Value* value = shared.find(field)) {
      spec.set(field, *value);
    }
  }
  spec.erase("taskRunTemplate");
}

Result<void> convert_timeout(Value& spec) {
  const Value* timeout = spec.find("timeout");
  if (timeout == nullptr) {
    return {};
  }
  const Value& timeouts = spec["timeouts"];
  if (!timeouts.empty()) {
    return Error::bad_request(
        "validation failed: expected exactly one, got both: spec.timeout, spec.timeouts");
  }
  if (timeouts.is_null() || timeouts.is_object()) {
    spec.set_path({"timeouts", "pipeline"}, Value(*timeout));
    spec.erase("timeout");
  }
  return {};
}

Result<void> convert_pipeline_run(Value& object, Way way) {
  if (object["spec"].is_object()) {
    Value& spec = object.member("spec");
    if (way == Way::ToNew) {
      ATHANOR_TRY_VOID(convert_timeout(spec));
    }
    convert_template(spec, way);
    convert_ref(spec, "pipelineRef", "pipeline", way);
    in_object(spec, "pipelineSpec", [way](Value& inner) { convert_pipeline_spec(inner, way); });
    in_list(spec, "taskRunSpecs", [way](Value& one) {
      rename(one, "taskServiceAccountName", "serviceAccountName", way);
      rename(one, "taskPodTemplate", "podTemplate", way);
      convert_overrides(one, way);
    });
  }
  in_object(object, "status", [way](Value& status) {
    rename(status, "pipelineResults", "results", way);
    in_object(status, "pipelineSpec", [way](Value& inner) { convert_pipeline_spec(inner, way); });
  });
  return {};
}

void convert_task_run_status(Value& status, Way way) {
  rename(status, "taskResults", "results", way);
  in_object(status, "taskSpec", [way](Value& inner) { convert_task_spec(inner, way); });
  in_list(status, "retriesStatus", [way](Value& one) {
    rename(one, "taskResults", "results", way);
    in_object(one, "taskSpec", [way](Value& inner) { convert_task_spec(inner, way); });
  });
}

void convert_task_run(Value& object, Way way) {
  in_object(object, "spec", [way](Value& spec) {
    convert_overrides(spec, way);
    convert_ref(spec, "taskRef", "task", way);
    in_object(spec, "taskSpec", [way](Value& inner) { convert_task_spec(inner, way); });
  });
  in_object(object, "status", [way](Value& status) { convert_task_run_status(status, way); });
}

}  // namespace

Result<Value> convert(const Value& object, std::string_view to_version) {
  Value result = object;
  result.set("apiVersion", to_version);
  const std::string_view from = object["apiVersion"].as_string();
  const bool known = (from == kOld && to_version == kNew) || (from == kNew && to_version == kOld);
  if (!known) {
    return result;
  }
  const Way way = to_version == kNew ? Way::ToNew : Way::ToOld;
  keep_resources(result, way);
  const std::string_view kind = object["kind"].as_string();
  if (kind == "PipelineRun") {
    ATHANOR_TRY_VOID(convert_pipeline_run(result, way));
  } else if (kind == "TaskRun") {
    convert_task_run(result, way);
  } else if (kind == "Pipeline") {
    in_object(result, "spec", [way](Value& spec) { convert_pipeline_spec(spec, way); });
  } else if (kind == "Task") {
    in_object(result, "spec", [way](Value& spec) { convert_task_spec(spec, way); });
  }
  return result;
}

}  // namespace athanor::tekton
