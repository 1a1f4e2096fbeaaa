// SPDX-License-Identifier: Apache-2.0
// Optionals. or and orValue are the evaluator's own: their argument may stay unevaluated.
#include "cel/functions/functions.hpp"

namespace athanor::cel {
namespace {

Val optional_of(Arguments a, Runtime&) {
  return Val::optional_of(a[0]);
}

Val none(Arguments, Runtime&) {
  return Val::optional_none();
}

bool is_zero(const Val& value) {
  switch (value.kind()) {
    case Val::Kind::Null:
      return true;
    case Val::Kind::Bool:
      return value.is_false();
    case Val::Kind::Int:
    case Val::Kind::Uint:
    case Val::Kind::Duration:
      return value.as_int() == 0;
    case Val::Kind::Double:
      return value.as_double() == 0;
    case Val::Kind::Optional:
      return value.optional_value() == nullptr;
    default:
      return size_of(value) == std::optional<std::size_t>(0);
  }
}

Val of_non_zero(Arguments a, Runtime&) {
  return is_zero(a[0]) ? Val::optional_none() : Val::optional_of(a[0]);
}

Val has_value(Arguments a, Runtime&) {
  return Val::boolean(a[0].optional_value() != nullptr);
}

Val value(Arguments a, Runtime&) {
  const Val* inner = a[0].optional_value();
  return inner == nullptr ? Val::error("optional.none() dereference") : *inner;
}

}  // namespace

void add_optional_functions(FunctionTable& table) {
  table.add("optional.of", "optional_of", "V -> optional(V)", optional_of);
  table.add("optional.ofNonZeroValue", "optional_ofNonZeroValue", "V -> optional(V)", of_non_zero);
  table.add("optional.none", "optional_none", "-> optional(V)", none);
  table.add("hasValue", "optional_hasValue", "optional(V).() -> bool", has_value);
  table.add("value", "optional_value", "optional(V).() -> V", value);
  table.add("or", "optional_or_optional", "optional(V).(optional(V)) -> optional(V)", nullptr);
  table.add("orValue", "optional_orValue_value", "optional(V).(V) -> V", nullptr);
}

}  // namespace athanor::cel
