// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparison, membership and size. &&, ||, ?: and indexing are the evaluator's own.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "cel/functions/functions.hpp"
#include "cel/values/ast.hpp"
#include "cel/values/time_text.hpp"

namespace athanor::cel {
namespace {

using std::int64_t;
using std::uint64_t;

constexpr const char* kIntOverflow = "integer overflow";
constexpr const char* kUintOverflow = "unsigned integer overflow";
constexpr const char* kDurationOverflow = "duration overflow";
constexpr const char* kTimestampOverflow = "timestamp overflow";
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

enum class Math : std::uint8_t { Add, Subtract, Multiply };

template <class Number>
bool overflows(Math math, Number a, Number b, Number& result) {
  switch (math) {
    case Math::Add:
      return __builtin_add_overflow(a, b, &result);
    case Math::Subtract:
      return __builtin_sub_overflow(a, b, &result);
    case Math::Multiply:
      return __builtin_mul_overflow(a, b, &result);
  }
  return true;
}

template <Math kMath>
Val int_math(Arguments a, Runtime&) {
  int64_t result = 0;
  return overflows(kMath, a[0].as_int(), a[1].as_int(), result) ? Val::error(kIntOverflow)
                                                                : Val::integer(result);
}

template <Math kMath>
Val uint_math(Arguments a, Runtime&) {
  uint64_t result = 0;
  return overflows(kMath, a[0].as_uint(), a[1].as_uint(), result) ? Val::error(kUintOverflow)
                                                                  : Val::unsigned_integer(result);
}

template <Math kMath>
Val double_math(Arguments a, Runtime&) {
  const double x = a[0].as_double();
  const double y = a[1].as_double();
  switch (kMath) {
    case Math::Add:
      return Val::real(x + y);
    case Math::Subtract:
      return Val::real(x - y);
    case Math::Multiply:
      return Val::real(x * y);
  }
  return {};
}

template <Math kMath>
Val duration_math(Arguments a, Runtime&) {
  int64_t result = 0;
  return overflows(kMath, a[0].as_int(), a[1].as_int(), result) ? Val::error(kDurationOverflow)
                                                                : Val::duration(result);
}

constexpr int64_t kNanosPerSecond = 1'000'000'000;

Val shifted(const Val& time, int64_t nanoseconds) {
  int64_t seconds = time.seconds() + nanoseconds / kNanosPerSecond;
  int64_t rest = time.nanoseconds() + nanoseconds % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  } else if (rest >= kNanosPerSecond) {
    rest -= kNanosPerSecond;
    ++seconds;
  }
  return timestamp_in_range(seconds) ? Val::timestamp(seconds, static_cast<std::int32_t>(rest))
                                     : Val::error(kTimestampOverflow);
}

Val add_timestamp_duration(Arguments a, Runtime&) {
  return shifted(a[0], a[1].as_int());
}

Val add_duration_timestamp(Arguments a, Runtime&) {
  return shifted(a[1], a[0].as_int());
}

Val subtract_timestamp_duration(Arguments a, Runtime&) {
  return a[1].as_int() == kLeast ? Val::error(kTimestampOverflow) : shifted(a[0], -a[1].as_int());
}

Val subtract_timestamps(Arguments a, Runtime&) {
  int64_t result = 0;
  const int64_t nanos = a[0].nanoseconds() - a[1].nanoseconds();
  if (__builtin_mul_overflow(a[0].seconds() - a[1].seconds(), kNanosPerSecond, &result) ||
      __builtin_add_overflow(result, nanos, &result)) {
    return Val::error(kDurationOverflow);
  }
  return Val::duration(result);
}

template <bool kModulus>
Val int_divide(Arguments a, Runtime&) {
  const int64_t x = a[0].as_int();
  const int64_t y = a[1].as_int();
  if (y == 0) {
    return Val::error(kModulus ? "modulus by zero" : "division by zero");
  }
  if (x == kLeast && y == -1) {
    return Val::error(kIntOverflow);
  }
  return Val::integer(kModulus ? x % y : x / y);
}

template <bool kModulus>
Val uint_divide(Arguments a, Runtime&) {
  const uint64_t y = a[1].as_uint();
  if (y == 0) {
    return Val::error(kModulus ? "modulus by zero" : "division by zero");
  }
  return Val::unsigned_integer(kModulus ? a[0].as_uint() % y : a[0].as_uint() / y);
}

Val double_divide(Arguments a, Runtime&) {
  return Val::real(a[0].as_double() / a[1].as_double());
}

Val negate_int(Arguments a, Runtime&) {
  return a[0].as_int() == kLeast ? Val::error(kIntOverflow) : Val::integer(-a[0].as_int());
}

Val negate_double(Arguments a, Runtime&) {
  return Val::real(-a[0].as_double());
}

Val logical_not(Arguments a, Runtime&) {
  return Val::boolean(!a[0].as_bool());
}

Val joined_text(Arguments a, Runtime& runtime) {
  if (!runtime.meter().room(a[0].text().size() + a[1].text().size())) {
    return {};
  }
  const std::string text = std::string(a[0].text()) + std::string(a[1].text());
  return a[0].is(Val::Kind::Bytes) ? Val::bytes(text) : Val::string(text);
}

Val joined_lists(Arguments a, Runtime& runtime) {
  return concatenate(a[0], a[1], runtime.meter());
}

Val equals(Arguments a, Runtime& runtime) {
  return Val::boolean(equal(a[0], a[1], runtime.meter()));
}

Val not_equals(Arguments a, Runtime& runtime) {
  return Val::boolean(!equal(a[0], a[1], runtime.meter()));
}

enum class Relation : std::uint8_t { Less, LessEquals, Greater, GreaterEquals };

template <Relation kRelation>
Val relation(Arguments a, Runtime& runtime) {
  runtime.meter().tick(std::min(a[0].text().size(), a[1].text().size()));
  const std::optional<int> order = compare(a[0], a[1]);
  if (!order) {
    return Val::error("NaN values cannot be ordered");
  }
  switch (kRelation) {
    case Relation::Less:
      return Val::boolean(*order < 0);
    case Relation::LessEquals:
      return Val::boolean(*order <= 0);
    case Relation::Greater:
      return Val::boolean(*order > 0);
    case Relation::GreaterEquals:
      return Val::boolean(*order >= 0);
  }
  return {};
}

Val in_list(Arguments a, Runtime& runtime) {
  const ListNode& list = *a[1].as_list();
  for (std::size_t i = 0; i < list.size() && !runtime.meter().over(); ++i) {
    if (equal(a[0], list.at(i), runtime.meter())) {
      return Val::boolean(true);
    }
  }
  return Val::boolean(false);
}

Val in_map(Arguments a, Runtime& runtime) {
  runtime.meter().tick(a[0].text().size());
  return Val::boolean(a[1].as_map()->find(a[0]).has_value());
}

Val size(Arguments a, Runtime&) {
  return Val::integer(static_cast<int64_t>(size_of(a[0]).value_or(0)));
}

template <Relation kRelation>
void add_relation(FunctionTable& table, const std::string& function, const std::string& prefix) {
  constexpr std::array<const char*, 8> kOrdered = {"bool",   "int",   "uint",      "double",
                                                   "string", "bytes", "timestamp", "duration"};
  constexpr std::array<const char*, 3> kNumbers = {"int", "uint", "double"};
  for (const std::string_view type : kOrdered) {
    table.add(function, fmt::format("{}_{}", prefix, type),
              fmt::format("{}, {} -> bool", type, type), relation<kRelation>);
  }
  for (const std::string_view a : kNumbers) {
    for (const std::string_view b : kNumbers) {
      if (a != b) {
        table.add(function, fmt::format("{}_{}_{}", prefix, a, b),
                  fmt::format("{}, {} -> bool", a, b), relation<kRelation>);
      }
    }
  }
}

void add_arithmetic(FunctionTable& table) {
  table.add(op::kAdd, "add_int64", "int, int -> int", int_math<Math::Add>);
  table.add(op::kAdd, "add_uint64", "uint, uint -> uint", uint_math<Math::Add>);
  table.add(op::kAdd, "add_double", "double, double -> double", double_math<Math::Add>);
  table.add(op::kAdd, "add_string", "string, string -> string", joined_text);
  table.add(op::kAdd, "add_bytes", "bytes, bytes -> bytes", joined_text);
  table.add(op::kAdd, "add_list", "list(A), list(A) -> list(A)", joined_lists);
  table.add(op::kAdd, "add_timestamp_duration", "timestamp, duration -> timestamp",
            add_timestamp_duration);
  table.add(op::kAdd, "add_duration_timestamp", "duration, timestamp -> timestamp",
            add_duration_timestamp);
  table.add(op::kAdd, "add_duration_duration", "duration, duration -> duration",
            duration_math<Math::Add>);
  table.add("_-_", "subtract_int64", "int, int -> int", int_math<Math::Subtract>);
  table.add("_-_", "subtract_uint64", "uint, uint -> uint", uint_math<Math::Subtract>);
  table.add("_-_", "subtract_double", "double, double -> double", double_math<Math::Subtract>);
  table.add("_-_", "subtract_timestamp_timestamp", "timestamp, timestamp -> duration",
            subtract_timestamps);
  table.add("_-_", "subtract_timestamp_duration", "timestamp, duration -> timestamp",
            subtract_timestamp_duration);
  table.add("_-_", "subtract_duration_duration", "duration, duration -> duration",
            duration_math<Math::Subtract>);
  table.add("_*_", "multiply_int64", "int, int -> int", int_math<Math::Multiply>);
  table.add("_*_", "multiply_uint64", "uint, uint -> uint", uint_math<Math::Multiply>);
  table.add("_*_", "multiply_double", "double, double -> double", double_math<Math::Multiply>);
  table.add("_/_", "divide_int64", "int, int -> int", int_divide<false>);
  table.add("_/_", "divide_uint64", "uint, uint -> uint", uint_divide<false>);
  table.add("_/_", "divide_double", "double, double -> double", double_divide);
  table.add("_%_", "modulo_int64", "int, int -> int", int_divide<true>);
  table.add("_%_", "modulo_uint64", "uint, uint -> uint", uint_divide<true>);
  table.add(op::kNegate, "negate_int64", "int -> int", negate_int);
  table.add(op::kNegate, "negate_double", "double -> double", negate_double);
}

}  // namespace

