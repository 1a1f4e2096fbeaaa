// SPDX-License-Identifier: Apache-2.0
// One x-kubernetes-validations rule, compiled (docs/spec/apiserver.md 13.5).
#pragma once

#include <cstdint>
#include <string>

#include "cel/program.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel {

// A compiled rule, or the error of its compilation.
struct Rule {
  std::string text{};        // trimmed
  std::string message{};     // trimmed; empty: "failed rule: TEXT"
  std::string reason{};      // empty: FieldValueInvalid
  std::string field_path{};  // as it joins the path of the schema: ".a.b", "[key]"
  bool optional_old_self = false;
  Program::Ptr program{};             // null: see `error`
  Program::Ptr message_expression{};  // null: none, or see `message_error`
  bool uses_old_self = false;
  std::string error{};
  std::string message_error{};
};

// Compiles a rule; `self` is the type of the values that it judges.
Rule compile_rule(const Value& rule, const TypePtr& self);
// Returns the name of a broken rule in errors: its message, else its text.
const std::string& rule_name(const Rule& rule);

}  // namespace athanor::cel
