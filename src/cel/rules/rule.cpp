// SPDX-License-Identifier: Apache-2.0
#include "cel/rules/rule.hpp"

#include "base/ascii.hpp"

namespace athanor::cel {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace

Rule compile_rule(const Value& rule, const TypePtr& self) {
  Rule result;
  result.text = trimmed(rule["rule"].as_string(), kBlanks);
  result.message = trimmed(rule["message"].as_string(), kBlanks);
  result.reason = rule["reason"].as_string();
  result.field_path = trimmed(rule["fieldPath"].as_string(), kBlanks);
  result.optional_old_self = rule["optionalOldSelf"].as_bool();
  if (result.text.empty()) {
    return result;
  }
  const Declarations declarations = {
      {"self", self}, {"oldSelf", result.optional_old_self ? optional_type(self) : self}};
  auto program = Program::compile(rule["rule"].as_string(), declarations);
  if (!program.ok()) {
    result.error = "compilation failed: " + program.error().message;
  } else if ((*program)->result_type().kind != TypeKind::Bool) {
    result.error = "cel expression must evaluate to a bool";
  } else {
    result.program = *std::move(program);
    result.uses_old_self = result.program->uses("oldSelf");
  }
  const std::string expression(trimmed(rule["messageExpression"].as_string(), kBlanks));
  if (expression.empty()) {
    return result;
  }
  auto message = Program::compile(rule["messageExpression"].as_string(), declarations);
  if (!message.ok()) {
    result.message_error = "messageExpression compilation failed: " + message.error().message;
  } else if ((*message)->result_type().kind != TypeKind::String) {
    result.message_error = "messageExpression must evaluate to a string";
  } else {
    result.message_expression = *std::move(message);
  }
  return result;
}

const std::string& rule_name(const Rule& rule) {
  return rule.message.empty() ? rule.text : rule.message;
}

}  // namespace athanor::cel
