// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/type_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "cel/rules/schema_type.hpp"
#include "embedded/apiserver/policies/policy.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMostKinds = 10;

using Kinds = std::map<std::tuple<std::string, std::string, std::string>, const ResourceInfo*>;

bool has_wildcard(const Value& list) {
  const auto items = list.items();
  return std::ranges::any_of(items, [](const Value& item) {
    return item.as_string().find('*') != std::string_view::npos;
  });
}

void add_kinds(const Value& rule, const ResourceTable& table, Kinds& kinds) {
  if (has_wildcard(rule["apiGroups"]) || has_wildcard(rule["apiVersions"])) {
    return;
  }
  for (const Value& group : rule["apiGroups"].items()) {
    for (const Value& version : rule["apiVersions"].items()) {
      for (const Value& resource : rule["resources"].items()) {
        const ResourceInfo* info =
            table.find(group.as_string(), version.as_string(), resource.as_string());
        if (info != nullptr && kinds.size() < kMostKinds) {
          kinds.emplace(std::tuple(info->group, info->version, info->kind), info);
        }
      }
    }
  }
}

cel::TypePtr type_of(const ResourceInfo& info) {
  if (info.schema == nullptr) {
    return cel::simple_type(cel::TypeKind::Dyn);
  }
  return cel::builtin_type(*info.schema);
}

class TypeChecker {
 public:
  TypeChecker(const Value& policy, const ResourceTable& table) : spec_(policy["spec"]) {
    for (const Value& rule : spec_["matchConstraints"]["resourceRules"].items()) {
      add_kinds(rule, table, kinds_);
    }
    const Value& param = spec_["paramKind"];
    if (!param.is_null()) {
      const ResourceInfo* info =
          table.by_kind(param["apiVersion"].as_string(), param["kind"].as_string());
      params_ = info == nullptr ? cel::simple_type(cel::TypeKind::Dyn) : type_of(*info);
    }
  }

  Value run() {
    Value warnings = Value::list();
    const Value& validations = spec_["validations"];
    for (std::size_t i = 0; i < validations.size(); ++i) {
      for (const std::string_view field : {"expression", "messageExpression"}) {
        const Value& expression = validations[i][field];
        const std::string text =
            expression.as_string().empty() ? std::string() : check(expression.as_string());
        if (!text.empty()) {
          warnings.push_back(Value::object(
              {{"fieldRef", fmt::format("spec.validations[{}].{}", i, field)}, {"warning", text}}));
        }
      }
    }
    return warnings;
  }

 private:
  std::string check(std::string_view expression) {
    std::string text;
    for (const auto& [name, info] : kinds_) {
      auto program = cel::Program::compile(expression, declarations(*info));
      if (!program.ok()) {
        text += fmt::format("{}{}/{}, Kind={}: {}\n", text.empty() ? "" : "\n", std::get<0>(name),
                            std::get<1>(name), std::get<2>(name), program.error().message);
      }
    }
    return text;
  }

  cel::Declarations declarations(const ResourceInfo& info) {
    const AdmissionVariables known{.params = params_ != nullptr, .namespace_object = true};
    const cel::TypePtr object = type_of(info);
    std::vector<PolicyVariable> variables;
    const auto typed = [&] {
      cel::Declarations result = policy_declarations(known, variables);
      result["object"] = object;
      result["oldObject"] = object;
      if (params_ != nullptr) {
        result["params"] = params_;
      }
      return result;
    };
    for (const Value& variable : spec_["variables"].items()) {
      auto program = cel::Program::compile(variable["expression"].as_string(), typed());
      variables.push_back({.name = variable["name"].str(),
                           .program = program.ok() ? *std::move(program) : nullptr,
                           .error = {}});
    }
    return typed();
  }

  const Value& spec_;
  Kinds kinds_{};
  cel::TypePtr params_{};
};

}  // namespace

Value expression_warnings(const Value& policy, const ResourceTable& table) {
  return TypeChecker(policy, table).run();
}

}  // namespace athanor::apiserver
