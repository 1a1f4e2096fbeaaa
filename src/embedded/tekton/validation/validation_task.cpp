// SPDX-License-Identifier: Apache-2.0
// Task, inline taskSpec and StepAction (docs/spec/tekton.md 5.3).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/model/workspaces.hpp"
#include "embedded/tekton/validation/validation.hpp"
#include "embedded/tekton/validation/validation_shared.hpp"

namespace athanor::tekton {
namespace {

void check_ref(const Value& step, FieldErrors& errors) {
  constexpr std::pair<std::string_view, std::string_view> kExcluded[] = {
      {"image", "image"},
      {"command", "command"},
      {"args", "args"},
      {"script", "script"},
      {"workingDir", "working dir"},
      {"env", "env"},
      {"volumeMounts", "volumeMounts"},
      {"results", "results"}};
  for (const auto& [field, word] : kExcluded) {
    const Value& value = step[field];
    if (!value.as_string().empty() || !value.empty()) {
      errors.add(std::string(word) + " cannot be used with Ref", {std::string(field)});
    }
  }
  if (step["ref"]["name"].as_string().empty() && step["ref"]["resolver"].as_string().empty()) {
    errors.missing("ref.name");
  }
  errors.merge(validate_ref(step["ref"]), "ref");
}

void check_mounts(const Value& step, FieldErrors& errors) {
  const Value& mounts = step["volumeMounts"];
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string_view path = mounts[i]["mountPath"].as_string();
    if (path.starts_with("/tekton/") && !path.starts_with("/tekton/home")) {
      errors.add("volumeMount cannot be mounted under /tekton/ (volumeMount " +
                     quoted(mounts[i]["name"].as_string()) + " mounted at " + quoted(path) + ")",
                 {at("volumeMounts", i) + ".mountPath"});
    }
    if (mounts[i]["name"].as_string().starts_with("tekton-internal-")) {
      errors.add("volumeMount name " + quoted(mounts[i]["name"].as_string()) +
                     " cannot start with \"tekton-internal-\"",
                 {at("volumeMounts", i) + ".name"});
    }
  }
}

void check_on_error(const Value& step, FieldErrors& errors) {
  const std::string_view value = step["onError"].as_string();
  if (!value.empty() && value != "continue" && value != "stopAndFail") {
    errors.invalid(quoted(value), "onError",
                   "Task step onError must be either \"continue\" or \"stopAndFail\"");
  }
}

// Variables of the artifacts feature: $(artifacts.path), $(step.artifacts.path),
// $(steps.<s>.outputs.<a>), $(inputs.<a>), $(outputs.<a>).
bool is_artifact(std::string_view variable) {
  if (variable == "artifacts.path" || variable == "step.artifacts.path" ||
      variable.starts_with("outputs.")) {
    return true;
  }
  // $(inputs.params.<p>) is a param, in the form of old Tasks.
  if (variable.starts_with("inputs.") && !variable.starts_with("inputs.params.")) {
    return true;
  }
  return is_artifact_of(variable, "steps.");
}

// $(inputs.<a>) and $(outputs.<a>): of which step they are is not said.
bool is_loose_artifact(std::string_view variable) {
  return is_artifact(variable) &&
         (variable.starts_with("inputs.") || variable.starts_with("outputs."));
}

void check_artifact_text(const Value& text, std::string_view field, const Settings& settings,
                         FieldErrors& errors) {
  for (const Variable& variable : variables_in(text.as_string())) {
    const std::string name = dotted(variable.name);
    if (settings.artifacts && is_loose_artifact(name)) {
      errors.add(fmt::format("$({0}) names no step: write $(steps.STEP.{0})", name),
                 {std::string(field)});
      return;
    }
    if (!settings.artifacts && is_artifact(name)) {
      errors.add("feature flag enable-artifacts should be set to true to use artifacts feature.",
                 {std::string(field)});
      return;
    }
  }
}

void check_artifacts(const Value& step, const Settings& settings, FieldErrors& errors) {
  for (const std::string_view field : {"image", "script", "workingDir"}) {
    check_artifact_text(step[field], field, settings, errors);
  }
  for (const std::string_view field : {"command", "args"}) {
    for (const Value& word : step[field].items()) {
      check_artifact_text(word, field, settings, errors);
    }
  }
  for (const Value& variable : step["env"].items()) {
    check_artifact_text(variable["value"], "env", settings, errors);
  }
}

FieldErrors check_step(const Value& step, const Settings& settings) {
  FieldErrors errors;
  if (step["ref"].is_object()) {
    check_ref(step, errors);
  } else {
    if (step["image"].as_string().empty()) {
      errors.missing("Image");
    }
    if (!step["params"].empty()) {
      errors.add("params cannot be used without Ref", {"params"});
    }
  }
  if (!step["script"].as_string().empty() && !step["command"].empty()) {
    errors.add("script cannot be used with command", {"script"});
  }
  errors.merge(validate_script(step["script"]));
  if (const std::string_view name = step["name"].as_string();
      !name.empty() && !is_dns_label(name)) {
    errors.add("invalid value " + quoted(name), {"name"},
               "Task step name " + std::string(kDnsDetails));
  }
  if (is_negative(step["timeout"])) {
    errors.invalid(step["timeout"].as_string(), "negative timeout");
  }
  if (!holds_param(step["onError"])) {
    check_on_error(step, errors);
  }
  check_mounts(step, errors);
  check_artifacts(step, settings, errors);
  errors.merge(validate_when(step["when"], settings));
  return errors;
}

void check_steps(const Value& spec, const Settings& settings, FieldErrors& errors) {
  if (spec["steps"].empty()) {
    errors.missing("steps");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    const Value& step = spec["steps"][i];
    const std::string name = step["name"].str();
    if (!name.empty() && !names.insert(name).second) {
      errors.got_both({at("steps", i) + ".name"});
    }
    Value with_template = step;
    if (step["image"].as_string().empty() && spec["stepTemplate"].contains("image")) {
      with_template.set("image", spec["stepTemplate"]["image"]);
    }
    errors.merge(check_step(step["ref"].is_object() ? step : with_template, settings),
                 at("steps", i));
  }
}

void check_volumes(const Value& spec, FieldErrors& errors) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec["volumes"].size(); ++i) {
    const std::string name = spec["volumes"][i]["name"].str();
    if (!names.insert(name).second) {
      errors.add("multiple volumes with same name " + quoted(name), {at("volumes", i) + ".name"});
    }
  }
}

