// SPDX-License-Identifier: Apache-2.0
// PipelineRun and TaskRun (docs/spec/tekton.md 5.1, 5.4).
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedded/tekton/model/graph.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/validation/validation.hpp"
#include "embedded/tekton/validation/validation_shared.hpp"

namespace athanor::tekton {
namespace {

constexpr std::size_t kMaxName = 63;

struct Source {
  std::string_view field{};     // in the binding
  std::string_view shown{};     // in messages
  std::string_view required{};  // member that must not be empty
};
constexpr Source kSources[] = {
    {"configMap", "configmap", "name"},
    {"emptyDir", "emptydir", ""},
    {"persistentVolumeClaim", "persistentvolumeclaim", "claimName"},
    {"secret", "secret", "secretName"},
    {"volumeClaimTemplate", "volumeclaimtemplate", ""},
    {"projected", "projected", "sources"},
    {"csi", "csi", "driver"},
};

FieldErrors check_source(const Value& binding) {
  FieldErrors errors;
  std::vector<std::string> shown;
  int given = 0;
  for (const Source& source : kSources) {
    if (source.field != "projected" && source.field != "csi") {
      shown.emplace_back(source.shown);
    }
    const Value& value = binding[source.field];
    if (!value.is_object()) {
      continue;
    }
    ++given;
    if (!source.required.empty() && value[source.required].as_string().empty() &&
        value[source.required].empty()) {
      // Tekton's own spelling of this one field.
      const std::string_view member =
          source.field == "persistentVolumeClaim" ? "claimname" : source.required;
      errors.missing(std::string(source.shown) + "." + std::string(member));
    }
  }
  if (given == 0) {
    errors.got_neither(shown);
  } else if (given > 1) {
    errors.got_both(shown);
  }
  return errors;
}

// The five timeout rules of a PipelineRun.
void check_timeouts(const Value& timeouts, const Settings& settings, FieldErrors& errors) {
  for (const std::string_view field : {"pipeline", "tasks", "finally"}) {
    const auto given = duration_of(timeouts[field]);
    if (!given && !timeouts[field].as_string().empty()) {
      errors.invalid(timeouts[field].as_string(), "spec.timeouts." + std::string(field));
    } else if (given && *given < Duration::zero()) {
      errors.invalid(format_go_duration(*given) + " should be >= 0",
                     "spec.timeouts." + std::string(field));
    }
  }
  const auto pipeline = duration_of(timeouts["pipeline"]);
  const Duration limit = pipeline.value_or(settings.default_timeout);
  const std::string what = pipeline ? "pipeline duration" : "default timeout duration";
  const auto tasks = duration_of(timeouts["tasks"]);
  const auto finally = duration_of(timeouts["finally"]);
  if (limit == Duration::zero()) {
    return;
  }
  for (const auto& [field, given] : {std::pair{"tasks", tasks}, std::pair{"finally", finally}}) {
    if (given && *given > limit) {
      errors.invalid(format_go_duration(*given) + " should be <= " + what,
                     "spec.timeouts." + std::string(field));
    } else if (given && *given == Duration::zero()) {
      errors.invalid("0s (no timeout) should be <= " + what, "spec.timeouts." + std::string(field));
    }
  }
  if (tasks && finally && *tasks <= limit && *finally <= limit && *tasks + *finally > limit) {
    errors.add("invalid value: " + format_go_duration(*tasks) + " + " +
                   format_go_duration(*finally) + " should be <= " + what,
               {"spec.timeouts.finally", "spec.timeouts.tasks"});
  }
}

void check_pipeline_run_status(const Value& object, FieldErrors& errors) {
  const std::string_view status = object["spec"]["status"].as_string();
  if (status.empty() || status == "Cancelled" || status == "CancelledRunFinally" ||
      status == "StoppedRunFinally") {
    return;
  }
  if (status != "PipelineRunPending") {
    errors.invalid(std::string(status) +
                       " should be Cancelled, CancelledRunFinally, StoppedRunFinally or "
                       "PipelineRunPending",
                   "spec.status");
  } else if (!object["status"]["startTime"].is_null()) {
    errors.invalid("PipelineRun cannot be Pending after it is started", "spec.status");
  }
}

// A spec without the fields that may change while it runs.
Value frozen(Value spec, std::initializer_list<std::string_view> changeable) {
  for (const std::string_view field : changeable) {
    spec.erase(field);
  }
  return spec;
}

void check_update(const Value& object, const Value& old_object, std::string_view kind,
                  FieldErrors& errors) {
  const Value& now = object["spec"];
  const Value& before = old_object["spec"];
  if (now["managedBy"] != before["managedBy"]) {
    errors.invalid("managedBy is immutable", "spec.spec.managedBy");
  }
  if (is_done(Object(old_object))) {
    if (now != before) {
      errors.invalid("Once the " + std::string(kind) + " is complete, no updates are allowed",
                     "spec");
    }
    return;
  }
  const bool task_run = kind == "TaskRun";
  const Value old_frozen = task_run ? frozen(before, {"status", "statusMessage", "managedBy"})
                                    : frozen(before, {"status", "managedBy"});
  const Value new_frozen = task_run ? frozen(now, {"status", "statusMessage", "managedBy"})
                                    : frozen(now, {"status", "managedBy"});
  if (old_frozen != new_frozen) {
    errors.invalid("Once the " + std::string(kind) + " has started, only status" +
                       (task_run ? " and statusMessage" : "") + " updates are allowed",
                   "spec");
  }
}

void check_one_of(const Value& spec, std::string_view ref, std::string_view inline_spec,
                  FieldErrors& errors) {
  const std::vector<std::string> paths = {"spec." + std::string(ref),
                                          "spec." + std::string(inline_spec)};
  const bool has_ref = spec[ref].is_object();
  const bool has_spec = spec[inline_spec].is_object();
  if (!has_ref && !has_spec) {
    errors.got_neither(paths);
  } else if (has_ref && has_spec) {
    errors.got_both(paths);
  } else if (has_ref && spec[ref]["name"].as_string().empty() &&
             spec[ref]["resolver"].as_string().empty()) {
    errors.missing("spec." + std::string(ref) + ".name");
  }
}

void check_result_expressions(const Value& params, FieldErrors& errors) {
  for (const Value& param : params.items()) {
    std::vector<std::string> expressions;
    for (const ResultRef& ref : result_refs(param["value"])) {
      expressions.push_back(ref.variable);
    }
    if (!expressions.empty()) {
      errors.invalid("cannot use result expressions in " + go_list(expressions) +
                         " as PipelineRun parameter values",
                     "spec." + at("params", param["name"].as_string()) + ".value");
    }
  }
}

}  // namespace

FieldErrors validate_run_metadata(const Value& metadata) {
  FieldErrors errors;
  const std::string_view name = metadata["name"].as_string();
  if (name.empty()) {
    return errors;  // made from generateName
  }
  if (!is_dns_subdomain(name)) {
    errors.add("invalid resource name " + quoted(name) + ": must be a valid DNS label",
               {"metadata.name"});
  }
  if (name.size() > kMaxName) {
    errors.add("Invalid resource name: length must be no more than 63 characters",
               {"metadata.name"});
  }
  return errors;
}

FieldErrors validate_run_params(const Value& params) {
  FieldErrors errors;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::string name = params[i]["name"].str();
    if (!seen.emplace(name, i).second) {
      errors.add(
          "parameter names must be unique, the parameter " + quoted(name) + " is also defined at",
          {at("params", i) + ".name"});
    }
  }
  return errors;
}

