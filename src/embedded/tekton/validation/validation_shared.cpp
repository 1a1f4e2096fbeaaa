// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/validation/validation_shared.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "cel/conditions.hpp"
#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

// `dots_too`: names of object params must not hold dots.
void check_names(const Value& specs, FieldErrors& errors) {
  std::vector<std::string> bad;
  std::vector<std::string> bad_objects;
  for (const Value& spec : specs.items()) {
    const std::string name = spec["name"].str();
    if (declared_type(spec) == "object") {
      if (!is_variable_name(name) || name.find('.') != std::string::npos) {
        bad_objects.push_back(name);
      }
    } else if (!is_variable_name(name)) {
      bad.push_back(name);
    }
  }
  if (!bad.empty()) {
    errors.add(
        "The format of following array and string variable names is invalid: " + go_list(bad), {""},
        "String/Array Names: \nMust only contain alphanumeric characters, hyphens (-), "
        "underscores (_), and dots (.)\nMust begin with a letter or an underscore (_)");
  }
  if (!bad_objects.empty()) {
    errors.add("Object param name and key name format is invalid: " + go_list(bad_objects), {""},
               "Object Names: \nMust only contain alphanumeric characters, hyphens (-), "
               "underscores (_) \nMust begin with a letter or an underscore (_)");
  }
}

// params[].enum, as Tekton's flag allows it.
void check_enum(const Value& spec, const Settings& settings, FieldErrors& errors) {
  if (spec["enum"].empty()) {
    return;
  }
  const std::string path = at("params", spec["name"].as_string());
  if (!settings.param_enum) {
    errors.add("feature flag `enable-param-enum` should be set to true to use Enum", {path});
  }
  if (declared_type(spec) != "string") {
    errors.add("enum can only be set with string type param", {path});
  }
  const std::vector<std::string> allowed = strings_of(spec["enum"]);
  std::set<std::string> seen;
  for (const std::string& word : allowed) {
    if (!seen.insert(word).second) {
      errors.add("parameter enum value " + word + " appears more than once", {path});
    }
  }
  const std::string fallback = spec["default"].str();
  if (!fallback.empty() && !seen.contains(fallback)) {
    errors.add("param default value " + fallback + " not in the enum list", {path});
  }
}

void check_cel(const Value& expression, const std::string& path, const Settings& settings,
               FieldErrors& errors) {
  const std::string text = expression["cel"].str();
  if (!settings.cel_when) {
    errors.add("feature flag enable-cel-in-whenexpression should be set to true to use CEL: " +
                   text + " in WhenExpression",
               {path});
  } else if (expression.contains("input") || expression.contains("operator") ||
             !expression["values"].empty()) {
    errors.add("cel and input+operator+values cannot be set in one WhenExpression: " + text,
               {path});
  } else if (const std::string wrong = cel::condition_errors(text); !wrong.empty()) {
    errors.add("invalid cel expression: " + text + " with err: " + wrong, {path});
  }
}

}  // namespace

FieldErrors validate_ref(const Value& ref) {
  FieldErrors errors;
  if (!ref["resolver"].as_string().empty() && !ref["name"].as_string().empty()) {
    errors.add(
        "name cannot be used with resolver: the embedded engine has no concise resolver syntax, "
        "give the address in params",
        {"name"});
  }
  return errors;
}

FieldErrors validate_script(const Value& script) {
  FieldErrors errors;
  std::string_view text = script.as_string();
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.starts_with("#!win")) {
    errors.add("#!win needs a node with Windows, which the embedded engine has none of",
               {"script"});
  }
  return errors;
}

bool holds_param(const Value& text) {
  return std::ranges::any_of(variables_in(text.as_string()), [](const Variable& variable) {
    const std::string name = dotted(variable.name);
    return name.starts_with("params.") || name.starts_with("inputs.params.");
  });
}

bool is_negative(const Value& duration) {
  const auto parsed = duration_of(duration);
  return !duration.as_string().empty() && (!parsed || *parsed < Duration::zero());
}