void check_workspaces(const Value& spec, FieldErrors& errors) {
  std::set<std::string> names;
  std::set<std::string> paths;
  for (const Value& step : spec["steps"].items()) {
    for (const Value& mount : step["volumeMounts"].items()) {
      paths.insert(mount["mountPath"].str());
    }
  }
  for (std::size_t i = 0; i < spec["workspaces"].size(); ++i) {
    const Value& workspace = spec["workspaces"][i];
    const std::string name = workspace["name"].str();
    if (!names.insert(name).second) {
      errors.add("workspace name " + quoted(name) + " must be unique",
                 {at("workspaces", i) + ".name"});
    }
    if (const std::string path = workspace_path(workspace); !paths.insert(path).second) {
      errors.add("workspace mount path " + quoted(path) + " must be unique",
                 {at("workspaces", i) + ".mountpath"});
    }
  }
  for (const std::string_view part : {"steps", "sidecars"}) {
    for (std::size_t i = 0; i < spec[part].size(); ++i) {
      const Value& used = spec[part][i]["workspaces"];
      for (std::size_t j = 0; j < used.size(); ++j) {
        const std::string name = used[j]["name"].str();
        if (!names.contains(name)) {
          errors.add("undefined workspace " + quoted(name),
                     {below(at(part, i), at("workspaces", j))});
        }
      }
    }
  }
}

void check_sidecars(const Value& spec, FieldErrors& errors) {
  for (std::size_t i = 0; i < spec["sidecars"].size(); ++i) {
    const Value& sidecar = spec["sidecars"][i];
    if (sidecar["name"].as_string() == "tekton-log-results") {
      errors.add("Invalid: cannot use reserved sidecar name tekton-log-results ",
                 {at("sidecars", i) + ".name"});
    }
    if (sidecar["image"].as_string().empty()) {
      errors.missing(at("sidecars", i) + ".image");
    }
    if (!sidecar["script"].as_string().empty() && !sidecar["command"].empty()) {
      errors.add("script cannot be used with command", {at("sidecars", i) + ".script"});
    }
    errors.merge(validate_script(sidecar["script"]), at("sidecars", i));
  }
}

// $(steps.<s>.results.<r>).
bool is_step_result(std::string_view text) {
  const auto variable = only_variable(text);
  if (!variable || !variable->starts_with("steps.")) {
    return false;
  }
  const std::size_t dot = variable->find(".results.");
  return dot != std::string_view::npos && dot > 6 && dot + 9 < variable->size();
}

