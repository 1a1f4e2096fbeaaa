// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/policy_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cel/names.hpp"
#include "embedded/apiserver/policies/policy.hpp"
#include "embedded/apiserver/policies/webhook_validation.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

bool is_multi_line(std::string_view text) {
  return !is_blank(text) &&
         text.substr(0, text.find_last_not_of(kBlanks))
                 .find('\n', text.find_first_not_of(kBlanks)) != std::string_view::npos;
}

// Compiles; of one of the types, if any are given. nullptr when it does not.
cel::Program::Ptr check_expression(FieldErrors& errors, const std::string& path,
                                   const Value& expression, const cel::Declarations& declarations,
                                   std::initializer_list<cel::TypeKind> types) {
  if (is_blank(expression.as_string())) {
    errors.push_back(FieldError::required(path, "expression is not specified"));
    return nullptr;
  }
  auto program = cel::Program::compile(expression.as_string(), declarations);
  if (!program.ok()) {
    errors.push_back(
        FieldError::invalid(path, expression, "compilation failed: " + program.error().message));
    return nullptr;
  }
  const cel::Type& type = (*program)->result_type();
  if (types.size() > 0 && type.kind != cel::TypeKind::Dyn &&
      std::ranges::find(types, type.kind) == types.end()) {
    const std::string_view wanted = types.size() > 1 ? "one of [string null_type]"
                                    : *types.begin() == cel::TypeKind::Bool ? "bool"
                                                                            : "string";
    errors.push_back(FieldError::invalid(
        path, expression,
        fmt::format("must evaluate to {} but got {}", wanted, cel::type_text(type))));
  }
  return *std::move(program);
}

void check_message(FieldErrors& errors, const Value& validation, const std::string& path) {
  const std::string_view message = validation["message"].as_string();
  const bool lines = message.find('\n') != std::string_view::npos;
  if (!message.empty() && is_blank(message)) {
    errors.push_back(FieldError::invalid(path + ".message", validation["message"],
                                         "must be non-empty if specified"));
  } else if (lines) {
    errors.push_back(FieldError::invalid(path + ".message", validation["message"],
                                         "must not contain line breaks"));
  } else if (message.empty() && is_multi_line(validation["expression"].as_string())) {
    errors.push_back(FieldError::required(
        path + ".message", "message must be specified if expression contains line breaks"));
  }
  check_choice(errors, path + ".reason", validation["reason"],
               {"Forbidden", "Invalid", "RequestEntityTooLarge"});
}

void check_variables(FieldErrors& errors, const Value& variables, const AdmissionVariables& known,
                     std::vector<PolicyVariable>& compiled) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string path = at("spec.variables", i);
    const std::string name = variables[i]["name"].str();
    const auto escaped = cel::escape_name(name);
    if (name.empty()) {
      errors.push_back(FieldError::required(path + ".name", "name is not specified"));
    } else if (escaped != name || cel::is_reserved_word(name)) {
      errors.push_back(FieldError::invalid(path + ".name", variables[i]["name"],
                                           "must be a valid CEL identifier"));
    } else if (!seen.insert(name).second) {
      errors.push_back(FieldError::duplicate(path + ".name", variables[i]["name"]));
    }
    compiled.push_back(
        {.name = name,
         .program = check_expression(errors, path + ".expression", variables[i]["expression"],
                                     policy_declarations(known, compiled), {}),
         .error = {}});
  }
}

void check_validations(FieldErrors& errors, const Value& spec, AdmissionVariables known,
                       const std::vector<PolicyVariable>& variables) {
  const cel::Declarations declarations = policy_declarations(known, variables);
  known.authorizer = false;
  const cel::Declarations for_messages = policy_declarations(known, variables);
  const Value& validations = spec["validations"];
  for (std::size_t i = 0; i < validations.size(); ++i) {
    const std::string path = at("spec.validations", i);
    check_expression(errors, path + ".expression", validations[i]["expression"], declarations,
                     {cel::TypeKind::Bool});
    const Value& message = validations[i]["messageExpression"];
    if (!message.as_string().empty()) {
      check_expression(errors, path + ".messageExpression", message, for_messages,
                       {cel::TypeKind::String});
    }
    check_message(errors, validations[i], path);
  }
  const Value& annotations = spec["auditAnnotations"];
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const std::string path = at("spec.auditAnnotations", i);
    require(errors, path + ".key", annotations[i]["key"]);
    check_expression(errors, path + ".valueExpression", annotations[i]["valueExpression"],
                     declarations, {cel::TypeKind::String, cel::TypeKind::Null});
  }
}

void check_match(FieldErrors& errors, const Value& match, const std::string& path) {
  check_choice(errors, path + ".matchPolicy", match["matchPolicy"], {"Equivalent", "Exact"});
  for (const std::string_view list : {"resourceRules", "excludeResourceRules"}) {
    const Value& rules = match[list];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      check_admission_rule(errors, rules[i], at(below(path, list), i));
    }
  }
  check_label_selector(errors, path + ".namespaceSelector", match["namespaceSelector"]);
  check_label_selector(errors, path + ".objectSelector", match["objectSelector"]);
}

