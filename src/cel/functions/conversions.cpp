// SPDX-License-Identifier: Apache-2.0
// Conversions between types: int(x), string(x), timestamp(x), dyn(x), type(x), ...
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/utf8.hpp"
#include "cel/functions/functions.hpp"
#include "cel/values/number_text.hpp"
#include "cel/values/time_text.hpp"

namespace athanor::cel {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr const char* kIntConversionOverflow = "integer overflow";
constexpr const char* kUintConversionOverflow = "unsigned integer overflow";

Val same(Arguments a, Runtime&) {
  return a[0];
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  Number number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && !text.empty() ? std::optional<Number>(number)
                                                            : std::nullopt;
}

Val to_int(Arguments a, Runtime&) {
  const Val& value = a[0];
  switch (value.kind()) {
    case Val::Kind::Uint:
      return value.as_uint() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                 ? Val::error(kIntConversionOverflow)
                 : Val::integer(static_cast<std::int64_t>(value.as_uint()));
    case Val::Kind::Double: {
      const double number = value.as_double();
      const bool fits = number > -kTwo63 && number < kTwo63;
      return fits ? Val::integer(static_cast<std::int64_t>(number))
                  : Val::error(kIntConversionOverflow);
    }
    case Val::Kind::String: {
      const auto number = parsed<std::int64_t>(value.text());
      return number ? Val::integer(*number)
                    : Val::error("type conversion error from 'string' to 'int'");
    }
    case Val::Kind::Timestamp:
      return Val::integer(value.seconds());
    default:  // an int, or a duration in nanoseconds
      return Val::integer(value.as_int());
  }
}

Val to_uint(Arguments a, Runtime&) {
  const Val& value = a[0];
  if (value.is(Val::Kind::Int)) {
    return value.as_int() < 0 ? Val::error(kUintConversionOverflow)
                              : Val::unsigned_integer(static_cast<std::uint64_t>(value.as_int()));
  }
  if (value.is(Val::Kind::Double)) {
    const double number = value.as_double();
    const bool fits = number >= 0 && number < 2 * kTwo63;
    return fits ? Val::unsigned_integer(static_cast<std::uint64_t>(number))
                : Val::error(kUintConversionOverflow);
  }
  if (value.is(Val::Kind::String)) {
    const auto number = parsed<std::uint64_t>(value.text());
    return number ? Val::unsigned_integer(*number)
                  : Val::error("type conversion error from 'string' to 'uint'");
  }
  return value;
}

Val to_double(Arguments a, Runtime&) {
  const Val& value = a[0];
  if (value.is(Val::Kind::Int)) {
    return Val::real(static_cast<double>(value.as_int()));
  }
  if (value.is(Val::Kind::Uint)) {
    return Val::real(static_cast<double>(value.as_uint()));
  }
  if (value.is(Val::Kind::String)) {
    const auto number = parsed<double>(value.text());
    return number ? Val::real(*number)
                  : Val::error("type conversion error from 'string' to 'double'");
  }
  return value;
}

Val to_string(Arguments a, Runtime&) {
  const Val& value = a[0];
  switch (value.kind()) {
    case Val::Kind::Bool:
      return Val::string(value.as_bool() ? "true" : "false");
    case Val::Kind::Int:
      return Val::string(std::to_string(value.as_int()));
    case Val::Kind::Uint:
      return Val::string(std::to_string(value.as_uint()));
    case Val::Kind::Double:
      return Val::string(shortest_double(value.as_double()));
    case Val::Kind::Bytes:
      return utf8::is_valid(value.text())
                 ? Val::string(value.text())
                 : Val::error("invalid UTF-8 in bytes, cannot convert to string");
    case Val::Kind::Timestamp:
      return Val::string(timestamp_text(value));
    case Val::Kind::Duration:
      return Val::string(duration_text(value.as_int()));
    default:
      return value;
  }
}

Val to_bytes(Arguments a, Runtime&) {
  return Val::bytes(a[0].text());
}

Val to_bool(Arguments a, Runtime&) {
  const std::string_view text = a[0].text();
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) {
      return Val::boolean(true);
    }
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) {
      return Val::boolean(false);
    }
  }
  return Val::error("type conversion error from 'string' to 'bool'");
}

Val to_timestamp(Arguments a, Runtime&) {
  if (a[0].is(Val::Kind::Int)) {
    return timestamp_in_range(a[0].as_int()) ? Val::timestamp(a[0].as_int(), 0)
                                             : Val::error("timestamp overflow");
  }
  const std::optional<Val> time = parse_timestamp(a[0].text());
  return time ? *time
              : Val::error("type conversion error from 'string' to 'google.protobuf.Timestamp'");
}

Val to_duration(Arguments a, Runtime&) {
  if (a[0].is(Val::Kind::Int)) {
    return Val::duration(a[0].as_int());
  }
  const std::optional<Val> duration = parse_duration(a[0].text());
  return duration ? *duration
                  : Val::error("type conversion error from 'string' to 'google.protobuf.Duration'");
}

Val type_of(Arguments a, Runtime&) {
  return Val::type(type_name(a[0]));
}

}  // namespace

void add_conversions(FunctionTable& table) {
  table.add("dyn", "to_dyn", "A -> dyn", same);
  table.add("type", "type", "A -> type(A)", type_of);
  table.add("bool", "bool_to_bool", "bool -> bool", same);
  table.add("bool", "string_to_bool", "string -> bool", to_bool);
  for (const std::string from : {"int", "uint", "double", "string", "timestamp", "duration"}) {
    table.add("int", from + "_to_int64", from + " -> int", to_int);
  }
  for (const std::string from : {"uint", "int", "double", "string"}) {
    table.add("uint", from + "_to_uint64", from + " -> uint", to_uint);
    table.add("double", from + "_to_double", from + " -> double", to_double);
  }
  for (const std::string from :
       {"string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration"}) {
    table.add("string", from + "_to_string", from + " -> string", to_string);
  }
  table.add("bytes", "bytes_to_bytes", "bytes -> bytes", same);
  table.add("bytes", "string_to_bytes", "string -> bytes", to_bytes);
  table.add("timestamp", "timestamp_to_timestamp", "timestamp -> timestamp", same);
  table.add("timestamp", "string_to_timestamp", "string -> timestamp", to_timestamp);
  table.add("timestamp", "int64_to_timestamp", "int -> timestamp", to_timestamp);
  table.add("duration", "duration_to_duration", "duration -> duration", same);
  table.add("duration", "string_to_duration", "string -> duration", to_duration);
  table.add("duration", "int64_to_duration", "int -> duration", to_duration);
}

}  // namespace athanor::cel