void check_results(const Value& spec, FieldErrors& errors) {
  for (std::size_t i = 0; i < spec["results"].size(); ++i) {
    const Value& result = spec["results"][i];
    const std::string type = declared_type(result);
    const std::string path = at("results", i);
    if (type != "string" && type != "array" && type != "object") {
      errors.invalid(type, path + ".type", "type must be string, array or object");
    }
    if (type == "object" && !result.contains("properties")) {
      errors.missing(path + "." + result["name"].str() + ".properties");
    }
    const std::string_view value = result["value"].as_string();
    if (result.contains("value") && !is_step_result(value)) {
      errors.add(
          "Could not extract step name and result name. Expected value to look like "
          "$(steps.<stepName>.results.<resultName>) but got \"" +
              std::string(value) + "\"",
          {path + ".value"});
    }
  }
}

// $(results.<r>.path) of a result that is not declared.
void check_result_paths(const Value& spec, const Value& script, const std::string& path,
                        FieldErrors& errors) {
  for (const Variable& variable : variables_in(script.as_string())) {
    const std::string name = dotted(variable.name);
    if (!name.starts_with("results.") || !name.ends_with(".path") || name.size() < 14) {
      continue;
    }
    if (named(spec["results"], name.substr(8, name.size() - 13)).is_null()) {
      errors.add("non-existent variable in " + quoted(script.as_string()), {path});
      return;
    }
  }
}

void check_variables(const Value& spec, Place place, FieldErrors& errors) {
  const VariableRules rules(spec["params"], place == Place::StandAlone);
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    const Value& step = spec["steps"][i];
    const std::string path = at("steps", i);
    for (const std::string_view field : {"name", "image", "workingDir", "script"}) {
      rules.check_text(errors, step[field], below(path, field));
    }
    rules.check_items(errors, step["command"], path + ".command");
    rules.check_items(errors, step["args"], path + ".args");
    for (const Value& entry : step["env"].items()) {
      rules.check_text(errors, entry["value"], path + "." + at("env", entry["name"].as_string()));
    }
    for (std::size_t j = 0; j < step["volumeMounts"].size(); ++j) {
      for (const std::string_view field : {"name", "mountPath", "subPath"}) {
        rules.check_text(errors, step["volumeMounts"][j][field],
                         path + "." + at("volumeMounts", j) + "." + std::string(field));
      }
    }
    check_result_paths(spec, step["script"], path + ".script", errors);
    for (std::size_t j = 0; j < step["when"].size(); ++j) {
      const std::string when = path + "." + at("when", j);
      rules.check_text(errors, step["when"][j]["input"], when + ".input");
      rules.check_items(errors, step["when"][j]["values"], when + ".values");
      rules.check_text(errors, step["when"][j]["cel"], when + ".cel");
    }
  }
}

}  // namespace

FieldErrors validate_replaced_task(const Value& spec) {
  FieldErrors errors;
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    FieldErrors of_step;
    check_on_error(spec["steps"][i], of_step);
    errors.merge(std::move(of_step), at("steps", i));
  }
  return errors;
}

FieldErrors validate_task_spec(const Value& spec, Place place, const Settings& settings) {
  FieldErrors errors;
  check_steps(spec, settings, errors);
  check_volumes(spec, errors);
  check_workspaces(spec, errors);
  check_sidecars(spec, errors);
  check_results(spec, errors);
  errors.merge(validate_param_specs(spec["params"], settings));
  check_variables(spec, place, errors);
  return errors;
}

FieldErrors validate_step_action_spec(const Value& spec, const Settings& settings) {
  FieldErrors errors;
  if (spec["image"].as_string().empty()) {
    errors.missing("Image");
  }
  if (!spec["script"].as_string().empty() && !spec["command"].empty()) {
    errors.add("script cannot be used with command", {"script"});
  }
  errors.merge(validate_script(spec["script"]));
  check_mounts(spec, errors);
  check_artifacts(spec, settings, errors);
  errors.merge(validate_param_specs(spec["params"], settings));
  const VariableRules rules(spec["params"], true);
  for (const std::string_view field : {"image", "workingDir", "script"}) {
    rules.check_text(errors, spec[field], std::string(field));
  }
  rules.check_items(errors, spec["command"], "command");
  rules.check_items(errors, spec["args"], "args");
  return errors;
}

}  // namespace athanor::tekton