void check_param_ref(FieldErrors& errors, const Value& ref) {
  const bool named = !ref["name"].as_string().empty();
  const bool selected = !ref["selector"].is_null();
  if (named && selected) {
    for (const char* field : {"spec.paramRef.name", "spec.paramRef.selector"}) {
      errors.push_back(FieldError::forbidden(field, "name and selector are mutually exclusive"));
    }
  } else if (!named && !selected) {
    errors.push_back(
        FieldError::required("spec.paramRef", "one of name or selector must be specified"));
  }
  require(errors, "spec.paramRef.parameterNotFoundAction", ref["parameterNotFoundAction"]);
}

}  // namespace

void check_condition_expressions(FieldErrors& errors, const Value& conditions,
                                 const std::string& path, bool params) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (conditions[i]["expression"].as_string().empty()) {
      continue;  // said by the caller
    }
    check_expression(errors, at(path, i) + ".expression", conditions[i]["expression"],
                     admission_declarations({.params = params, .namespace_object = params}),
                     {cel::TypeKind::Bool});
  }
}

FieldErrors validate_policy(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  const Value& kind = spec["paramKind"];
  check_choice(errors, "spec.failurePolicy", spec["failurePolicy"], {"Fail", "Ignore"});
  if (!kind.is_null()) {
    require(errors, "spec.paramKind.apiVersion", kind["apiVersion"]);
    require(errors, "spec.paramKind.kind", kind["kind"]);
  }
  if (spec["matchConstraints"].is_null()) {
    errors.push_back(FieldError::required("spec.matchConstraints"));
  } else {
    require(errors, "spec.matchConstraints.resourceRules",
            spec["matchConstraints"]["resourceRules"]);
    check_match(errors, spec["matchConstraints"], "spec.matchConstraints");
  }
  const AdmissionVariables known{.params = !kind.is_null(), .namespace_object = true};
  const Value& conditions = spec["matchConditions"];
  std::set<std::string> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string path = at("spec.matchConditions", i);
    require_name(errors, path + ".name", conditions[i]["name"].as_string(),
                 &validate_qualified_name);
    if (!names.insert(conditions[i]["name"].str()).second) {
      errors.push_back(FieldError::duplicate(path + ".name", conditions[i]["name"]));
    }
    if (require(errors, path + ".expression", conditions[i]["expression"])) {
      check_expression(errors, path + ".expression", conditions[i]["expression"],
                       admission_declarations(known), {cel::TypeKind::Bool});
    }
  }
  std::vector<PolicyVariable> variables;
  check_variables(errors, spec["variables"], known, variables);
  if (spec["validations"].empty() && spec["auditAnnotations"].empty()) {
    for (const char* field : {"spec.validations", "spec.auditAnnotations"}) {
      errors.push_back(FieldError::required(
          field, "validations or auditAnnotations must contain at least one item"));
    }
  }
  check_validations(errors, spec, known, variables);
  return errors;
}

FieldErrors validate_policy_update(const Value& object, const Value& old_object,
                                   const KindContext& context) {
  const bool same = object["spec"] == old_object["spec"];
  return same || !context.subresource.empty() ? FieldErrors{} : validate_policy(object, context);
}

FieldErrors validate_policy_binding(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  require(errors, "spec.policyName", spec["policyName"]);
  if (!spec["paramRef"].is_null()) {
    check_param_ref(errors, spec["paramRef"]);
  }
  if (!spec["matchResources"].is_null()) {
    check_match(errors, spec["matchResources"], "spec.matchResources");
  }
  const Value& actions = spec["validationActions"];
  require(errors, "spec.validationActions", actions, "at least one validation action is required");
  std::set<std::string> seen;
  bool denies = false;
  bool warns = false;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    check_choice(errors, at("spec.validationActions", i), actions[i], {"Audit", "Deny", "Warn"});
    if (!seen.insert(actions[i].str()).second) {
      errors.push_back(FieldError::duplicate(at("spec.validationActions", i), actions[i]));
    }
    denies = denies || actions[i].as_string() == "Deny";
    warns = warns || actions[i].as_string() == "Warn";
  }
  if (denies && warns) {
    errors.push_back(FieldError::invalid("spec.validationActions", actions,
                                         "must not contain both Deny and Warn (repeating the same "
                                         "validation failure information in the API response and "
                                         "headers serves no purpose)"));
  }
  return errors;
}

FieldErrors validate_policy_binding_update(const Value& object, const Value& /*old_object*/,
                                           const KindContext& context) {
  return validate_policy_binding(object, context);
}

}  // namespace athanor::apiserver
