// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutex.hpp"
#include "embedded/apiserver/matching/match.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPolicies = "validatingadmissionpolicies.admissionregistration.k8s.io";
constexpr std::string_view kBindings =
    "validatingadmissionpolicybindings.admissionregistration.k8s.io";

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list.items()) {
    result.push_back(item.str());
  }
  return result;
}

LabelSelector selector_of(const Value& selector) {
  return selector.is_null() ? LabelSelector()
                            : LabelSelector::from_value(selector).value_or(LabelSelector());
}

std::vector<MatchRule> rules_of(const Value& rules, const Hook& common) {
  std::vector<MatchRule> result;
  for (const Value& rule : rules.items()) {
    MatchRule made{.hook = common, .names = texts(rule["resourceNames"])};
    made.hook.rules = {{.operations = texts(rule["operations"]),
                        .groups = texts(rule["apiGroups"]),
                        .versions = texts(rule["apiVersions"]),
                        .resources = texts(rule["resources"]),
                        .scope = rule["scope"].str()}};
    result.push_back(std::move(made));
  }
  return result;
}

PolicyMatch read_match(const Value& match) {
  Hook common;
  common.namespaces = selector_of(match["namespaceSelector"]);
  common.objects = selector_of(match["objectSelector"]);
  common.equivalent = match["matchPolicy"].as_string() != "Exact";
  PolicyMatch result;
  result.include = rules_of(match["resourceRules"], common);
  if (result.include.empty()) {
    common.rules = {{.operations = {"*"},
                     .groups = {"*"},
                     .versions = {"*"},
                     .resources = {"*/*"},
                     .scope = "*"}};
    result.include.push_back({.hook = std::move(common), .names = {}});
  }
  Hook anywhere;
  anywhere.equivalent = match["matchPolicy"].as_string() != "Exact";
  result.exclude = rules_of(match["excludeResourceRules"], anywhere);
  return result;
}

bool names_object(const MatchRule& rule, const std::string& name) {
  return rule.names.empty() || std::ranges::find(rule.names, name) != rule.names.end();
}

PolicyValidation read_validation(const Value& value, const cel::Declarations& declarations,
                                 const cel::Declarations& for_messages) {
  PolicyValidation result;
  result.expression = value["expression"].str();
  result.message = value["message"].str();
  result.reason = value["reason"].str();
  auto program = cel::Program::compile(result.expression, declarations);
  if (program.ok()) {
    result.program = *std::move(program);
  } else {
    result.error =
        fmt::format("compilation error: compilation failed: {}", program.error().message);
  }
  const std::string_view message = value["messageExpression"].as_string();
  if (!message.empty()) {
    auto compiled = cel::Program::compile(message, for_messages);
    result.message_expression = compiled.ok() ? *std::move(compiled) : nullptr;
  }
  return result;
}

PolicyAnnotation read_annotation(const Value& value, const cel::Declarations& declarations) {
  PolicyAnnotation result{.key = value["key"].str()};
  auto program = cel::Program::compile(value["valueExpression"].as_string(), declarations);
  if (program.ok()) {
    result.program = *std::move(program);
  } else {
    result.error =
        fmt::format("compilation error: compilation failed: {}", program.error().message);
  }
  return result;
}

Policy read_policy(const store::Stored& stored) {
  const Value& spec = stored.body["spec"];
  Policy policy;
  policy.name = stored.key.name;
  policy.ignores_failure = spec["failurePolicy"].as_string() == "Ignore";
  policy.match = read_match(spec["matchConstraints"]);
  policy.param_kind = spec["paramKind"];
  AdmissionVariables variables{.params = !policy.param_kind.is_null(), .namespace_object = true};
  policy.conditions = compile_conditions(spec["matchConditions"], variables);
  for (const Value& variable : spec["variables"].items()) {
    PolicyVariable made{.name = variable["name"].str()};
    auto program = cel::Program::compile(variable["expression"].as_string(),
                                         policy_declarations(variables, policy.variables));
    if (program.ok()) {
      made.program = *std::move(program);
    } else {
      made.error = program.error().message;
    }
    policy.variables.push_back(std::move(made));
  }
  const cel::Declarations declarations = policy_declarations(variables, policy.variables);
  for (const Value& annotation : spec["auditAnnotations"].items()) {
    policy.annotations.push_back(read_annotation(annotation, declarations));
  }
  variables.authorizer = false;
  const cel::Declarations for_messages = policy_declarations(variables, policy.variables);
  for (const Value& validation : spec["validations"].items()) {
    policy.validations.push_back(read_validation(validation, declarations, for_messages));
  }
  return policy;
}

PolicyBinding read_binding(const store::Stored& stored) {
  const Value& spec = stored.body["spec"];
  const std::vector<std::string> actions = texts(spec["validationActions"]);
  return {.name = stored.key.name,
          .match = read_match(spec["matchResources"]),
          .param_ref = spec["paramRef"],
          .denies = std::ranges::find(actions, "Deny") != actions.end(),
          .warns = std::ranges::find(actions, "Warn") != actions.end(),
          .audits = std::ranges::find(actions, "Audit") != actions.end(),
          .actions = spec["validationActions"]};
}

}  // namespace

StatusResult<const ResourceInfo*> match_policy(const PolicyMatch& match,
                                               const AdmissionAttributes& request,
                                               const AdmissionContext& context) {
  const ResourceInfo* none = nullptr;
  for (const MatchRule& rule : match.exclude) {
    if (names_object(rule, request.key.name)) {
      ATHANOR_TRY(const ResourceInfo* excluded, match_hook(rule.hook, request, context));
      if (excluded != nullptr) {
        return none;
      }
    }
  }
  for (const MatchRule& rule : match.include) {
    if (names_object(rule, request.key.name)) {
      ATHANOR_TRY(const ResourceInfo* version, match_hook(rule.hook, request, context));
      if (version != nullptr) {
        return version;
      }
    }
  }
  return none;
}

cel::Declarations policy_declarations(const AdmissionVariables& variables,
                                      const std::vector<PolicyVariable>& known) {
  cel::Declarations declarations = admission_declarations(variables);
  std::vector<std::pair<std::string, cel::TypePtr>> fields;
  fields.reserve(known.size());
  for (const PolicyVariable& variable : known) {
    fields.emplace_back(variable.name,
                        variable.program == nullptr
                            ? cel::simple_type(cel::TypeKind::Dyn)
                            : std::make_shared<const cel::Type>(variable.program->result_type()));
  }
  if (!fields.empty()) {
    declarations.emplace("variables", cel::object_type("kubernetes.variables", fields));
  }
  return declarations;
}

std::shared_ptr<const Policies> PolicyCache::policies(const store::Store& store) {
  auto policies = store.list(kPolicies, {});
  auto bindings = store.list(kBindings, {});
  const MutexLock lock(mutex_);
  if (!policies.ok() || !bindings.ok() ||
      (policies->items == policies_read_ && bindings->items == bindings_read_)) {
    return made_;
  }
  auto made = std::make_shared<Policies>();
  for (const store::StoredPtr& stored : policies->items) {
    std::vector<PolicyBinding> own;
    for (const store::StoredPtr& binding : bindings->items) {
      if (binding->body["spec"]["policyName"].as_string() == stored->key.name) {
        own.push_back(read_binding(*binding));
      }
    }
    if (!own.empty()) {
      made->push_back(read_policy(*stored));
      made->back().bindings = std::move(own);
    }
  }
  policies_read_ = std::move(policies->items);
  bindings_read_ = std::move(bindings->items);
  made_ = std::move(made);
  return made_;
}

}  // namespace athanor::apiserver