FieldErrors validate_bindings(const Value& bindings, std::string_view provider) {
  FieldErrors errors;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const std::string name = bindings[i]["name"].str();
    const auto [first, fresh] = seen.emplace(name, i);
    if (!fresh) {
      errors.add("workspace " + quoted(name) + " provided by " + std::string(provider) +
                     " more than once, at index " + std::to_string(first->second) + " and " +
                     std::to_string(i),
                 {at("workspaces", i) + ".name"});
    }
    errors.merge(check_source(bindings[i]), at("workspaces", i));
  }
  return errors;
}

FieldErrors validate_pipeline_run(const Value& object, const Value& old_object,
                                  const Settings& settings) {
  FieldErrors errors = validate_run_metadata(object["metadata"]);
  const Value& spec = object["spec"];
  check_one_of(spec, "pipelineRef", "pipelineSpec", errors);
  errors.merge(validate_ref(spec["pipelineRef"]), "spec.pipelineRef");
  if (spec["pipelineSpec"].is_object()) {
    if (!old_object.is_object() && forbids_inline_spec(settings, "pipelinerun")) {
      errors.disallowed("spec.pipelineSpec");
    }
    errors.merge(validate_pipeline_spec(spec["pipelineSpec"], Place::Inline, settings),
                 "spec.pipelineSpec");
  }
  check_timeouts(spec["timeouts"], settings, errors);
  check_pipeline_run_status(object, errors);
  errors.merge(validate_bindings(spec["workspaces"], "pipelinerun"), "spec");
  errors.merge(validate_run_params(spec["params"]), "spec");
  check_result_expressions(spec["params"], errors);
  if (old_object.is_object()) {
    check_update(object, old_object, "PipelineRun", errors);
  }
  return errors;
}

FieldErrors validate_task_run(const Value& object, const Value& old_object,
                              const Settings& settings) {
  FieldErrors errors = validate_run_metadata(object["metadata"]);
  const Value& spec = object["spec"];
  check_one_of(spec, "taskRef", "taskSpec", errors);
  errors.merge(validate_ref(spec["taskRef"]), "spec.taskRef");
  if (spec["taskSpec"].is_object()) {
    if (!old_object.is_object() && forbids_inline_spec(settings, "taskrun")) {
      errors.disallowed("spec.taskSpec");
    }
    errors.merge(validate_task_spec(spec["taskSpec"], Place::Inline, settings), "spec.taskSpec");
  }
  const std::string_view status = spec["status"].as_string();
  if (!status.empty() && status != "TaskRunCancelled" && status != "TaskRunPending") {
    errors.invalid(std::string(status) + " should be TaskRunCancelled or TaskRunPending",
                   "spec.status");
  }
  if (status.empty() && !spec["statusMessage"].as_string().empty()) {
    errors.invalid(
        "statusMessage should not be set if status is not set, but it is currently set to " +
            spec["statusMessage"].str(),
        "spec.statusMessage");
  }
  if (spec["retries"].as_int() < 0) {
    errors.invalid(std::to_string(spec["retries"].as_int()) + " should be >= 0", "spec.retries");
  }
  if (is_negative(spec["timeout"])) {
    const auto given = duration_of(spec["timeout"]);
    errors.invalid((given ? format_go_duration(*given) : spec["timeout"].str()) + " should be >= 0",
                   "spec.timeout");
  }
  errors.merge(validate_bindings(spec["workspaces"], "taskrun"), "spec");
  errors.merge(validate_run_params(spec["params"]), "spec");
  if (old_object.is_object()) {
    check_update(object, old_object, "TaskRun", errors);
  }
  return errors;
}

}  // namespace athanor::tekton
