// SPDX-License-Identifier: Apache-2.0
#include "cel/text_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/utf8.hpp"
#include "cel/functions/number_text.hpp"
#include "cel/functions/time_text.hpp"

namespace athanor::cel {
namespace {

struct Fault {
  std::string text{};
};
using Text = Result<std::string, Fault>;

Fault fault(std::string_view text) {
  return {.text = "error during formatting: " + std::string(text)};
}

Text plain(const Val& value);

Text list_text(const ListNode& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    ATHANOR_TRY(const std::string item, plain(list.at(i)));
    text += i == 0 ? "" : ", ";
    text += item;
  }
  return text + "]";
}

Text map_text(const MapNode& map) {
  std::vector<std::string> entries;
  for (const Val& key : map.keys()) {
    ATHANOR_TRY(const std::string name, plain(key));
    ATHANOR_TRY(const std::string value, plain(map.find(key).value_or(Val())));
    entries.push_back(fmt::format("{}: {}", name, value));
  }
  std::ranges::sort(entries);
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

// %s
Text plain(const Val& value) {
  switch (value.kind()) {
    case Val::Kind::Null:
      return std::string("null");
    case Val::Kind::Bool:
      return std::string(value.as_bool() ? "true" : "false");
    case Val::Kind::Int:
      return std::to_string(value.as_int());
    case Val::Kind::Uint:
      return std::to_string(value.as_uint());
    case Val::Kind::Double: {
      const double number = value.as_double();
      if (std::isinf(number)) {
        return std::string(number > 0 ? "Infinity" : "-Infinity");
      }
      return plain_double(number);
    }
    case Val::Kind::String:
    case Val::Kind::Type:
    case Val::Kind::Bytes:
      return std::string(value.text());
    case Val::Kind::Timestamp:
      return timestamp_text(value);
    case Val::Kind::Duration:
      return duration_text(value.as_int());
    case Val::Kind::List:
      return list_text(*value.as_list());
    case Val::Kind::Map:
      return map_text(*value.as_map());
    default:
      return fault(
          fmt::format("string clause can only be used on strings, bools, bytes, ints, "
                      "doubles, maps, lists, types, durations, and timestamps, was given "
                      "{}",
                      type_name(value)));
  }
}

// %d
Text decimal(const Val& value) {
  if (value.is(Val::Kind::Int) || value.is(Val::Kind::Uint)) {
    return plain(value);
  }
  if (value.is(Val::Kind::Double) && !std::isfinite(value.as_double())) {
    return plain(value);
  }
  return fault(
      fmt::format("decimal clause can only be used on integers, was given {}", type_name(value)));
}

// %f and %e
Text real(const Val& value, int precision, bool scientific) {
  double number = 0;
  if (value.is(Val::Kind::Double)) {
    number = value.as_double();
  } else if (value.is(Val::Kind::Int)) {
    number = static_cast<double>(value.as_int());
  } else if (value.is(Val::Kind::Uint)) {
    number = static_cast<double>(value.as_uint());
  } else {
    return fault(fmt::format("{} clause can only be used on doubles, was given {}",
                             scientific ? "scientific" : "fixed-point", type_name(value)));
  }
  if (!std::isfinite(number)) {
    return plain(Val::real(number));
  }
  return scientific ? fmt::format("{:.{}e}", number, precision)
                    : fmt::format("{:.{}f}", number, precision);
}

// %b
Text binary(const Val& value) {
  if (value.is(Val::Kind::Bool)) {
    return std::string(value.as_bool() ? "1" : "0");
  }
  if (value.is(Val::Kind::Int)) {
    return fmt::format("{:b}", value.as_int());
  }
  if (value.is(Val::Kind::Uint)) {
    return fmt::format("{:b}", value.as_uint());
  }
  return fault(fmt::format("only integers and bools can be formatted as binary, was given {}",
                           type_name(value)));
}

// %o
Text octal(const Val& value) {
  if (value.is(Val::Kind::Int)) {
    return fmt::format("{:o}", value.as_int());
  }
  if (value.is(Val::Kind::Uint)) {
    return fmt::format("{:o}", value.as_uint());
  }
  return fault(
      fmt::format("octal clause can only be used on integers, was given {}", type_name(value)));
}

// %x and %X
Text hexadecimal(const Val& value, bool upper) {
  std::string text;
  if (value.is(Val::Kind::Int)) {
    text = fmt::format("{:x}", value.as_int());
  } else if (value.is(Val::Kind::Uint)) {
    text = fmt::format("{:x}", value.as_uint());
  } else if (value.is(Val::Kind::String) || value.is(Val::Kind::Bytes)) {
    for (const char c : value.text()) {
      text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
  } else {
    return fault(
        fmt::format("only integers, byte buffers, and strings can be formatted as hex, "
                    "was given {}",
                    type_name(value)));
  }
  if (upper) {
    std::ranges::transform(text, text.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
  }
  return text;
}

Text clause(char verb, const Val& value, int precision) {
  switch (verb) {
    case 's':
      return plain(value);
    case 'd':
      return decimal(value);
    case 'f':
      return real(value, precision, false);
    case 'e':
      return real(value, precision, true);
    case 'b':
      return binary(value);
    case 'o':
      return octal(value);
    case 'x':
    case 'X':
      return hexadecimal(value, verb == 'X');
    default:
      return fault(fmt::format("unrecognized formatting clause \"{}\"", verb));
  }
}

constexpr bool is_clause(char verb) {
  return std::string_view("sdfeboxX").find(verb) != std::string_view::npos;
}

}  // namespace

Val format_text(std::string_view format, const ListNode& arguments) {
  constexpr int kDefaultPrecision = 6;
  constexpr int kMostPrecision = 1000;  // a bound for what one clause may produce
  std::string result;
  std::size_t used = 0;
  while (!format.empty()) {
    const std::size_t percent = format.find('%');
    result += format.substr(0, percent);
    if (percent == std::string_view::npos) {
      break;
    }
    format.remove_prefix(percent + 1);
    if (format.empty()) {
      return Val::error("unexpected end of string");
    }
    if (format.front() == '%') {
      result += '%';
      format.remove_prefix(1);
      continue;
    }
    int precision = kDefaultPrecision;
    if (format.front() == '.') {
      format.remove_prefix(1);
      precision = 0;
      while (!format.empty() && format.front() >= '0' && format.front() <= '9') {
        precision = std::min(kMostPrecision, precision * 10 + (format.front() - '0'));
        format.remove_prefix(1);
      }
      if (format.empty()) {
        return Val::error("could not find end of precision specifier");
      }
    }
    const char verb = format.front();
    format.remove_prefix(1);
    if (!is_clause(verb)) {
      return Val::error(fmt::format(
          "could not parse formatting clause: unrecognized formatting clause \"{}\"", verb));
    }
    if (used >= arguments.size()) {
      return Val::error(fmt::format("index {} out of range", used));
    }
    Text text = clause(verb, arguments.at(used), precision);
    if (!text.ok()) {
      return Val::error(text.error().text);
    }
    result += *text;
    ++used;
  }
  return Val::string(result);
}

}  // namespace athanor::cel
