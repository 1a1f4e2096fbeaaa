// SPDX-License-Identifier: Apache-2.0
// Optionals, also of lists. or and orValue are the evaluator's own: their argument may stay
// unevaluated.
#include <fmt/format.h>

#include <utility>
#include <vector>

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

Val first_item(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  return list.size() == 0 ? Val::optional_none() : Val::optional_of(list.at(0));
}

Val last_item(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  return list.size() == 0 ? Val::optional_none() : Val::optional_of(list.at(list.size() - 1));
}

// The values of a list of optionals that have one.
Val unwrapped(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  std::vector<Val> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Val item = list.at(i);
    if (!item.is(Val::Kind::Optional)) {
      return Val::error(fmt::format("value {} is not optional", item.text()));
    }
    if (const Val* inner = item.optional_value()) {
      values.push_back(*inner);
    }
  }
  return Val::list(std::move(values));
}

}  // namespace

void add_optional_functions(FunctionTable& table) {
  table.add("optional.of", "optional_of", "V -> optional(V)", optional_of);
  table.add("optional.ofNonZeroValue", "optional_ofNonZeroValue", "V -> optional(V)", of_non_zero);
  table.add("optional.none", "optional_none", "-> optional(V)", none);
  table.add("hasValue", "optional_hasValue", "optional(V).() -> bool", has_value);
  table.add("value", "optional_value", "optional(V).() -> V", value);
  table.add("first", "list_first", "list(V).() -> optional(V)", first_item);
  table.add("last", "list_last", "list(V).() -> optional(V)", last_item);
  table.add("optional.unwrap", "optional_unwrap", "list(optional(V)) -> list(V)", unwrapped);
  table.add("unwrapOpt", "optional_unwrapOpt", "list(optional(V)).() -> list(V)", unwrapped);
  table.add("or", "optional_or_optional", "optional(V).(optional(V)) -> optional(V)", nullptr);
  table.add("orValue", "optional_orValue_value", "optional(V).(V) -> V", nullptr);
}

}  // namespace athanor::cel