void add_operators(FunctionTable& table) {
  table.add(op::kConditional, "conditional", "bool, A, A -> A", nullptr);
  table.add(op::kAnd, "logical_and", "bool, bool -> bool", nullptr);
  table.add(op::kOr, "logical_or", "bool, bool -> bool", nullptr);
  table.add(op::kNotStrictlyFalse, "not_strictly_false", "bool -> bool", nullptr);
  table.add(op::kNot, "logical_not", "bool -> bool", logical_not);
  table.add(op::kEquals, "equals", "A, A -> bool", equals);
  table.add(op::kNotEquals, "not_equals", "A, A -> bool", not_equals);
  add_relation<Relation::Less>(table, "_<_", "less");
  add_relation<Relation::LessEquals>(table, "_<=_", "less_equals");
  add_relation<Relation::Greater>(table, "_>_", "greater");
  add_relation<Relation::GreaterEquals>(table, "_>=_", "greater_equals");
  add_arithmetic(table);
  table.add(op::kIn, "in_list", "A, list(A) -> bool", in_list);
  table.add(op::kIn, "in_map", "A, map(A, B) -> bool", in_map);
  table.add(op::kIndex, "index_list", "list(A), int -> A", nullptr);
  table.add(op::kIndex, "index_map", "map(A, B), A -> B", nullptr);
  table.add(op::kIndex, "optional_list_index_int", "optional(list(V)), int -> optional(V)",
            nullptr);
  table.add(op::kIndex, "optional_map_index_value", "optional(map(K, V)), K -> optional(V)",
            nullptr);
  table.add(op::kOptionalIndex, "list_optindex_optional_int", "list(V), int -> optional(V)",
            nullptr);
  table.add(op::kOptionalIndex, "optional_list_optindex_optional_int",
            "optional(list(V)), int -> optional(V)", nullptr);
  table.add(op::kOptionalIndex, "map_optindex_optional_value", "map(K, V), K -> optional(V)",
            nullptr);
  table.add(op::kOptionalIndex, "optional_map_optindex_optional_value",
            "optional(map(K, V)), K -> optional(V)", nullptr);
  table.add(op::kMapInsert, "map_insert_entry", "map(K, V), K, V -> map(K, V)", nullptr);
  table.add(op::kMapInsert, "map_insert_map", "map(K, V), map(K, V) -> map(K, V)", nullptr);
  for (const std::string type : {"string", "bytes", "list(A)", "map(A, B)"}) {
    const std::string name = type.substr(0, type.find('('));
    table.add("size", "size_" + name, type + " -> int", size);
    table.add("size", name + "_size", type + ".() -> int", size);
  }
}

}  // namespace athanor::cel