FieldErrors validate_when(const Value& when, const Settings& settings) {
  FieldErrors errors;
  for (std::size_t i = 0; i < when.size(); ++i) {
    const Value& one = when[i];
    const std::string path = at("when", i);
    if (!one["cel"].as_string().empty()) {
      check_cel(one, path, settings, errors);
      continue;
    }
    const std::string_view op = one["operator"].as_string();
    if (!one.contains("input") && op.empty() && one["values"].empty()) {
      errors.missing(path);
    } else if (op != "in" && op != "notin") {
      errors.invalid("operator " + quoted(op) + " is not recognized. valid operators: in,notin",
                     path);
    } else if (one["values"].empty()) {
      errors.invalid("expecting non-empty values field", path);
    }
  }
  return errors;
}

FieldErrors validate_param_specs(const Value& specs, const Settings& settings) {
  FieldErrors errors;
  std::set<std::string> seen;
  for (const Value& spec : specs.items()) {
    const std::string name = spec["name"].str();
    const std::string type = declared_type(spec);
    if (!seen.insert(name).second) {
      errors.add("parameter appears more than once", {at("params", name)});
    }
    if (type != "string" && type != "array" && type != "object") {
      errors.invalid(type, below(at("params", name), "type"));
      continue;
    }
    const Value* fallback = spec.find("default");
    if (fallback != nullptr && value_type(*fallback) != type) {
      errors.add(quoted(type) +
                     " type does not match default value's type: " + quoted(value_type(*fallback)),
                 {"params." + name + ".default.type", "params." + name + ".type"});
    }
    if (type == "object" && !spec.contains("properties")) {
      errors.missing(name + ".properties");
    }
    check_enum(spec, settings, errors);
  }
  FieldErrors names;
  check_names(specs, names);
  errors.merge(std::move(names), "params");
  return errors;
}

bool is_artifact_of(std::string_view variable, std::string_view prefix) {
  const std::size_t dot =
      variable.starts_with(prefix) ? variable.find('.', prefix.size()) : std::string_view::npos;
  if (dot == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = variable.substr(dot + 1);
  return rest.starts_with("inputs") || rest.starts_with("outputs");
}

VariableRules::VariableRules(const Value& param_specs, bool strict) : strict_(strict) {
  for (const Value& spec : param_specs.items()) {
    const std::string name = spec["name"].str();
    types_[name] = declared_type(spec);
    properties_[name] = spec["properties"];
  }
}

void VariableRules::check(FieldErrors& errors, std::string_view text, const std::string& path,
                          bool may_be_whole) const {
  std::string problem;
  for (const Variable& variable : variables_in(text)) {
    std::string name = dotted(variable.name);
    if (!name.starts_with("params.")) {
      continue;
    }
    name = name.substr(7);
    const bool whole = name.ends_with("[*]");
    bool indexed = false;
    if (const std::size_t bracket = name.find('['); bracket != std::string::npos) {
      name.resize(bracket);
      indexed = !whole;
    }
    auto type = types_.find(name);
    bool key = false;
    while (type == types_.end() && name.find('.') != std::string::npos) {
      name.resize(name.rfind('.'));
      type = types_.find(name);
      key = type != types_.end();
    }
    if (type == types_.end()) {
      if (strict_) {
        problem = "non-existent variable in ";
      }
      continue;
    }
    const bool is_text = type->second == "string" || indexed || key;
    if (is_text && !(type->second == "string" && (whole || key))) {
      continue;
    }
    if (type->second == "string" && key) {
      problem = strict_ ? "non-existent variable in " : problem;
    } else if (!may_be_whole) {
      problem = "variable type invalid in ";
    } else if (variable.begin != 0 || variable.end != text.size()) {
      problem = "variable is not properly isolated in ";
    }
  }
  if (!problem.empty()) {
    errors.add(problem + quoted(text), {path});
  }
}

void VariableRules::check_text(FieldErrors& errors, const Value& text,
                               const std::string& path) const {
  check(errors, text.as_string(), path, false);
}

void VariableRules::check_items(FieldErrors& errors, const Value& list,
                                const std::string& path) const {
  for (std::size_t i = 0; i < list.size(); ++i) {
    check(errors, list[i].as_string(), at(path, i), true);
  }
}

void VariableRules::check_param_value(FieldErrors& errors, const Value& value,
                                      const std::string& path) const {
  if (value.is_string()) {
    check(errors, value.as_string(), path, true);
  }
  for (const Value& item : value.items()) {
    check(errors, item.as_string(), path, true);
  }
  for (const Member& member : value.members()) {
    check(errors, member.value.as_string(), path, false);
  }
}

}  // namespace athanor::tekton
